// runtime/driver/DriverApi.h - one table of CUDA Driver API functions, filled by dlopen.
//
// NVIDIA's libcuda.so.1 and Fovea's emulator (libfovea_emulator.so) export the same symbols, so everything above
// this table is one code path. Libraries stay loaded until the process ends: libcuda cannot be unloaded safely.
#ifndef FOVEA_RUNTIME_DRIVER_DRIVERAPI_H
#define FOVEA_RUNTIME_DRIVER_DRIVERAPI_H

#include "runtime/abi/Error.h"
#include "runtime/driver/cuda_abi.h"

#include <string>

namespace fovea {

// FOVEA_DRIVER_FUNCTIONS(X): X(SYMBOL, SINCE), SINCE being the CUDA version that brought it (1000 * major + 10 * minor).
// All are required; a library without one of them is an old driver and is refused by name.
#define FOVEA_DRIVER_FUNCTIONS(X)                                                                            \
  X(cuInit, 2000)                                                                                            \
  X(cuDriverGetVersion, 2020)                                                                                \
  X(cuGetErrorName, 6000)                                                                                    \
  X(cuGetErrorString, 6000)                                                                                  \
  X(cuDeviceGet, 2000)                                                                                       \
  X(cuDeviceGetCount, 2000)                                                                                  \
  X(cuDeviceGetName, 2000)                                                                                   \
  X(cuDeviceTotalMem_v2, 3020)                                                                               \
  X(cuDeviceGetAttribute, 2000)                                                                              \
  X(cuDevicePrimaryCtxRetain, 7000)                                                                          \
  X(cuDevicePrimaryCtxRelease_v2, 11000)                                                                     \
  X(cuCtxGetCurrent, 4000)                                                                                   \
  X(cuCtxPushCurrent_v2, 4000)                                                                               \
  X(cuCtxPopCurrent_v2, 4000)                                                                                \
  X(cuCtxSynchronize, 2000)                                                                                  \
  X(cuModuleLoadDataEx, 2010)                                                                                \
  X(cuModuleUnload, 2000)                                                                                    \
  X(cuModuleGetFunction, 2000)                                                                               \
  X(cuLinkCreate_v2, 6050)                                                                                   \
  X(cuLinkAddData_v2, 6050)                                                                                  \
  X(cuLinkComplete, 5050)                                                                                    \
  X(cuLinkDestroy, 5050)                                                                                     \
  X(cuFuncGetAttribute, 2020)                                                                                \
  X(cuFuncSetAttribute, 9000)                                                                                \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)                                                       \
  X(cuLaunchKernel, 4000)                                                                                    \
  X(cuLaunchKernelEx, 11080)                                                                                 \
  X(cuMemAlloc_v2, 3020)                                                                                     \
  X(cuMemFree_v2, 3020)                                                                                      \
  X(cuMemcpyHtoD_v2, 3020)                                                                                   \
  X(cuMemcpyDtoH_v2, 3020)                                                                                   \
  X(cuMemcpyHtoDAsync_v2, 3020)                                                                              \
  X(cuMemcpyDtoHAsync_v2, 3020)                                                                              \
  X(cuMemcpyDtoDAsync_v2, 3020)                                                                              \
  X(cuMemsetD8_v2, 3020)                                                                                     \
  X(cuMemsetD8Async, 3020)                                                                                   \
  X(cuPointerGetAttribute, 4000)                                                                             \
  X(cuMemGetAddressRange_v2, 3020)                                                                           \
  X(cuTensorMapEncodeTiled, 12000)                                                                           \
  X(cuStreamCreate, 2000)                                                                                    \
  X(cuStreamDestroy_v2, 4000)                                                                                \
  X(cuStreamSynchronize, 2000)                                                                               \
  X(cuStreamWaitEvent, 3020)                                                                                 \
  X(cuEventCreate, 2000)                                                                                     \
  X(cuEventDestroy_v2, 4000)                                                                                 \
  X(cuEventRecord, 2000)                                                                                     \
  X(cuEventSynchronize, 2000)                                                                                \
  X(cuEventElapsedTime, 2000)

/// The functions of one driver library. A plain struct: tests fill it with fakes.
struct DriverApi {
#define FOVEA_DRIVER_POINTER(SYMBOL, SINCE) decltype(&cu::SYMBOL) SYMBOL = nullptr;
  FOVEA_DRIVER_FUNCTIONS(FOVEA_DRIVER_POINTER)
#undef FOVEA_DRIVER_POINTER

  std::string library;     ///< the file that was opened
  int version = 0;         ///< cuDriverGetVersion: 1000 * major + 10 * minor
  bool isEmulator = false;

  /// NVIDIA's driver, `libcuda.so.1` (or the file named by FOVEA_CUDA_LIB). Opened once per process and
  /// initialised; refused when absent, older than CUDA 12.0, or without a device.
  static Expected<const DriverApi *> cuda();

  /// The emulator: the file named by FOVEA_EMULATOR_LIB, else `libfovea_emulator.so` beside the executable, in
  /// `../lib` of it, beside this runtime's own library, or where the dynamic loader finds it. FOVEA_EMULATE lists the
  /// chips it stands for, one device each; where it is not set, every target of runtime/abi/Target.h, newest first.
  static Expected<const DriverApi *> emulator();

  /// Opens `path` and fills a table from it; does not initialise the driver.
  static Expected<DriverApi> open(const std::string &path);

  /// Success, or an Error with the call, the code, its name, its meaning and what to try.
  /// `detail` says what the call was about, e.g. "4096 bytes for tensor 'q'".
  Expected<void> check(cu::CUresult result, const char *call, const std::string &detail = "") const;
};

/// "CUDA_ERROR_..." for a code this ABI knows, else "unknown error".
const char *driverErrorName(cu::CUresult result);

/// What a user can try after this code, e.g. "free memory or make the batch smaller"; empty when nothing is known.
const char *driverErrorAdvice(cu::CUresult result);

/// "12.4" for 12040.
std::string driverVersionText(int version);

} // namespace fovea

#endif // FOVEA_RUNTIME_DRIVER_DRIVERAPI_H
