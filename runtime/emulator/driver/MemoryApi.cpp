// runtime/emulator/driver/MemoryApi.cpp - allocation, copies, fills, pointer attributes, tensor maps.
#include "runtime/emulator/driver/Enter.h"
#include "runtime/emulator/driver/State.h"
#include "runtime/emulator/machine/tensor/TensorMap.h"
#include <cstring>

using namespace fovea::cu;
namespace emulator = fovea::emulator;

/// Bytes behind a device address, or behind a host pointer where the API takes either; null when out of bounds.
static uint8_t *bytesAt(Device &d, CUdeviceptr address, size_t n, bool hostToo) {
  if (emulator::Allocation *a = d.memory.find(address, n))
    return a->host + (address - a->base);
  // Device addresses lie between 2^33 and where the emulator's allocations end; anything else unified is the host's.
  if (hostToo && address >= (uint64_t(1) << 44))
    return reinterpret_cast<uint8_t *>(static_cast<uintptr_t>(address));
  return nullptr;
}

static CUresult copy(Call &call, CUdeviceptr to, CUdeviceptr from, size_t n, bool hostTo, bool hostFrom, bool unified) {
  if (!n)
    return CUDA_SUCCESS;
  Device &d = *call.device;
  uint8_t *t = hostTo ? reinterpret_cast<uint8_t *>(static_cast<uintptr_t>(to)) : bytesAt(d, to, n, unified);
  uint8_t *f = hostFrom ? reinterpret_cast<uint8_t *>(static_cast<uintptr_t>(from)) : bytesAt(d, from, n, unified);
  if (!t || !f) {
    say("copy of " + std::to_string(n) + " bytes: " + d.memory.describe(t ? from : to) + " does not hold them");
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::memmove(t, f, n);
  return CUDA_SUCCESS;
}

template <class T> static CUresult fill(Call &call, CUdeviceptr to, T value, size_t count) {
  if (to % sizeof(T))
    return CUDA_ERROR_INVALID_VALUE;
  if (!count)
    return CUDA_SUCCESS;
  if (count > SIZE_MAX / sizeof(T))
    return CUDA_ERROR_INVALID_VALUE;
  uint8_t *p = bytesAt(*call.device, to, count * sizeof(T), false);
  if (!p)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t k = 0; k < count; ++k)
    std::memcpy(p + k * sizeof(T), &value, sizeof(T));
  return CUDA_SUCCESS;
}

static CUdeviceptr host(const void *p) { return reinterpret_cast<uintptr_t>(p); }

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  ENTER(true) NEED(address && bytes)
  if (call.device->memory.used() + bytes > call.device->chip->memoryBytes)
    return CUDA_ERROR_OUT_OF_MEMORY;
  try {
    *address = call.device->memory.allocate(bytes, "");
  } catch (const std::bad_alloc &) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  Call call;
  if (!call.device)
    return call.bad;
  return !address || call.device->memory.release(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream) { return cuMemAlloc_v2(address, bytes); }
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream) { return cuMemFree_v2(address); }
CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
  ENTER(true) NEED(pointer && bytes)
  try {
    std::unique_ptr<uint8_t[]> p(new uint8_t[bytes]);
    *pointer = p.get();
    call.device->memory.adopt(p.get(), bytes, "");
    state().hostMemory[*pointer] = std::move(p);
  } catch (const std::bad_alloc &) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return CUDA_SUCCESS;
}
CUresult cuMemAllocHost_v2(void **pointer, size_t bytes) { return cuMemHostAlloc(pointer, bytes, 0); }
CUresult cuMemFreeHost(void *pointer) {
  ENTER(false)
  for (auto &d : state().devices)
    d->memory.release(host(pointer));
  return state().hostMemory.erase(pointer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  ENTER(true) NEED(free && total)
  *total = call.device->chip->memoryBytes;
  *free = *total - call.device->memory.used();
  return CUDA_SUCCESS;
}
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address) {
  ENTER(true)
  emulator::Allocation *a = call.device->memory.find(address, 0);
  if (!a)
    return CUDA_ERROR_NOT_FOUND;
  if (base)
    *base = a->base;
  if (size)
    *size = a->size;
  return CUDA_SUCCESS;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t n) { ENTER(true) return copy(call, to, from, n, false, false, true); }
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream) { return cuMemcpy(to, from, n); }
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n) {
  ENTER(true) NEED(from || !n)
  return copy(call, to, host(from), n, false, true, false);
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n) {
  ENTER(true) NEED(to || !n)
  return copy(call, host(to), from, n, true, false, false);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t n) { ENTER(true) return copy(call, to, from, n, false, false, false); }
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, CUstream) { return cuMemcpyHtoD_v2(to, from, n); }
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream) { return cuMemcpyDtoH_v2(to, from, n); }
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream) { return cuMemcpyDtoD_v2(to, from, n); }
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char v, size_t n) { ENTER(true) return fill<uint8_t>(call, to, v, n); }
CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short v, size_t n) { ENTER(true) return fill<uint16_t>(call, to, v, n); }
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned v, size_t n) { ENTER(true) return fill<uint32_t>(call, to, v, n); }
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char v, size_t n, CUstream) { return cuMemsetD8_v2(to, v, n); }
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short v, size_t n, CUstream) { return cuMemsetD16_v2(to, v, n); }
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned v, size_t n, CUstream) { return cuMemsetD32_v2(to, v, n); }

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  ENTER(false) NEED(data)
  State &s = state();
  int ordinal = 0;
  emulator::Allocation *a = nullptr;
  for (; ordinal < int(s.devices.size()) && !(a = s.devices[size_t(ordinal)]->memory.find(pointer, 0)); ++ordinal) {
  }
  if (!a)
    return CUDA_ERROR_INVALID_VALUE;
  bool onHost = !a->owned;
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT: *static_cast<CUcontext *>(data) = &s.devices[size_t(ordinal)]->primary; break;
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *static_cast<unsigned *>(data) = onHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE; break;
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *static_cast<CUdeviceptr *>(data) = pointer; break;
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    if (!onHost)
      return CUDA_ERROR_INVALID_VALUE;
    *static_cast<CUdeviceptr *>(data) = pointer;
    break;
  case CU_POINTER_ATTRIBUTE_BUFFER_ID: *static_cast<unsigned long long *>(data) = a->base; break;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED: *static_cast<unsigned *>(data) = 0; break;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int *>(data) = ordinal; break;
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *static_cast<CUdeviceptr *>(data) = a->base; break;
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *static_cast<size_t *>(data) = a->size; break;
  case CU_POINTER_ATTRIBUTE_MAPPED: *static_cast<unsigned *>(data) = 1; break;
  default: return notSupported("cuPointerGetAttribute with this attribute");
  }
  return CUDA_SUCCESS;
}
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr pointer) {
  ENTER(false) NEED(attributes && data)
  for (unsigned k = 0; k < count; ++k) {
    CUresult r = cuPointerGetAttribute(data[k], attributes[k], pointer);
    if (r == CUDA_ERROR_NOT_SUPPORTED)
      return r;
    if (r != CUDA_SUCCESS)  // for memory that is not the device's the API answers zeros
      std::memset(data[k], 0, attributes[k] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE || attributes[k] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ||
                                      attributes[k] == CU_POINTER_ATTRIBUTE_IS_MANAGED || attributes[k] == CU_POINTER_ATTRIBUTE_MAPPED ? 4 : 8);
  }
  return CUDA_SUCCESS;
}

