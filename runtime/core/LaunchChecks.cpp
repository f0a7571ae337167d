// runtime/core/LaunchChecks.cpp - what a launch asks the driver about its arguments before it packs them.
#include "runtime/core/LaunchChecks.h"

#include <cstring>
#include <limits>

namespace fovea {
using namespace cu;

Expected<void> checkMemory(const Device &device, const Tensor &tensor) {
  const DriverApi &api = device.driver();
  int64_t span = tensor.spanBytes().value_or(0);
  if (span == 0)
    return {};
  std::string where = "tensor '" + tensor.name + "': ";
  unsigned type = 0;
  if (api.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, tensor.address) != CUDA_SUCCESS)
    return Error{where + "its address is not memory of " + device.spec() +
                 "; copy the data there (fovea::Buffer), host memory cannot be read by a kernel"};
  if (type == CU_MEMORYTYPE_HOST)
    return Error{where + "its address is host memory; copy the data to " + device.spec() + " (fovea::Buffer)"};
  int ordinal = -1;
  if (api.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, tensor.address) == CUDA_SUCCESS &&
      ordinal >= 0 && ordinal != device.facts().ordinal)
    return Error{where + "it lives on device " + std::to_string(ordinal) + ", but the kernel runs on " +
                 device.spec()};
  CUdeviceptr base = 0;
  size_t size = 0;
  if (api.cuMemGetAddressRange_v2(&base, &size, tensor.address) == CUDA_SUCCESS &&
      uint64_t(span) > base + size - tensor.address)
    return Error{where + "its shape and strides span " + std::to_string(span) + " bytes, but its allocation has " +
                 std::to_string(base + size - tensor.address) + " from the address on"};
  return {};
}

static Expected<HostOffsets> copyOffsets(const Device &device, const Tensor &tensor) {
  size_t count = size_t(tensor.shape[0]);
  std::vector<unsigned char> bytes(count * dtypeBytes(tensor.dtype));
  if (auto ok = device.synchronize(); !ok) // the table may still be written by another stream
    return ok.error();
  ContextScope scope(device);
  if (auto ok = device.driver().check(
          bytes.empty() ? CUDA_SUCCESS : device.driver().cuMemcpyDtoH_v2(bytes.data(), tensor.address, bytes.size()),
          "cuMemcpyDtoH", "read back '" + tensor.name + "'");
      !ok)
    return ok.error();
  HostOffsets offsets{tensor.name, std::vector<int64_t>(count)};
  for (size_t i = 0; i < count; ++i) {
    int32_t narrow;
    if (tensor.dtype == DType::I32)
      std::memcpy(&narrow, &bytes[i * 4], 4), offsets.values[i] = narrow;
    else
      std::memcpy(&offsets.values[i], &bytes[i * 8], 8);
  }
  return offsets;
}

/// Whether only the values of these offsets can tell that a table of positions is long enough: it has fewer rows than
/// the tensors that the offsets cut.
static bool boundsPositions(const Manifest &manifest, const Arguments &arguments, const std::string &offsets) {
  int64_t shortest = std::numeric_limits<int64_t>::max(), longest = 0;
  for (const TensorSpec &tensor : manifest.tensors)
    if (const Tensor *passed = arguments.find(tensor.name)) {
      if (tensor.positions == offsets)
        shortest = std::min(shortest, passed->shape[0]);
      if (tensor.jagged == offsets)
        longest = std::max(longest, passed->shape[0]);
    }
  return shortest < longest;
}

Expected<void> checkAllOffsets(const Device &device, const Manifest &manifest, const Arguments &arguments,
                               const LaunchOptions &options) {
  for (const HostOffsets &offsets : options.hostOffsets)
    if (auto ok = arguments.checkOffsets(manifest, offsets); !ok)
      return ok;
  for (const TensorSpec &tensor : manifest.tensors) {
    const Tensor *passed = arguments.find(tensor.name);
    if (!passed || tensor.role != TensorSpec::Role::Offsets)
      continue;
    bool given = false;
    for (const HostOffsets &offsets : options.hostOffsets)
      given |= offsets.name == tensor.name;
    if (!options.checkOffsetsOnDevice && (given || !boundsPositions(manifest, arguments, tensor.name)))
      continue;
    Expected<HostOffsets> offsets = copyOffsets(device, *passed);
    if (!offsets)
      return offsets.error();
    if (auto ok = arguments.checkOffsets(manifest, *offsets); !ok)
      return ok;
  }
  return {};
}

} // namespace fovea
