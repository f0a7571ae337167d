// runtime/driver/cuda_abi_functions.h - prototypes of the CUDA Driver API functions that Fovea knows.
//
// Included by cuda_abi.h only. Each function returns a CUresult; units are bytes unless said otherwise. What a
// function does is in NVIDIA's CUDA Driver API reference under the name without its version suffix.
#ifndef FOVEA_RUNTIME_DRIVER_CUDA_ABI_FUNCTIONS_H
#define FOVEA_RUNTIME_DRIVER_CUDA_ABI_FUNCTIONS_H

#include "runtime/driver/cuda_abi.h"

// A test that also includes NVIDIA's header needs these prototypes to be other functions than NVIDIA's.
#ifndef FOVEA_CU_LINKAGE
#define FOVEA_CU_LINKAGE extern "C"
#endif

namespace fovea::cu {
FOVEA_CU_LINKAGE {

// Initialisation, errors.
FOVEA_CU_API CUresult cuInit(unsigned flags);
FOVEA_CU_API CUresult cuDriverGetVersion(int *version); // 1000 * major + 10 * minor
FOVEA_CU_API CUresult cuGetErrorName(CUresult error, const char **name);
FOVEA_CU_API CUresult cuGetErrorString(CUresult error, const char **text);
FOVEA_CU_API CUresult cuGetProcAddress(const char *symbol, void **function, int cudaVersion, uint64_t flags);
FOVEA_CU_API CUresult cuGetProcAddress_v2(const char *symbol, void **function, int cudaVersion, uint64_t flags,
                                          CUdriverProcAddressQueryResult *status);

// Devices.
FOVEA_CU_API CUresult cuDeviceGet(CUdevice *device, int ordinal);
FOVEA_CU_API CUresult cuDeviceGetCount(int *count);
FOVEA_CU_API CUresult cuDeviceGetName(char *name, int length, CUdevice device);
FOVEA_CU_API CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device);
FOVEA_CU_API CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device);
FOVEA_CU_API CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device);
FOVEA_CU_API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device);
FOVEA_CU_API CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device);
FOVEA_CU_API CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device);

// Contexts.
FOVEA_CU_API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
FOVEA_CU_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
FOVEA_CU_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags);
FOVEA_CU_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active);
FOVEA_CU_API CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);
FOVEA_CU_API CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned flags, CUdevice device);
FOVEA_CU_API CUresult cuCtxDestroy_v2(CUcontext context);
FOVEA_CU_API CUresult cuCtxSetCurrent(CUcontext context);
FOVEA_CU_API CUresult cuCtxGetCurrent(CUcontext *context);
FOVEA_CU_API CUresult cuCtxPushCurrent_v2(CUcontext context);
FOVEA_CU_API CUresult cuCtxPopCurrent_v2(CUcontext *context);
FOVEA_CU_API CUresult cuCtxGetDevice(CUdevice *device);
FOVEA_CU_API CUresult cuCtxGetFlags(unsigned *flags);
FOVEA_CU_API CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version);
FOVEA_CU_API CUresult cuCtxGetLimit(size_t *value, CUlimit limit);
FOVEA_CU_API CUresult cuCtxSetLimit(CUlimit limit, size_t value);
FOVEA_CU_API CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest);
FOVEA_CU_API CUresult cuCtxSynchronize(void);

// Modules, libraries, the linker (PTX to cubin).
FOVEA_CU_API CUresult cuModuleLoad(CUmodule *module, const char *path);
FOVEA_CU_API CUresult cuModuleLoadData(CUmodule *module, const void *image);
FOVEA_CU_API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                                         void **values);
FOVEA_CU_API CUresult cuModuleUnload(CUmodule module);
FOVEA_CU_API CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
FOVEA_CU_API CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name);
FOVEA_CU_API CUresult cuLinkCreate_v2(unsigned count, CUjit_option *options, void **values, CUlinkState *state);
FOVEA_CU_API CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                                       const char *name, unsigned count, CUjit_option *options, void **values);
FOVEA_CU_API CUresult cuLinkComplete(CUlinkState state, void **cubin, size_t *size); // owned by `state`
FOVEA_CU_API CUresult cuLinkDestroy(CUlinkState state);
FOVEA_CU_API CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                                        void **jitValues, unsigned jitCount, CUlibraryOption *libraryOptions,
                                        void **libraryValues, unsigned libraryCount);
