// frontend/cli/Commands.h - the commands of `fovea`, each from its options to its exit code.
#pragma once

#include "frontend/cli/Inputs.h"
#include "runtime/core/Workload.h"

#include <map>
#include <string>

namespace fovea::cli {

struct CompileArguments {
  std::string spec, target = "sm_100a", emit, output; ///< emit: a phase, ptx, manifest, header; empty: all three files
};
int compileCommand(const CompileArguments &arguments);

struct CheckArguments {
  std::string spec, target, device = "emulator";
  std::string async; ///< how the emulator completes asynchronous work; empty: its default
  std::string variant; ///< of the forward kernel; empty: each
  BatchSize size;
  bool backward = false, json = false;
};
int checkCommand(const CheckArguments &arguments);

/// Times on a device; with the emulator they are the emulator's own.
struct BenchArguments {
  std::string spec, target, device = "cuda:0";
  std::string variant; ///< of the forward kernel; empty: the launch's choice
  WorkloadSize size;
  int warmup = 10, repeats = 50;
  bool backward = false, json = false;
};
int benchCommand(const BenchArguments &arguments);

struct RunArguments {
  std::string spec, target, device = "emulator", output;
  std::string variant; ///< as for bench
  std::map<std::string, std::string> files; ///< input name -> .npy
  bool backward = false;
};
int runCommand(const RunArguments &arguments);

struct EvalArguments {
  std::string spec, output;
  std::map<std::string, std::string> files;
  bool random = false, backward = false, json = false;
  BatchSize size;
};
int evalCommand(const EvalArguments &arguments);

struct ExplainArguments {
  std::string spec, target = "sm_100a";
  bool json = false;
};
int explainCommand(const ExplainArguments &arguments);

int fmtCommand(const std::string &spec);
int devicesCommand(bool json);

} // namespace fovea::cli
