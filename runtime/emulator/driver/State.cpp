// runtime/emulator/driver/State.cpp - devices and contexts of the emulated driver.
#include "runtime/emulator/driver/State.h"
#include "runtime/emulator/ptx/Error.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace fovea::cu {

State &state() {
  static State *s = new State;  // never destroyed: programs call the driver from their own destructors
  return *s;
}

std::vector<CUctx_st *> &contextStack() {
  thread_local std::vector<CUctx_st *> stack;
  return stack;
}

CUctx_st *currentContext() {
  auto &s = contextStack();
  return s.empty() ? nullptr : s.back();
}

void say(const std::string &line, bool once) {
  static std::set<std::string> said;
  if (once && !said.insert(line).second)
    return;
  std::fprintf(stderr, "fovea emulator: %s\n", line.c_str());
}

CUresult notSupported(const char *function) {
  std::lock_guard<std::recursive_mutex> hold(state().lock);
  say(std::string(function) + " is not supported", true);
  return CUDA_ERROR_NOT_SUPPORTED;
}

Call::Call(bool needsContext) : hold(state().lock) {
  State &s = state();
  if (!s.initialised) {
    bad = CUDA_ERROR_NOT_INITIALIZED;
    return;
  }
  if (!needsContext)
    return;
  context = currentContext();
  if (!context || !s.contexts.count(context)) {
    bad = context ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
    return;
  }
  device = s.devices[size_t(context->device)].get();
  bad = context->sticky;
}

CUresult imageText(const void *image, std::string &text) {
  if (!image)
    return CUDA_ERROR_INVALID_VALUE;
  const auto *p = static_cast<const unsigned char *>(image);
  const unsigned char elf[] = {0x7f, 'E', 'L', 'F'}, fat[] = {0x50, 0xed, 0x55, 0xba};
  // Compare byte by byte: a text may be shorter than four bytes.
  auto starts = [&](const unsigned char *magic) {
    for (int k = 0; k < 4; ++k)
      if (p[k] != magic[k])
        return false;
    return true;
  };
  if (starts(elf) || starts(fat)) {
    say(std::string(starts(elf) ? "a cubin" : "a fat binary") + " was given; the emulator runs PTX text only");
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  text = static_cast<const char *>(image);
  return CUDA_SUCCESS;
}

CUresult loadModule(int device, const std::string &text, CUmodule *module, std::string *log) {
  Device &d = *state().devices[size_t(device)];
  auto m = std::make_unique<CUmod_st>();
  m->device = device;
  std::string message;
  try {
    m->program = std::make_unique<emulator::Program>(text, *d.chip, d.memory);
    for (const std::string &k : m->program->kernels())
      m->program->kernel(k);  // everything is decoded at load time, so that unknown instructions show now
    *module = m.release();
    return CUDA_SUCCESS;
  } catch (const ptx::LoadError &e) {
    message = e.what();
  } catch (const std::bad_alloc &) {
    message = "out of memory";
  } catch (const std::exception &e) {
    message = e.what();
  }
  say("cannot load PTX: " + message);
  if (log)
    *log = message;
  bool target = message.find(".target") != std::string::npos;
  return target ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_INVALID_PTX;
}

CUresult functionOf(CUmodule module, const std::string &name, CUfunction *function) {
  if (!module || !function)
    return CUDA_ERROR_INVALID_VALUE;
  auto it = module->functions.find(name);
  if (it == module->functions.end()) {
    const emulator::Code *code = module->program->kernel(name);
    if (!code)
      return CUDA_ERROR_NOT_FOUND;
    auto f = std::make_unique<CUfunc_st>();
    f->module = module;
    f->name = name;
    f->code = code;
    f->maxDynamicShared = code->staticShared < 49152 ? 49152 - code->staticShared : 0;
    state().functions.insert(f.get());
    it = module->functions.emplace(name, std::move(f)).first;
  }
  *function = it->second.get();
  return CUDA_SUCCESS;
}

} // namespace fovea::cu

using namespace fovea::cu;

extern "C" {

CUresult cuInit(unsigned flags) {
  State &s = state();
  std::lock_guard<std::recursive_mutex> hold(s.lock);
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  if (s.initialised)
    return CUDA_SUCCESS;
  const char *chips = std::getenv("FOVEA_EMULATE");
  std::stringstream list(chips && *chips ? chips : "sm_100a");
  std::string name;
  while (std::getline(list, name, ',')) {
    const fovea::emulator::Chip *chip = fovea::emulator::findChip(name);
    if (!chip) {
      say("FOVEA_EMULATE=" + name + ": unknown chip; sm_100a and sm_90a are emulated");
      s.devices.clear();
      return CUDA_ERROR_NO_DEVICE;
    }
    auto d = std::make_unique<Device>();
    d->chip = chip;
    d->primary.device = int(s.devices.size());
    d->primary.primary = true;
    s.devices.push_back(std::move(d));
  }
  s.initialised = true;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
  if (!name)
    return CUDA_ERROR_INVALID_VALUE;
  switch (int(error)) {
#define NAME_OF(NAME, VALUE)                                                                                           \
  case VALUE: *name = #NAME; return CUDA_SUCCESS;
    FOVEA_CU_RESULTS(NAME_OF)
#undef NAME_OF
  }
  *name = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  const char *name;
  CUresult r = cuGetErrorName(error, &name);
  if (r != CUDA_SUCCESS) {
    if (text)
      *text = nullptr;
    return r;
  }
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  // The name without its prefix, in small letters with blanks: enough for a reader.
  static std::map<int, std::string> texts;
  std::lock_guard<std::recursive_mutex> hold(state().lock);
  std::string &s = texts[int(error)];
  if (s.empty()) {
    std::string n = name;
    n = n.rfind("CUDA_ERROR_", 0) == 0 ? n.substr(11) : "no error";
    for (char &c : n)
      c = c == '_' ? ' ' : char(std::tolower(c));
    s = n;
  }
  *text = s.c_str();
  return CUDA_SUCCESS;
}

/// The report of the last kernel that found something: NUL-terminated text (or JSON) cut to `capacity`; returns the
/// full length.
__attribute__((visibility("default"))) size_t foveaEmulatorLastReport(char *to, size_t capacity, int json) {
  State &s = state();
  std::lock_guard<std::recursive_mutex> hold(s.lock);
  const std::string &text = json ? s.lastJson : s.lastText;
  if (to && capacity) {
    size_t n = std::min(capacity - 1, text.size());
    std::memcpy(to, text.data(), n);
    to[n] = 0;
  }
  return text.size();
}

} // extern "C"