/// What both ways to encode a map say of the tensor.
static emulator::TensorMapArguments mapArguments(CUtensorMapDataType type, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides,
                                                 const uint32_t *elementStrides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                                 CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill) {
  emulator::TensorMapArguments a;
  a.type = int(type);
  a.rank = rank;
  a.address = host(address);
  a.dims = dims;
  a.strides = strides;
  a.elementStrides = elementStrides;
  a.interleave = int(interleave);
  a.swizzle = int(swizzle);
  a.l2Promotion = int(l2Promotion);
  a.oobFill = int(oobFill);
  return a;
}

/// The end of both ways to encode a map.
static CUresult encodeMap(const char *function, CUtensorMap *map, emulator::TensorMapArguments &a) {
  std::lock_guard<std::recursive_mutex> hold(state().lock);
  // Which types exist depends on the chip; without a context the first device's counts.
  CUctx_st *c = currentContext();
  auto &devices = state().devices;
  if (!devices.empty())
    a.hasSubByteAndAtoms = devices[c ? size_t(c->device) : 0]->chip->major >= 10;
  emulator::TensorMap decoded;
  std::string broken = map && host(map) % 64 == 0 ? emulator::validateTensorMap(a, decoded)
                                                  : "tensorMap must be a multiple of 64 bytes and not null, found " + std::to_string(host(map));
  if (!broken.empty()) {
    say(function + (": " + broken));
    return CUDA_ERROR_INVALID_VALUE;
  }
  emulator::encodeTensorMap(decoded, reinterpret_cast<uint8_t *>(map));
  return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides,
                                const uint32_t *box, const uint32_t *elementStrides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill) {
  emulator::TensorMapArguments a = mapArguments(type, rank, address, dims, strides, elementStrides, interleave, swizzle, l2Promotion, oobFill);
  a.box = box;
  return encodeMap("cuTensorMapEncodeTiled", map, a);
}
CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides,
                                 const int *lowerCorner, const int *upperCorner, uint32_t channels, uint32_t pixels, const uint32_t *elementStrides,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill) {
  emulator::TensorMapArguments a = mapArguments(type, rank, address, dims, strides, elementStrides, interleave, swizzle, l2Promotion, oobFill);
  a.im2col = true;
  a.lowerCorner = lowerCorner;
  a.upperCorner = upperCorner;
  a.channelsPerPixel = channels;
  a.pixelsPerColumn = pixels;
  return encodeMap("cuTensorMapEncodeIm2col", map, a);
}
CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *address) {
  NEED(map && host(map) % 64 == 0 && host(address) % 16 == 0)
  emulator::replaceField(reinterpret_cast<uint8_t *>(map), emulator::MapField::GlobalAddress, 0, host(address));
  return CUDA_SUCCESS;
}

} // extern "C"
