// test/unit/runtime/FakeDriver.cpp - the fake driver's functions.
#include "FakeDriver.h"
#include "runtime/abi/Sha256.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

namespace fovea::test {
using namespace cu;

FakeState &fake() {
  static FakeState state;
  return state;
}

int FakeState::count(const std::string &call) const { return int(std::count(calls.begin(), calls.end(), call)); }

namespace {

CUresult seen(const char *call) {
  fake().calls.push_back(call);
  return fake().failCall == call ? fake().failWith : CUDA_SUCCESS;
}

CUresult deviceAttribute(int *value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = fake().computeMajor;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = fake().computeMinor;
    break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 148;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = 232448;
    break;
  default:
    *value = 1;
  }
  return CUDA_SUCCESS;
}

void writeLog(unsigned count, CUjit_option *options, void **values) {
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      std::strcpy(static_cast<char *>(values[i]), fake().jitLog.c_str());
}

CUdeviceptr allocationOf(CUdeviceptr pointer) {
  auto it = fake().allocations.upper_bound(pointer);
  if (it == fake().allocations.begin())
    return 0;
  --it;
  return pointer < it->first + it->second ? it->first : 0;
}

CUresult pointerAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  if (!fake().reportHostMemory && !allocationOf(pointer))
    return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
    *static_cast<unsigned *>(data) = fake().reportHostMemory ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
    *static_cast<int *>(data) = fake().ordinalOfMemory;
  return CUDA_SUCCESS;
}

CUresult encodeTiled(CUtensorMap *map, CUtensorMapDataType type, uint32_t rank, void *address, const uint64_t *dims,
                     const uint64_t *strides, const uint32_t *box, const uint32_t *, CUtensorMapInterleave,
                     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  fake().maps.push_back({type,
                         {dims, dims + rank},
                         {strides, strides + rank - 1},
                         {box, box + rank},
                         swizzle,
                         reinterpret_cast<unsigned long long>(address)});
  std::memset(map, 0xAB, sizeof *map);
  return seen("cuTensorMapEncodeTiled");
}

} // namespace

FakeDriver::FakeDriver() {
  fake() = FakeState();
  setenv("FOVEA_CACHE", "0", 1); // no test touches the user's cache
  api.library = "fake";
  api.version = 13000;
  api.cuGetErrorName = [](CUresult r, const char **name) { return *name = driverErrorName(r), CUDA_SUCCESS; };
  api.cuGetErrorString = [](CUresult, const char **text) { return *text = "as told", CUDA_SUCCESS; };
  api.cuDeviceGet = [](CUdevice *device, int ordinal) { return *device = ordinal, seen("cuDeviceGet"); };
  api.cuDeviceGetName = [](char *name, int, CUdevice) { return std::strcpy(name, "Fake GPU"), CUDA_SUCCESS; };
  api.cuDeviceTotalMem_v2 = [](size_t *bytes, CUdevice) { return *bytes = size_t(8) << 30, CUDA_SUCCESS; };
  api.cuDeviceGetAttribute = deviceAttribute;
  api.cuDevicePrimaryCtxRetain = [](CUcontext *context, CUdevice) {
    ++fake().retained;
    *context = reinterpret_cast<CUcontext>(0x1000);
    return seen("cuDevicePrimaryCtxRetain");
  };
  api.cuDevicePrimaryCtxRelease_v2 = [](CUdevice) { return --fake().retained, CUDA_SUCCESS; };
  api.cuCtxGetCurrent = [](CUcontext *context) { return *context = fake().current, CUDA_SUCCESS; };
  api.cuCtxPushCurrent_v2 = [](CUcontext context) { return fake().current = context, CUDA_SUCCESS; };
  api.cuCtxPopCurrent_v2 = [](CUcontext *context) {
    *context = fake().current;
    fake().current = nullptr;
    return CUDA_SUCCESS;
  };
  api.cuCtxSynchronize = [] { return seen("cuCtxSynchronize"); };
  api.cuModuleLoadDataEx = [](CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                              void **values) {
    CUresult result = seen("cuModuleLoadDataEx");
    if (result != CUDA_SUCCESS)
      return writeLog(count, options, values), result;
    fake().images.push_back(static_cast<const char *>(image));
    ++fake().modules;
    *module = reinterpret_cast<CUmodule>(0x2000);
    return result;
  };
  api.cuModuleUnload = [](CUmodule) { return --fake().modules, CUDA_SUCCESS; };
  api.cuModuleGetFunction = [](CUfunction *function, CUmodule, const char *) {
    *function = reinterpret_cast<CUfunction>(0x3000);
    return seen("cuModuleGetFunction");
  };
  api.cuLinkCreate_v2 = [](unsigned count, CUjit_option *options, void **values, CUlinkState *state) {
    *state = reinterpret_cast<CUlinkState>(0x4000);
    if (fake().failCall == "cuLinkAddData_v2")
      writeLog(count, options, values);
    return seen("cuLinkCreate_v2");
  };
  api.cuLinkAddData_v2 = [](CUlinkState, CUjitInputType, void *, size_t, const char *, unsigned, CUjit_option *,
                            void **) { return seen("cuLinkAddData_v2"); };
  api.cuLinkComplete = [](CUlinkState, void **cubin, size_t *size) {
    static char image[] = "cubin made by the fake linker";
    *cubin = image;
    *size = sizeof image;
    return seen("cuLinkComplete");
  };
  api.cuLinkDestroy = [](CUlinkState) { return seen("cuLinkDestroy"); };
  api.cuFuncSetAttribute = [](CUfunction, CUfunction_attribute attribute, int value) {
    fake().functionAttributes[std::to_string(attribute)] = value;
    return seen("cuFuncSetAttribute");
  };
  api.cuFuncGetAttribute = [](int *value, CUfunction_attribute attribute, CUfunction) {
    return *value = int(attribute) * 10, seen("cuFuncGetAttribute");
  };
  api.cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int *blocks, CUfunction, int, size_t) {
    return *blocks = 4, CUDA_SUCCESS;
  };
  api.cuLaunchKernelEx = [](const CUlaunchConfig *config, CUfunction, void **params, void **) {
    RecordedLaunch launch{*config, {config->attrs, config->attrs + config->numAttrs}, {}};
    for (int i = 0; i < 5; ++i) // smallManifest's kernel has five parameters
      launch.params.push_back(params[i]);
    fake().launches.push_back(launch);
    return seen("cuLaunchKernelEx");
  };
  api.cuMemAlloc_v2 = [](CUdeviceptr *address, size_t bytes) {
    CUresult result = seen("cuMemAlloc_v2");
    if (result != CUDA_SUCCESS)
      return result;
    *address = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    fake().allocations[*address] = bytes;
    return CUDA_SUCCESS;
  };
  api.cuMemFree_v2 = [](CUdeviceptr address) {
    fake().allocations.erase(address);
    std::free(reinterpret_cast<void *>(address));
    return seen("cuMemFree_v2");
  };
  api.cuMemcpyHtoD_v2 = [](CUdeviceptr to, const void *from, size_t bytes) {
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return seen("cuMemcpyHtoD_v2");
  };
  api.cuMemcpyDtoH_v2 = [](void *to, CUdeviceptr from, size_t bytes) {
    std::memcpy(to, reinterpret_cast<void *>(from), bytes);
    return seen("cuMemcpyDtoH_v2");
  };
  api.cuMemsetD8_v2 = [](CUdeviceptr to, unsigned char value, size_t count) {
    std::memset(reinterpret_cast<void *>(to), value, count);
    return seen("cuMemsetD8_v2");
  };
  api.cuMemsetD8Async = [](CUdeviceptr to, unsigned char value, size_t count, CUstream) {
    std::memset(reinterpret_cast<void *>(to), value, count);
    return seen("cuMemsetD8Async");
  };
  api.cuPointerGetAttribute = pointerAttribute;
  api.cuMemGetAddressRange_v2 = [](CUdeviceptr *base, size_t *size, CUdeviceptr pointer) {
    *base = allocationOf(pointer);
    *size = fake().allocations[*base];
    return CUDA_SUCCESS;
  };
  api.cuTensorMapEncodeTiled = encodeTiled;
  api.cuStreamCreate = [](CUstream *stream, unsigned) {
    return *stream = reinterpret_cast<CUstream>(0x5000), seen("cuStreamCreate");
  };
  api.cuStreamDestroy_v2 = [](CUstream) { return seen("cuStreamDestroy_v2"); };
  api.cuStreamSynchronize = [](CUstream) { return seen("cuStreamSynchronize"); };
}

