// runtime/emulator/driver/State.h - devices, contexts, modules and streams behind the emulated CUDA Driver API.
#pragma once
#include "runtime/driver/cuda_abi.h"
#include "runtime/emulator/machine/Program.h"
#include <chrono>
#include <set>
#include <string>

namespace fovea::cu {

struct Function {
  struct CUmod_st *module = nullptr;
  std::string name;
  const emulator::Code *code = nullptr;
  uint32_t maxDynamicShared = 0;
  bool nonPortableCluster = false;
};

} // namespace fovea::cu

// The opaque handles of the ABI.
namespace fovea::cu {
struct CUctx_st {
  int device = 0;
  bool primary = false, alive = true;
  unsigned flags = 0;
  CUresult sticky = CUDA_SUCCESS;  ///< a failed kernel spoils its context
};
struct CUfunc_st : Function {};
struct CUmod_st {
  int device = 0;
  std::unique_ptr<emulator::Program> program;
  std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
};
struct CUkern_st {
  struct CUlib_st *library = nullptr;
  std::string name;
};
struct CUlib_st {
  std::string text;
  std::map<int, CUmodule> modules;  ///< per device, loaded on first use
  std::map<std::string, std::unique_ptr<CUkern_st>> kernels;
};
struct CUstream_st { unsigned flags = 0; int priority = 0; };
struct CUevent_st { bool recorded = false; std::chrono::steady_clock::time_point time; };
struct CUlinkState_st { std::string text; };

struct Device {
  const emulator::Chip *chip = nullptr;
  emulator::AddressSpace memory;
  CUctx_st primary;
  int primaryUses = 0;
};

/// Everything, made by cuInit from the environment: FOVEA_EMULATE lists the chips (one device each).
struct State {
  std::vector<std::unique_ptr<Device>> devices;
  std::set<CUctx_st *> contexts;
  std::set<CUlib_st *> libraries;
  std::set<CUfunc_st *> functions;
  std::map<void *, std::unique_ptr<uint8_t[]>> hostMemory;
  std::recursive_mutex lock;
  std::string lastText, lastJson;
  bool initialised = false;
};
State &state();

/// The calling thread's context, or null.
CUctx_st *currentContext();
std::vector<CUctx_st *> &contextStack();

/// Locks the state and checks what nearly every call needs: initialisation, a live context without a spoiled kernel.
struct Call {
  std::unique_lock<std::recursive_mutex> hold;
  CUctx_st *context = nullptr;
  Device *device = nullptr;
  CUresult bad = CUDA_SUCCESS;
  explicit Call(bool needsContext = true);
};

/// One line on stderr, prefixed; `once` suppresses repeats.
void say(const std::string &line, bool once = false);
CUresult notSupported(const char *function);
/// Loads PTX text (or refuses an image that is no PTX) for a device; the message goes to stderr and `log`.
CUresult loadModule(int device, const std::string &text, CUmodule *module, std::string *log);
/// PTX text of an image: NUL-terminated; "" with an error for cubins and fat binaries.
CUresult imageText(const void *image, std::string &text);
CUresult functionOf(CUmodule module, const std::string &name, CUfunction *function);
/// Kernels are passed where functions are asked for (CUDA 12); both are accepted.
CUfunction asFunction(CUfunction f);

} // namespace fovea::cu
