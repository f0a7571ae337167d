// runtime/emulator/driver/ProcAddress.cpp - cuGetProcAddress, and the functions that exist only to say no.
#include "runtime/emulator/driver/State.h"
#include <cstring>
#include <dlfcn.h>

using namespace fovea::cu;

/// Functions that programs link against or look up but that the emulator does not have.
#define FOVEA_UNSUPPORTED(X)                                                                                           \
  X(cuArray3DCreate_v2) X(cuArrayCreate_v2) X(cuArrayDestroy) X(cuCtxEnablePeerAccess) X(cuCtxDisablePeerAccess)      \
  X(cuDeviceCanAccessPeer) X(cuDeviceGetDefaultMemPool) X(cuDeviceGetMemPool) X(cuDeviceSetMemPool)                   \
  X(cuDeviceGetP2PAttribute) X(cuDeviceGetLuid) X(cuEventRecordWithFlags) X(cuGraphCreate) X(cuGraphLaunch)           \
  X(cuGraphInstantiateWithFlags) X(cuGraphExecDestroy) X(cuGraphDestroy) X(cuGraphAddKernelNode_v2)                   \
  X(cuImportExternalMemory) X(cuIpcGetMemHandle) X(cuIpcOpenMemHandle_v2) X(cuLinkAddFile_v2) X(cuLibraryLoadFromFile) \
  X(cuLibraryGetGlobal) X(cuMemAddressFree) X(cuMemAddressReserve) X(cuMemAllocManaged) X(cuMemAllocPitch_v2)         \
  X(cuMemAllocFromPoolAsync) X(cuMemCreate) X(cuMemMap) X(cuMemUnmap) X(cuMemRelease) X(cuMemSetAccess)               \
  X(cuMemHostRegister_v2) X(cuMemHostUnregister) X(cuMemHostGetDevicePointer_v2) X(cuMemHostGetFlags)                 \
  X(cuMemcpy2D_v2) X(cuMemcpy2DAsync_v2) X(cuMemcpy3D_v2) X(cuMemcpyPeer) X(cuMemcpyPeerAsync) X(cuMemAdvise)         \
  X(cuMemPrefetchAsync) X(cuMemPoolCreate) X(cuMemPoolDestroy) X(cuMemPoolTrimTo) X(cuMemsetD2D8_v2)                  \
  X(cuMemGetAllocationGranularity) X(cuModuleLoadFatBinary) X(cuModuleGetLoadingMode) X(cuModuleGetSurfRef)           \
  X(cuModuleGetTexRef) X(cuMulticastCreate) X(cuMulticastBindMem) X(cuOccupancyMaxPotentialBlockSize)                 \
  X(cuOccupancyAvailableDynamicSMemPerBlock) X(cuPointerSetAttribute) X(cuProfilerStart) X(cuProfilerStop)            \
  X(cuStreamAddCallback) X(cuStreamAttachMemAsync) X(cuStreamBeginCapture_v2) X(cuStreamEndCapture)                   \
  X(cuStreamGetCaptureInfo_v2) X(cuStreamGetCtx) X(cuStreamGetFlags) X(cuStreamGetPriority) X(cuStreamGetId)          \
  X(cuStreamWaitValue32_v2) X(cuStreamWriteValue32_v2) X(cuSurfObjectCreate) X(cuTexObjectCreate) X(cuThreadExchangeStreamCaptureMode)

extern "C" {

#define DEFINE(NAME)                                                                                                   \
  __attribute__((visibility("default"))) CUresult NAME() { return notSupported(#NAME); }
FOVEA_UNSUPPORTED(DEFINE)
#undef DEFINE

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int cudaVersion, uint64_t, CUdriverProcAddressQueryResult *status) {
  if (!symbol || !function)
    return CUDA_ERROR_INVALID_VALUE;
  *function = nullptr;
  Dl_info self;
  static int anchor;
  if (!dladdr(&anchor, &self))
    return CUDA_ERROR_UNKNOWN;
  static void *library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (!library)
    library = dlopen(nullptr, RTLD_NOW);
  // The ABI's versioned names: the newest that the caller's version knows.
  std::string name = symbol;
  std::vector<std::string> tries;
  if (name == "cuGetProcAddress" && cudaVersion >= 12000)
    tries = {name + "_v2"};
  else if (name == "cuCtxCreate")
    tries = {cudaVersion >= 13000 ? name + "_v4" : name + "_v2"};
  else if (name == "cuEventElapsedTime")
    tries = {name};
  else
    tries = {name + "_v2", name};
  for (const std::string &t : tries)
    if ((*function = dlsym(library, t.c_str())))
      break;
  if (status)
    *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (*function)
    return CUDA_SUCCESS;
  std::lock_guard<std::recursive_mutex> hold(state().lock);
  say("cuGetProcAddress: " + name + " is not supported", true);
  return CUDA_ERROR_NOT_FOUND;
}
CUresult cuGetProcAddress(const char *symbol, void **function, int cudaVersion, uint64_t flags) { return cuGetProcAddress_v2(symbol, function, cudaVersion, flags, nullptr); }

} // extern "C"
