// runtime/driver/DriverErrors.cpp - turns a driver's result code into a message that helps.
#include "runtime/driver/DriverApi.h"

namespace fovea {
using namespace cu;

const char *driverErrorName(CUresult result) {
  switch (result) {
#define FOVEA_CU_NAME(NAME, VALUE)                                                                           \
  case NAME:                                                                                                 \
    return #NAME;
    FOVEA_CU_RESULTS(FOVEA_CU_NAME)
#undef FOVEA_CU_NAME
  }
  return "unknown error";
}

const char *driverErrorAdvice(CUresult result) {
  switch (result) {
  case CUDA_ERROR_OUT_OF_MEMORY:
    return "free device memory, or make the batch smaller";
  case CUDA_ERROR_STUB_LIBRARY:
    return "libcuda.so is the toolkit's link-time stub; remove the stubs folder from LD_LIBRARY_PATH";
  case CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    return "the driver is older than this kernel's PTX version; update the driver, or compile for an older PTX "
           "version";
  case CUDA_ERROR_NO_DEVICE:
    return "no GPU is visible (check nvidia-smi and CUDA_VISIBLE_DEVICES); device \"emulator\" needs none";
  case CUDA_ERROR_INVALID_DEVICE:
    return "`fovea devices` lists the devices that exist";
  case CUDA_ERROR_DEVICE_UNAVAILABLE:
    return "another process holds the GPU in exclusive mode, or it needs a reset";
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
    return "the kernel was compiled for another architecture; recompile with the --target that `fovea devices` "
           "shows";
  case CUDA_ERROR_INVALID_PTX:
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_INVALID_SOURCE:
    return "the PTX is damaged or was written for another architecture; recompile the spec";
  case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    return "libnvidia-ptxjitcompiler.so is missing; install it with the driver (in a container: the driver "
           "capability \"compute\")";
  case CUDA_ERROR_JIT_COMPILATION_DISABLED:
    return "unset CUDA_DISABLE_PTX_JIT";
  case CUDA_ERROR_NOT_FOUND:
    return "the PTX does not hold this name; PTX and manifest must come from the same compilation";
  case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    return "the kernel needs more registers or shared memory than a block may have here";
  case CUDA_ERROR_INVALID_CLUSTER_SIZE:
    return "the cluster does not fit this GPU";
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_LAUNCH_FAILED:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    return "the kernel itself failed and its context is lost; run the same arguments on device \"emulator\" to see "
           "where";
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    return "kernel module and libcuda.so.1 have different versions; reboot after the driver update";
  case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
    return "the CUDA compatibility package does not support this GPU; use the driver's own libcuda.so.1";
  case CUDA_ERROR_NOT_SUPPORTED:
    return "this driver or device does not implement the call";
  default:
    return "";
  }
}

std::string driverVersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Expected<void> DriverApi::check(CUresult result, const char *call, const std::string &detail) const {
  if (result == CUDA_SUCCESS)
    return {};
  const char *name = nullptr, *meaning = nullptr;
  // An error code that the driver does not know leaves the pointers null.
  if (!cuGetErrorName || cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    name = driverErrorName(result);
  if (!cuGetErrorString || cuGetErrorString(result, &meaning) != CUDA_SUCCESS)
    meaning = nullptr;
  std::string text = std::string(call) + " failed with " + name + " (" + std::to_string(result) + ")";
  if (meaning && *meaning)
    text += std::string(": ") + meaning;
  if (!detail.empty())
    text += "; while: " + detail;
  if (const char *advice = driverErrorAdvice(result); *advice)
    text += std::string("; try: ") + advice;
  return Error{text, result};
}

} // namespace fovea
