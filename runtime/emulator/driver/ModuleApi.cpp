// runtime/emulator/driver/ModuleApi.cpp - modules, libraries, the linker, kernels and their attributes.
#include "runtime/emulator/driver/Enter.h"
#include "runtime/emulator/driver/State.h"
#include <cstring>
#include <fstream>
#include <sstream>

using namespace fovea::cu;

namespace fovea::cu {
CUfunction asFunction(CUfunction f) {
  // A CUkernel passed as a CUfunction (legal from CUDA 12 on) is recognised by being one of a library's kernels.
  static thread_local CUfunction resolved;
  for (CUlib_st *l : state().libraries)
    for (auto &k : l->kernels)
      if (static_cast<void *>(k.second.get()) == static_cast<void *>(f))
        return cuKernelGetFunction(&resolved, k.second.get()) == CUDA_SUCCESS ? resolved : nullptr;
  return state().functions.count(f) ? f : nullptr;
}
} // namespace fovea::cu

static void writeLog(unsigned count, CUjit_option *options, void **values, const std::string &log) {
  char *buffer = nullptr;
  size_t size = 0;
  for (unsigned k = 0; k < count && options && values; ++k) {
    if (options[k] == CU_JIT_ERROR_LOG_BUFFER)
      buffer = static_cast<char *>(values[k]);
    if (options[k] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      size = size_t(reinterpret_cast<uintptr_t>(values[k])) & 0xffffffff;
    if (options[k] == CU_JIT_INFO_LOG_BUFFER && values[k])
      *static_cast<char *>(values[k]) = 0;
  }
  if (buffer && size) {
    size_t n = std::min(size - 1, log.size());
    std::memcpy(buffer, log.data(), n);
    buffer[n] = 0;
  }
}

extern "C" {

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values) {
  ENTER(true) NEED(module)
  std::string text, log;
  CUresult r = imageText(image, text);
  if (r == CUDA_SUCCESS)
    r = loadModule(call.context->device, text, module, &log);
  writeLog(count, options, values, log);
  return r;
}
CUresult cuModuleLoadData(CUmodule *module, const void *image) { return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr); }
CUresult cuModuleLoad(CUmodule *module, const char *path) {
  ENTER(true) NEED(module && path)
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return CUDA_ERROR_FILE_NOT_FOUND;
  std::stringstream s;
  s << in.rdbuf();
  return cuModuleLoadData(module, s.str().c_str());
}
CUresult cuModuleUnload(CUmodule module) {
  ENTER(false) NEED(module)
  for (auto &f : module->functions)
    state().functions.erase(f.second.get());
  delete module;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  ENTER(false) NEED(name)
  return functionOf(module, name, function);
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name) {
  ENTER(false) NEED(module && name)
  uint64_t a, n;
  if (!module->program->variable(name, a, n))
    return CUDA_ERROR_NOT_FOUND;
  if (address)
    *address = a;
  if (bytes)
    *bytes = n;
  return CUDA_SUCCESS;
}

