// runtime/emulator/driver/LaunchApi.cpp - launches, occupancy, streams, events. Everything happens at the call.
#include "runtime/emulator/driver/Enter.h"
#include "runtime/emulator/driver/Policy.h"
#include "runtime/emulator/driver/Record.h"
#include "runtime/emulator/driver/State.h"
#include <cstring>

using namespace fovea::cu;
namespace emulator = fovea::emulator;

static CUresult launch(const CUlaunchConfig &c, CUfunction function, void **params, void **extra) {
  ENTER(true)
  NEED((function = asFunction(function)))
  emulator::LaunchConfig k;
  const uint32_t grid[3] = {c.gridDimX, c.gridDimY, c.gridDimZ}, block[3] = {c.blockDimX, c.blockDimY, c.blockDimZ};
  std::copy(grid, grid + 3, k.grid);
  std::copy(block, block + 3, k.block);
  k.dynamicShared = c.sharedMemBytes;
  for (int d = 0; d < 3; ++d)
    if (function->code->cluster[d])
      k.cluster[d] = function->code->cluster[d];
  for (unsigned a = 0; a < c.numAttrs; ++a) {
    const CUlaunchAttribute &attribute = c.attrs[a];
    switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      k.cluster[0] = attribute.value.clusterDim.x;
      k.cluster[1] = attribute.value.clusterDim.y;
      k.cluster[2] = attribute.value.clusterDim.z;
      break;
    // Nothing of these changes what a kernel computes here: launches run one after the other.
    case CU_LAUNCH_ATTRIBUTE_IGNORE: case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      break;
    default: return notSupported("cuLaunchKernelEx with this attribute");
    }
  }
  uint64_t cluster = uint64_t(k.cluster[0]) * k.cluster[1] * k.cluster[2];
  if (cluster > (function->nonPortableCluster ? 16 : 8)) {
    say("launch of " + function->name + ": a cluster of " + std::to_string(cluster) + " blocks; more than 8 need CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, at most 16");
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  if (k.dynamicShared > function->maxDynamicShared) {
    say("launch of " + function->name + ": " + std::to_string(k.dynamicShared) + " bytes of dynamic shared memory, but CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES is " +
        std::to_string(function->maxDynamicShared));
    return CUDA_ERROR_INVALID_VALUE;
  }
  const emulator::Code &code = *function->code;
  k.params.assign(code.paramBytes, 0);
  if (extra) {
    // { (void*)1, buffer, (void*)2, &size, 0 }
    const void *buffer = nullptr;
    size_t size = 0;
    for (void **e = extra; *e; e += 2) {
      if (*e == reinterpret_cast<void *>(1))
        buffer = e[1];
      else if (*e == reinterpret_cast<void *>(2))
        size = *static_cast<size_t *>(e[1]);
    }
    NEED(buffer && size <= k.params.size() + 16)
    std::memcpy(k.params.data(), buffer, std::min(size, k.params.size()));
  } else {
    NEED(params || code.params.empty())
    for (size_t p = 0; p < code.params.size(); ++p) {
      NEED(params[p])
      std::memcpy(k.params.data() + code.params[p].offset, params[p], code.params[p].bytes);
    }
  }
  if (!applyPolicy(k))
    return CUDA_ERROR_INVALID_VALUE;
  emulator::Program &program = *function->module->program;
  k.smArch = program.chip().major * 10;
  k.smCount = program.chip().smCount;
  std::string bad = program.checkLaunch(code, k);
  if (!bad.empty()) {
    say("launch of " + function->name + ": " + bad);
    return CUDA_ERROR_INVALID_VALUE;
  }
  recordLaunch(program, code, k, call.device->memory);
  emulator::Report r = runWithDetectors(program, code, k);
  State &s = state();
  s.lastText = r.text();
  s.lastJson = r.json();
  if (!r.findings.empty())
    say("report of kernel " + function->name + "\n" + s.lastText);
  if (r.failed())
    return call.context->sticky = CUDA_ERROR_LAUNCH_FAILED;
  return CUDA_SUCCESS;
}

extern "C" {

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params, void **extra) {
  NEED(config && (config->attrs || !config->numAttrs))
  return launch(*config, function, params, extra);
}
CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ, unsigned dynamicSmem,
                        CUstream stream, void **params, void **extra) {
  CUlaunchConfig c{gridX, gridY, gridZ, blockX, blockY, blockZ, dynamicSmem, stream, nullptr, 0};
  return launch(c, function, params, extra);
}
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ,
                                   unsigned dynamicSmem, CUstream stream, void **params) {
  return cuLaunchKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ, dynamicSmem, stream, params, nullptr);
}
CUresult cuLaunchHostFunc(CUstream, CUhostFn function, void *data) {
  {
    ENTER(true) NEED(function)
  }
  function(data);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int blockSize, size_t dynamicSmem) {
  ENTER(false) NEED(blocks && blockSize > 0 && (function = asFunction(function)))
  const emulator::Chip &c = function->module->program->chip();
  const emulator::Code &code = *function->code;
  uint32_t warps = uint32_t(blockSize + 31) / 32;
  uint64_t shared = (code.staticShared + dynamicSmem + 1024 + 127) / 128 * 128;
  uint32_t registers = code.maxnreg ? code.maxnreg : std::min(code.ptxRegisters, 128u);
  registers = std::max(24u, (registers + 7) / 8 * 8);
  uint64_t n = std::min<uint64_t>({c.blocksPerSm, c.threadsPerSm / (warps * 32), c.sharedPerSm / shared, c.registersPerSm / (uint64_t(warps) * 32 * registers)});
  *blocks = blockSize > 1024 ? 0 : int(n);
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function, int blockSize, size_t dynamicSmem, unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, blockSize, dynamicSmem);
}
CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction function, const CUlaunchConfig *config) {
  ENTER(false) NEED(size && config && (function = asFunction(function)))
  *size = function->nonPortableCluster ? 16 : 8;
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveClusters(int *count, CUfunction function, const CUlaunchConfig *config) {
  ENTER(false) NEED(count && config && (function = asFunction(function)))
  int blocks = 0;
  CUresult r = cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, int(config->blockDimX * config->blockDimY * config->blockDimZ), config->sharedMemBytes);
  unsigned cluster = 1;
  for (unsigned a = 0; a < config->numAttrs; ++a)
    if (config->attrs[a].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      cluster = config->attrs[a].value.clusterDim.x * config->attrs[a].value.clusterDim.y * config->attrs[a].value.clusterDim.z;
  *count = int(function->module->program->chip().smCount * unsigned(blocks) / std::max(1u, cluster));
  return r;
}

// Streams and events: work is done when the call that asks for it returns.
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
  ENTER(true) NEED(stream)
  *stream = new CUstream_st{flags, priority};
  return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream *stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }
CUresult cuStreamDestroy_v2(CUstream stream) {
  NEED(stream)
  delete stream;
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) {
  ENTER(true)
  return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream) {
  ENTER(true)
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream, CUevent event, unsigned) {
  ENTER(true) NEED(event)
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus *status) {
  ENTER(true) NEED(status)
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent *event, unsigned) {
  ENTER(true) NEED(event)
  *event = new CUevent_st;
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent event) {
  NEED(event)
  delete event;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream) {
  ENTER(true) NEED(event)
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent event) {
  ENTER(true) NEED(event)
  return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent event) {
  ENTER(true) NEED(event)
  return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  ENTER(true) NEED(milliseconds && start && end && start->recorded && end->recorded)
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end) { return cuEventElapsedTime(milliseconds, start, end); }

} // extern "C"