FOVEA_CU_API CUresult cuLibraryUnload(CUlibrary library);
FOVEA_CU_API CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name);
FOVEA_CU_API CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library);
FOVEA_CU_API CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel);
FOVEA_CU_API CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device);
FOVEA_CU_API CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device);

// Functions, occupancy, launch.
FOVEA_CU_API CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function);
FOVEA_CU_API CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value);
FOVEA_CU_API CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config);
FOVEA_CU_API CUresult cuFuncGetModule(CUmodule *module, CUfunction function);
FOVEA_CU_API CUresult cuFuncGetName(const char **name, CUfunction function);
FOVEA_CU_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int blockSize,
                                                                  size_t dynamicSmem);
FOVEA_CU_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function,
                                                                           int blockSize, size_t dynamicSmem,
                                                                           unsigned flags);
FOVEA_CU_API CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction function, const CUlaunchConfig *config);
FOVEA_CU_API CUresult cuOccupancyMaxActiveClusters(int *count, CUfunction function, const CUlaunchConfig *config);
FOVEA_CU_API CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ,
                                     unsigned blockX, unsigned blockY, unsigned blockZ, unsigned dynamicSmem,
                                     CUstream stream, void **params, void **extra);
FOVEA_CU_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params, void **extra);
FOVEA_CU_API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ,
                                                unsigned blockX, unsigned blockY, unsigned blockZ,
                                                unsigned dynamicSmem, CUstream stream, void **params);
FOVEA_CU_API CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data);

// Memory. Copies without a stream return when the host side is done with its memory.
FOVEA_CU_API CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
FOVEA_CU_API CUresult cuMemFree_v2(CUdeviceptr address);
FOVEA_CU_API CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream);
FOVEA_CU_API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream);
FOVEA_CU_API CUresult cuMemAllocHost_v2(void **pointer, size_t bytes);
FOVEA_CU_API CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags);
FOVEA_CU_API CUresult cuMemFreeHost(void *pointer);
FOVEA_CU_API CUresult cuMemGetInfo_v2(size_t *free, size_t *total);
FOVEA_CU_API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address);
FOVEA_CU_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
FOVEA_CU_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
FOVEA_CU_API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
FOVEA_CU_API CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
FOVEA_CU_API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes);
FOVEA_CU_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream);
FOVEA_CU_API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
FOVEA_CU_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
FOVEA_CU_API CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count);
FOVEA_CU_API CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count);
FOVEA_CU_API CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count);
FOVEA_CU_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream);
FOVEA_CU_API CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream);
FOVEA_CU_API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream);
FOVEA_CU_API CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer);
FOVEA_CU_API CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data,
                                             CUdeviceptr pointer);

// Tensor maps (dimensions innermost first; strides in bytes, from dimension 1 on; rank - 1 of them).
FOVEA_CU_API CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, uint32_t rank, void *address,
                                             const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
                                             const uint32_t *elementStrides, CUtensorMapInterleave interleave,
                                             CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                             CUtensorMapFloatOOBfill oobFill);
FOVEA_CU_API CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, uint32_t rank, void *address,
                                              const uint64_t *dims, const uint64_t *strides, const int *lowerCorner,
                                              const int *upperCorner, uint32_t channelsPerPixel,
                                              uint32_t pixelsPerColumn, const uint32_t *elementStrides,
                                              CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                              CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill);
FOVEA_CU_API CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *address);

// Streams and events (times in milliseconds).
FOVEA_CU_API CUresult cuStreamCreate(CUstream *stream, unsigned flags);
FOVEA_CU_API CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority);
FOVEA_CU_API CUresult cuStreamDestroy_v2(CUstream stream);
FOVEA_CU_API CUresult cuStreamSynchronize(CUstream stream);
FOVEA_CU_API CUresult cuStreamQuery(CUstream stream);
FOVEA_CU_API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
FOVEA_CU_API CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status);
FOVEA_CU_API CUresult cuEventCreate(CUevent *event, unsigned flags);
FOVEA_CU_API CUresult cuEventDestroy_v2(CUevent event);
FOVEA_CU_API CUresult cuEventRecord(CUevent event, CUstream stream);
FOVEA_CU_API CUresult cuEventSynchronize(CUevent event);
FOVEA_CU_API CUresult cuEventQuery(CUevent event);
FOVEA_CU_API CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end);
FOVEA_CU_API CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end); // same, since 12.8

} // FOVEA_CU_LINKAGE
} // namespace fovea::cu

#endif // FOVEA_RUNTIME_DRIVER_CUDA_ABI_FUNCTIONS_H
