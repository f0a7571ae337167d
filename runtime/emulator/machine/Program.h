// runtime/emulator/machine/Program.h - a loaded PTX module: variables placed in memory, kernels decoded on demand.
#pragma once
#include "runtime/emulator/machine/Machine.h"
#include "runtime/emulator/ptx/Module.h"
#include <algorithm>

namespace fovea::emulator {

/// The chips that are emulated, with the limits a launch is checked against.
struct Chip {
  const char *name;      ///< "sm_100a"
  int major, minor;
  uint32_t smCount;
  uint32_t sharedPerBlock, sharedPerSm;  ///< bytes a block may ask for; bytes an SM has
  uint32_t registersPerSm, threadsPerSm, blocksPerSm;
  uint64_t memoryBytes;
  uint32_t l2Bytes;
};
/// Null for a chip that is not emulated.
const Chip *findChip(const std::string &name);

class Program {
public:
  /// Parses, checks the target, places global variables. Throws ptx::LoadError.
  Program(std::string text, const Chip &chip, AddressSpace &memory);
  ~Program();
  Program(const Program &) = delete;
  /// Decoded code of a kernel, null when there is none of this name. Throws ptx::LoadError.
  const Code *kernel(const std::string &name);
  std::vector<std::string> kernels() const;
  /// Address and size of a global or constant variable; false when there is none.
  bool variable(const std::string &name, uint64_t &address, uint64_t &bytes) const;
  /// Checks the launch against the kernel and the chip ("" when it may run), then runs it.
  std::string checkLaunch(const Code &code, const LaunchConfig &config) const;
  Report run(const Code &code, const LaunchConfig &config);
  const Chip &chip() const { return target; }
  AddressSpace &space() const { return memory; }
  const std::string &text() const { return module->text; }
  /// True for the address of one of the module's own variables.
  bool owns(uint64_t address) const { return std::find(addresses.begin(), addresses.end(), address) != addresses.end(); }

private:
  const Chip &target;
  AddressSpace &memory;
  std::unique_ptr<ptx::Module> module;
  std::vector<uint64_t> addresses;  ///< per module variable, 0 where it has none
  std::map<std::string, std::unique_ptr<Code>> decoded;
  std::mutex lock;
};

} // namespace fovea::emulator