Device FakeDriver::device() const {
  Expected<Device> device = Device::open(api, 0, "cuda:0");
  EXPECT_TRUE(device) << (device ? "" : device.message());
  return *device;
}

Manifest smallManifest(const std::string &ptx) {
  Manifest m;
  m.spec = "small";
  m.target = "sm_100a";
  m.ptx = "small.ptx";
  m.ptxSha256 = sha256(ptx);
  m.tensors = {{"q", TensorSpec::Role::Input, {DType::BF16}, {"total", 2, 64}, 16, 16, false, "offsets"},
               {"o", TensorSpec::Role::Output, {DType::BF16}, {"total", 2, 64}, 16, 16, false, "offsets"},
               {"lse", TensorSpec::Role::Output, {DType::F32}, {"total", 2}, 4, 4, true, "offsets"},
               {"offsets", TensorSpec::Role::Offsets, {DType::I32, DType::I64}, {Expr("batch") + 1}, 4, 1, false, ""}};
  KernelSpec kernel;
  kernel.name = "forward";
  kernel.entry = "small_forward";
  kernel.block = {128, 1, 1};
  kernel.dynamicSmem = 49184;
  kernel.grid = {ceilDiv("total", 64) * 2, 1, 1};
  ParamSpec map, o, lse, batch, counter;
  map.kind = ParamSpec::Kind::TensorMap;
  map.tensor = "q";
  map.dims = {64, "total", 2};
  map.strides = {Expr("q.stride.0") * Expr("q.itemsize"), Expr("q.stride.1") * Expr("q.itemsize")};
  map.box = {64, 16, 1};
  map.swizzle = "128B";
  o.tensor = "o";
  lse.tensor = "lse";
  batch.kind = ParamSpec::Kind::I32;
  batch.value = "batch";
  counter.kind = ParamSpec::Kind::Scratch;
  counter.name = "counter";
  counter.bytes = Expr("batch") * 4;
  counter.zero = true;
  kernel.params = {map, o, lse, batch, counter};
  m.kernels = {kernel};
  return m;
}

} // namespace fovea::test
