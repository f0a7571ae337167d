// runtime/core/Launch.cpp - packing of kernel parameters, and the launch itself.
#include "runtime/core/Launch.h"
#include "runtime/core/LaunchChecks.h"
#include "runtime/core/TensorMap.h"

#include <cstring>
#include <limits>

namespace fovea {
using namespace cu;

LoadedModule::~LoadedModule() {
  if (!handle)
    return;
  scratch.clear();
  ContextScope scope(device);
  (void)device.driver().cuModuleUnload(handle);
}

Expected<CUdeviceptr> ScratchPool::get(const Device &device, const std::string &name, size_t bytes) {
  Buffer &buffer = current[name];
  if (buffer.address() && buffer.size() >= bytes)
    return buffer.address();
  if (buffer.address())
    retired.push_back(std::move(buffer));
  Expected<Buffer> fresh = Buffer::allocate(device, bytes);
  if (!fresh)
    return Error{"scratch memory '" + name + "': " + fresh.message(), fresh.error().driverCode};
  if (auto ok = fresh->fill(0); !ok)
    return ok.error();
  // The memset ran on the default stream, which other streams do not wait for.
  if (auto ok = device.synchronize(); !ok)
    return ok.error();
  buffer = std::move(*fresh);
  return buffer.address();
}

namespace {

Expected<void> defineValues(const KernelSpec &spec, Arguments &arguments) {
  for (const auto &[name, expr] : spec.values) {
    Expected<int64_t> value = arguments.evaluate(expr);
    if (!value)
      return value.error();
    arguments.define(name, *value);
  }
  return {};
}

/// The variant that was asked for, or the first of those with the fewest clocks for these arguments; empty: there is one way.
Expected<std::string> chooseVariant(const Manifest &manifest, const std::string &operation, const std::string &asked,
                                    Arguments &arguments) {
  if (!asked.empty()) {
    std::string names;
    for (const std::string &variant : variantsOf(manifest, operation)) {
      if (variant == asked)
        return asked;
      names += (names.empty() ? "" : ", ") + variant;
    }
    return Error{"'" + manifest.spec + "' has no variant '" + asked + "' of '" + operation + "'; it has " +
                 (names.empty() ? "one way to run it, without a name: leave the variant out" : names)};
  }
  std::string best;
  int64_t fewest = 0;
  for (const KernelSpec &spec : manifest.kernels) {
    if (spec.name != operation || !spec.clocks)
      continue;
    if (auto ok = defineValues(spec, arguments); !ok)
      return ok.error();
    Expected<int64_t> clocks = arguments.evaluate(*spec.clocks);
    if (!clocks)
      return clocks.error();
    if (best.empty() || *clocks < fewest)
      fewest = *clocks, best = spec.variant;
  }
  return best;
}

} // namespace

Expected<PreparedLaunch::ParamValue> PreparedLaunch::pack(const ParamSpec &param, const Arguments &arguments,
                                                          ScratchPool &pool, Kernel &kernel) {
  ParamValue value = {};
  auto put = [&](auto number) { std::memcpy(value.bytes, &number, sizeof number); };
  switch (param.kind) {
  case ParamSpec::Kind::I32:
  case ParamSpec::Kind::I64: {
    Expected<int64_t> number = arguments.evaluate(param.value);
    if (!number)
      return number.error();
    if (param.kind == ParamSpec::Kind::I64)
      put(*number);
    else if (*number >= std::numeric_limits<int32_t>::min() && *number <= std::numeric_limits<int32_t>::max())
      put(int32_t(*number));
    else
      return Error{"the kernel's parameter " + param.value.text() + " = " + std::to_string(*number) +
                   " does not fit 32 bits; the batch is too large for this kernel"};
    return value;
  }
  case ParamSpec::Kind::F32:
    put(float(param.number));
    return value;
  case ParamSpec::Kind::Scratch: {
    Expected<int64_t> bytes = arguments.evaluate(param.bytes);
    if (!bytes)
      return bytes.error();
    if (*bytes < 0)
      return Error{"scratch memory '" + param.name + "' has the negative size " + std::to_string(*bytes)};
    Expected<CUdeviceptr> address = pool.get(module->device, param.name, size_t(*bytes));
    if (!address)
      return address.error();
    if (param.zero && *bytes > 0)
      kernel.cleared.push_back({*address, size_t(*bytes)});
    put(*address);
    return value;
  }
  case ParamSpec::Kind::Pointer:
  case ParamSpec::Kind::TensorMap:
    break;
  }

  const Tensor *tensor = arguments.find(param.tensor);
  Expected<int64_t> offset = arguments.evaluate(param.offset);
  if (!offset)
    return offset.error();
  if (!tensor && param.kind == ParamSpec::Kind::Pointer)
    return value; // an optional tensor that was left out: null
  if (!tensor)
    return Error{"tensor '" + param.tensor + "' is missing; the kernel loads it with TMA"};
  CUdeviceptr address = tensor->address + CUdeviceptr(*offset);
  if (param.kind == ParamSpec::Kind::Pointer) {
    put(address);
    return value;
  }
  Expected<TensorMapShape> shape = evaluateTensorMap(param, tensor->dtype, arguments);
  if (!shape)
    return shape.error();
  if (shape->empty) {
    Expected<CUdeviceptr> standIn = pool.get(module->device, "stand-in for empty '" + param.tensor + "'",
                                             shape->spanBytes);
    if (!standIn)
      return standIn.error();
    address = *standIn;
  }
  Expected<CUtensorMap> map = encodeTensorMap(module->device.driver(), param, tensor->dtype, *shape, address);
  if (!map)
    return map.error();
  put(*map);
  return value;
}

Expected<void> PreparedLaunch::addKernel(size_t index, Arguments &arguments, ScratchPool &pool) {
  const KernelSpec &spec = module->manifest.kernels[index];
  if (auto ok = defineValues(spec, arguments); !ok)
    return ok.error();
  unsigned grid[3];
  constexpr int64_t limits[3] = {std::numeric_limits<int32_t>::max(), 65535, 65535};
  bool hasWork = true;
  for (int i = 0; i < 3; ++i) {
    Expected<int64_t> extent = arguments.evaluate(spec.grid[i]);
    if (!extent)
      return extent.error();
    if (*extent < 0 || *extent > limits[i])
      return Error{"the grid of '" + spec.entry + "' would be " + std::to_string(*extent) + " in dimension " +
                   std::to_string(i) + " (" + spec.grid[i].text() + "), but the device takes 0 to " +
                   std::to_string(limits[i]) + "; split the batch"};
    if (*extent % spec.cluster[i] != 0)
      return Error{"the grid of '" + spec.entry + "' is " + std::to_string(*extent) + " in dimension " +
                   std::to_string(i) + ", not a multiple of its cluster, " + std::to_string(spec.cluster[i])};
    grid[i] = unsigned(*extent);
    hasWork &= *extent > 0;
  }
  if (!hasWork)
    return {};

  Kernel kernel;
  kernel.function = module->functions[index];
  kernel.spec = &spec;
  for (const ParamSpec &param : spec.params) {
    Expected<ParamValue> value = pack(param, arguments, pool, kernel);
    if (!value)
      return value.error();
    kernel.values.push_back(*value);
  }
  for (ParamValue &value : kernel.values)
    kernel.pointers.push_back(value.bytes);
  kernel.config = {grid[0],
                   grid[1],
                   grid[2],
                   unsigned(spec.block[0]),
                   unsigned(spec.block[1]),
                   unsigned(spec.block[2]),
                   unsigned(spec.dynamicSmem),
                   nullptr,
                   nullptr,
                   0};
  if (spec.cluster != std::array<int, 3>{1, 1, 1}) {
    kernel.cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    kernel.cluster.value.clusterDim = {unsigned(spec.cluster[0]), unsigned(spec.cluster[1]),
                                       unsigned(spec.cluster[2])};
    kernel.config.numAttrs = 1;
  }
  kernels.push_back(std::move(kernel));
  return {};
}

Expected<PreparedLaunch> PreparedLaunch::create(std::shared_ptr<LoadedModule> module, const std::string &operation,
                                                const std::vector<Tensor> &tensors, const LaunchOptions &options,
                                                ScratchPool *sharedScratch) {
  const Device &device = module->device;
  auto used = module->used.find(operation);
  Expected<Arguments> arguments = Arguments::bind(module->manifest, operation, tensors, options.dims, device.facts().sms,
                                                  used == module->used.end() ? nullptr : &used->second);
  if (!arguments)
    return arguments.error();
  ContextScope scope(device);
  for (const auto &[name, tensor] : arguments->tensors())
    if (auto ok = checkMemory(device, tensor); !ok)
      return ok.error();
  if (auto ok = checkAllOffsets(device, module->manifest, *arguments, options); !ok)
    return ok.error();

  Expected<std::string> variant = chooseVariant(module->manifest, operation, options.variant, *arguments);
  if (!variant)
    return variant.error();
  PreparedLaunch result;
  result.module = std::move(module);
  result.chosen = *variant;
  if (!sharedScratch) {
    result.ownScratch = std::make_unique<ScratchPool>();
    sharedScratch = result.ownScratch.get();
  }
  const std::vector<KernelSpec> &specs = result.module->manifest.kernels;
  for (size_t i = 0; i < specs.size(); ++i)
    if (specs[i].name == operation && specs[i].variant == *variant)
      if (auto ok = result.addKernel(i, *arguments, *sharedScratch); !ok)
        return ok.error();
  return result;
}

Expected<void> PreparedLaunch::launch(const Stream &stream) {
  const DriverApi &api = module->device.driver();
  ContextScope scope(module->device);
  for (Kernel &kernel : kernels) {
    for (auto [address, bytes] : kernel.cleared)
      if (CUresult result = api.cuMemsetD8Async(address, 0, bytes, stream.handle()); result != CUDA_SUCCESS)
        return api.check(result, "cuMemsetD8Async", "clear scratch memory of '" + kernel.spec->entry + "'");
    // Set here, not when prepared: a Kernel may have moved since.
    kernel.config.hStream = stream.handle();
    kernel.config.attrs = &kernel.cluster;
    CUresult result = api.cuLaunchKernelEx(&kernel.config, kernel.function, kernel.pointers.data(), nullptr);
    if (result != CUDA_SUCCESS)
      return api.check(result, "cuLaunchKernelEx", "launch '" + kernel.spec->entry + "'");
  }
  return {};
}

std::vector<PreparedLaunch::Shape> PreparedLaunch::shapes() const {
  std::vector<Shape> result;
  for (const Kernel &kernel : kernels) {
    const CUlaunchConfig &c = kernel.config;
    auto cluster = kernel.spec->cluster;
    result.push_back({kernel.spec->entry,
                      {c.gridDimX, c.gridDimY, c.gridDimZ},
                      {c.blockDimX, c.blockDimY, c.blockDimZ},
                      {unsigned(cluster[0]), unsigned(cluster[1]), unsigned(cluster[2])}});
  }
  return result;
}

} // namespace fovea