// The linker turns PTX into the same PTX: what it hands out is what the emulator loads.
CUresult cuLinkCreate_v2(unsigned, CUjit_option *, void **, CUlinkState *link) {
  ENTER(true) NEED(link)
  *link = new CUlinkState_st;
  return CUDA_SUCCESS;
}
CUresult cuLinkAddData_v2(CUlinkState link, CUjitInputType type, void *data, size_t size, const char *, unsigned count, CUjit_option *options, void **values) {
  ENTER(true) NEED(link && data && size)
  if (type != CU_JIT_INPUT_PTX || !link->text.empty())
    return notSupported("cuLinkAddData of anything but one PTX text");
  std::string text(static_cast<const char *>(data), strnlen(static_cast<const char *>(data), size)), log;
  CUmodule probe;
  CUresult r = loadModule(call.context->device, text, &probe, &log);
  writeLog(count, options, values, log);
  if (r != CUDA_SUCCESS)
    return r;
  delete probe;
  link->text = std::move(text);
  return CUDA_SUCCESS;
}
CUresult cuLinkComplete(CUlinkState link, void **cubin, size_t *size) {
  ENTER(true) NEED(link && cubin && !link->text.empty())
  *cubin = const_cast<char *>(link->text.c_str());
  if (size)
    *size = link->text.size() + 1;
  return CUDA_SUCCESS;
}
CUresult cuLinkDestroy(CUlinkState link) {
  NEED(link)
  delete link;
  return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions, void **jitValues, unsigned jitCount, CUlibraryOption *, void **, unsigned) {
  ENTER(false) NEED(library)
  std::string text, log;
  CUresult r = imageText(code, text);
  if (r != CUDA_SUCCESS)
    return r;
  auto l = std::make_unique<CUlib_st>();
  l->text = text;
  int device = currentContext() ? currentContext()->device : 0;
  CUmodule m;
  r = loadModule(device, text, &m, &log);
  writeLog(jitCount, jitOptions, jitValues, log);
  if (r != CUDA_SUCCESS)
    return r;
  l->modules[device] = m;
  state().libraries.insert(l.get());
  *library = l.release();
  return CUDA_SUCCESS;
}
CUresult cuLibraryUnload(CUlibrary library) {
  ENTER(false) NEED(library)
  if (!state().libraries.erase(library))
    return CUDA_ERROR_INVALID_HANDLE;
  for (auto &m : library->modules)
    cuModuleUnload(m.second);
  delete library;
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library) {
  ENTER(false) NEED(module && library)
  int device = currentContext() ? currentContext()->device : 0;
  auto it = library->modules.find(device);
  if (it == library->modules.end()) {
    CUmodule m;
    CUresult r = loadModule(device, library->text, &m, nullptr);
    if (r != CUDA_SUCCESS)
      return r;
    it = library->modules.emplace(device, m).first;
  }
  *module = it->second;
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
  ENTER(false) NEED(kernel && library && name)
  CUmodule m;
  CUfunction f;
  CUresult r = cuLibraryGetModule(&m, library);
  if (r == CUDA_SUCCESS)
    r = functionOf(m, name, &f);
  if (r != CUDA_SUCCESS)
    return r;
  auto &k = library->kernels[name];
  if (!k) {
    k = std::make_unique<CUkern_st>();
    k->library = library;
    k->name = name;
  }
  *kernel = k.get();
  return CUDA_SUCCESS;
}
CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
  ENTER(false) NEED(function && kernel)
  CUmodule m;
  CUresult r = cuLibraryGetModule(&m, kernel->library);
  return r == CUDA_SUCCESS ? functionOf(m, kernel->name, function) : r;
}
CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice) {
  CUfunction f;
  CUresult r = cuKernelGetFunction(&f, kernel);
  return r == CUDA_SUCCESS ? cuFuncGetAttribute(value, attribute, f) : r;
}
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice) {
  CUfunction f;
  CUresult r = cuKernelGetFunction(&f, kernel);
  return r == CUDA_SUCCESS ? cuFuncSetAttribute(f, attribute, value) : r;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
  ENTER(false) NEED(value && (function = asFunction(function)))
  const fovea::emulator::Code &c = *function->code;
  int arch = function->module->program->chip().major * 10 + function->module->program->chip().minor;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: {
    uint32_t n = c.reqntid[0] ? c.reqntid[0] * std::max(1u, c.reqntid[1]) * std::max(1u, c.reqntid[2])
                 : c.maxntid[0] ? c.maxntid[0] * std::max(1u, c.maxntid[1]) * std::max(1u, c.maxntid[2]) : 1024;
    *value = int(n);
    break;
  }
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = int(c.staticShared); break;
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = 0; break;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = int(c.localBytes); break;
  // PTX has unlimited registers; what a chip's assembler would take is not known here.
  case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = int(c.maxnreg ? c.maxnreg : std::min(c.ptxRegisters, 128u)); break;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION: case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = arch; break;
  case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = int(function->maxDynamicShared); break;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = -1; break;
  case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = c.explicitCluster && !c.cluster[0]; break;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: *value = int(c.cluster[0]); break;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: *value = int(c.cluster[1]); break;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: *value = int(c.cluster[2]); break;
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = function->nonPortableCluster; break;
  case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = 0; break;
  default: return notSupported("cuFuncGetAttribute with this attribute");
  }
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  ENTER(false) NEED((function = asFunction(function)))
  const auto &chip = function->module->program->chip();
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    if (value < 0 || uint64_t(value) + function->code->staticShared > chip.sharedPerBlock) {
      say("cuFuncSetAttribute: " + std::to_string(value) + " bytes of dynamic shared memory and " + std::to_string(function->code->staticShared) + " static exceed the " +
          std::to_string(chip.sharedPerBlock) + " that a block may have");
      return CUDA_ERROR_INVALID_VALUE;
    }
    function->maxDynamicShared = uint32_t(value);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: function->nonPortableCluster = value != 0; return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: return CUDA_SUCCESS;
  default: return notSupported("cuFuncSetAttribute with this attribute");
  }
}
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
  ENTER(false) NEED(asFunction(function))
  return CUDA_SUCCESS;
}
CUresult cuFuncGetModule(CUmodule *module, CUfunction function) {
  ENTER(false) NEED(module && (function = asFunction(function)))
  *module = function->module;
  return CUDA_SUCCESS;
}
CUresult cuFuncGetName(const char **name, CUfunction function) {
  ENTER(false) NEED(name && (function = asFunction(function)))
  *name = function->name.c_str();
  return CUDA_SUCCESS;
}

} // extern "C"
