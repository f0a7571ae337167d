// runtime/emulator/driver/DeviceApi.cpp - devices, attributes, contexts.
#include "runtime/emulator/driver/Enter.h"
#include "runtime/emulator/driver/State.h"
#include <cstdio>
#include <cstring>

using namespace fovea::cu;

static Device *deviceOf(CUdevice d) {
  State &s = state();
  return d >= 0 && size_t(d) < s.devices.size() ? s.devices[size_t(d)].get() : nullptr;
}
#define DEVICE(D)                                                                                                      \
  Device *device = deviceOf(D);                                                                                        \
  if (!device)                                                                                                         \
    return CUDA_ERROR_INVALID_DEVICE;
extern "C" {

CUresult cuDeviceGet(CUdevice *d, int ordinal) {
  ENTER(false) NEED(d) DEVICE(ordinal)
  *d = ordinal;
  (void)device;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int *count) {
  ENTER(false) NEED(count)
  *count = int(state().devices.size());
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int length, CUdevice d) {
  ENTER(false) NEED(name && length > 0) DEVICE(d)
  std::snprintf(name, size_t(length), "Fovea emulator (%s)", device->chip->name);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice d) {
  ENTER(false) NEED(uuid) DEVICE(d)
  std::memset(uuid, 0, sizeof *uuid);
  std::snprintf(uuid->bytes, 16, "fovea-%s-%d", device->chip->name, d);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice d) { return cuDeviceGetUuid_v2(uuid, d); }
CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice d) {
  ENTER(false) NEED(id && length > 0) DEVICE(d)
  (void)device;
  std::snprintf(id, size_t(length), "0000:%02x:00.0", d);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice d) {
  ENTER(false) NEED(bytes) DEVICE(d)
  *bytes = device->chip->memoryBytes;
  return CUDA_SUCCESS;
}
CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice d) {
  ENTER(false) NEED(major && minor) DEVICE(d)
  *major = device->chip->major;
  *minor = device->chip->minor;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice d) {
  ENTER(false) NEED(value) DEVICE(d)
  const fovea::emulator::Chip &c = *device->chip;
  switch (int(attribute)) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X: case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: *value = 1024; break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *value = 64; break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = 0x7fffffff; break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y: case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *value = 65535; break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = 49152; break;
  case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: *value = 65536; break;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
  case CU_DEVICE_ATTRIBUTE_MAX_PITCH: *value = 0x7fffffff; break;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: *value = int(c.registersPerSm); break;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *value = c.major == 10 ? 1965000 : 1980000; break;
  case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: *value = 512; break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = int(c.smCount); break;
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS: case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
  case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED: case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH: case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_ECC_ENABLED: *value = 1; break;
  case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: *value = 1; break;
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: *value = d; break;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *value = c.major == 10 ? 3996000 : 3201000; break;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *value = c.major == 10 ? 8192 : 6144; break;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = int(c.l2Bytes); break;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = int(c.threadsPerSm); break;
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: *value = 3; break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = c.major; break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = c.minor; break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *value = int(c.sharedPerSm); break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = int(c.sharedPerBlock); break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: *value = int(c.blocksPerSm); break;
  case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: *value = 1024; break;
  case CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS: *value = 0; break;
  case CU_DEVICE_ATTRIBUTE_INTEGRATED: case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
  case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY: case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: *value = 0; break;
  default:
    if (int(attribute) <= 0 || int(attribute) > 256)
      return CUDA_ERROR_INVALID_VALUE;
    say("cuDeviceGetAttribute: attribute " + std::to_string(int(attribute)) + " is not known; answered 0", true);
    *value = 0;
  }
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice d) {
  ENTER(false) NEED(context) DEVICE(d)
  ++device->primaryUses;
  state().contexts.insert(&device->primary);
  *context = &device->primary;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d) {
  ENTER(false) DEVICE(d)
  if (!device->primaryUses)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (--device->primaryUses == 0) {
    state().contexts.erase(&device->primary);
    device->primary.sticky = CUDA_SUCCESS;
  }
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice d, unsigned flags) {
  ENTER(false) DEVICE(d)
  device->primary.flags = flags;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxGetState(CUdevice d, unsigned *flags, int *active) {
  ENTER(false) NEED(flags && active) DEVICE(d)
  *flags = device->primary.flags;
  *active = device->primaryUses > 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice d) {
  ENTER(false) NEED(context) DEVICE(d)
  (void)device;
  auto *c = new CUctx_st;
  c->device = d;
  c->flags = flags;
  state().contexts.insert(c);
  contextStack().push_back(c);
  *context = c;
  return CUDA_SUCCESS;
}
CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned flags, CUdevice d) {
  if (params && (params->numExecAffinityParams || params->cigParams))
    return notSupported("cuCtxCreate_v4 with parameters");
  return cuCtxCreate_v2(context, flags, d);
}
CUresult cuCtxDestroy_v2(CUcontext context) {
  ENTER(false)
  if (!context || context->primary || !state().contexts.erase(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  auto &stack = contextStack();
  if (!stack.empty() && stack.back() == context)
    stack.pop_back();
  return CUDA_SUCCESS;  // the object itself stays: other threads may still hold it as current
}
CUresult cuCtxSetCurrent(CUcontext context) {
  ENTER(false)
  auto &stack = contextStack();
  if (!context) {
    if (!stack.empty())
      stack.pop_back();
    return CUDA_SUCCESS;
  }
  if (!state().contexts.count(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  if (stack.empty())
    stack.push_back(context);
  else
    stack.back() = context;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext *context) {
  ENTER(false) NEED(context)
  *context = currentContext();
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  ENTER(false)
  if (!context || !state().contexts.count(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  contextStack().push_back(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  ENTER(false)
  auto &stack = contextStack();
  if (stack.empty())
    return CUDA_ERROR_INVALID_CONTEXT;
  if (context)
    *context = stack.back();
  stack.pop_back();
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice *d) {
  Call call;
  NEED(d)
  if (!call.context)
    return call.bad;
  *d = call.context->device;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetFlags(unsigned *flags) {
  ENTER(true) NEED(flags)
  *flags = call.context->flags;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetApiVersion(CUcontext, unsigned *version) {
  ENTER(false) NEED(version)
  *version = 3020;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetLimit(size_t *value, CUlimit limit) {
  ENTER(true) NEED(value)
  *value = limit == CU_LIMIT_STACK_SIZE ? 1024 : limit == CU_LIMIT_PRINTF_FIFO_SIZE ? 1 << 20 : limit == CU_LIMIT_MALLOC_HEAP_SIZE ? 8 << 20 : 0;
  return int(limit) <= 2 ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT;
}
CUresult cuCtxSetLimit(CUlimit limit, size_t) {
  ENTER(true)
  return int(limit) <= 2 ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT;
}
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  ENTER(true)
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize(void) {
  ENTER(true)
  return CUDA_SUCCESS;
}

} // extern "C"
