// runtime/emulator/machine/Program.cpp - a loaded PTX module.
#include "runtime/emulator/machine/Program.h"
#include "runtime/emulator/machine/Decoder.h"
#include <cstring>

namespace fovea::emulator {

const Chip *findChip(const std::string &name) {
  static const Chip chips[] = {
      {"sm_100a", 10, 0, 148, 232448, 233472, 65536, 2048, 32, uint64_t(192) << 30, 132644864},
      {"sm_90a", 9, 0, 132, 232448, 233472, 65536, 2048, 32, uint64_t(141) << 30, 62914560},
  };
  for (const Chip &c : chips)
    if (name == c.name)
      return &c;
  return nullptr;
}

/// A module for an older or the same chip runs; an architecture-specific one only on its own.
static bool targetRuns(const std::string &target, const Chip &chip) {
  if (target.substr(0, 3) != "sm_")
    return false;
  size_t end = 3;
  while (end < target.size() && target[end] >= '0' && target[end] <= '9')
    ++end;
  int number = std::atoi(target.substr(3, end - 3).c_str()), own = chip.major * 10 + chip.minor;
  std::string suffix = target.substr(end);
  if (suffix == "a")
    return number == own;
  if (suffix == "f")
    return number / 10 == chip.major && number <= own;
  return suffix.empty() && number <= own;
}

static constexpr uint64_t kMaxVariableBytes = uint64_t(1) << 30, kMaxLocalBytes = uint64_t(256) << 20;

Program::Program(std::string text, const Chip &chip, AddressSpace &memory) : target(chip), memory(memory) {
  module = ptx::parse(std::move(text));
  if (!targetRuns(module->target, chip))
    throw ptx::LoadError(1, ".target " + module->target + " does not run on " + chip.name, "");
  addresses.assign(module->variables.size(), 0);
  uint64_t total = 0;
  for (size_t k = 0; k < module->variables.size(); ++k) {
    ptx::Variable &v = module->variables[k];
    if (v.space != ptx::Space::Global && v.space != ptx::Space::Const)
      continue;
    if (v.external && v.init.empty() && !v.bytes)
      continue;
    // A chip has room for more, but the host's memory is what is at stake here.
    if (v.bytes > kMaxVariableBytes - total)
      throw ptx::LoadError(v.line, "variable '" + v.name + "' takes the module's variables beyond " + std::to_string(kMaxVariableBytes) + " bytes", module->lineText(v.line));
    if (v.init.size() > v.bytes)
      throw ptx::LoadError(v.line, "variable '" + v.name + "' has " + std::to_string(v.bytes) + " bytes, its initialiser " + std::to_string(v.init.size()), module->lineText(v.line));
    if (v.align > (1u << 20))
      throw ptx::LoadError(v.line, "variable '" + v.name + "' asks for an alignment of more than 1 MiB", module->lineText(v.line));
    total += v.bytes;
    addresses[k] = memory.allocate(std::max<uint64_t>(v.bytes, 1), v.name, v.align);
    // Variables without an initialiser are zero.
    if (v.bytes)
      std::memset(memory.at(addresses[k], v.bytes, "write"), 0, v.bytes);
    if (!v.init.empty())
      memory.write(addresses[k], v.init.data(), size_t(std::min<uint64_t>(v.init.size(), v.bytes)));
  }
  for (size_t k = 0; k < module->variables.size(); ++k)
    for (const ptx::Variable::Fixup &f : module->variables[k].fixups) {
      auto it = module->variableIndex.find(f.symbol);
      if (it == module->variableIndex.end() || !addresses[it->second] || !addresses[k])
        throw ptx::LoadError(module->variables[k].line, "the initialiser names '" + f.symbol + "', which has no address", module->lineText(module->variables[k].line));
      uint64_t v = (addresses[it->second] + uint64_t(f.add)) >> f.shift;
      if (f.at + f.bytes <= module->variables[k].bytes)
        memory.write(addresses[k] + f.at, &v, std::min<size_t>(f.bytes, 8));
    }
}

Program::~Program() {
  for (uint64_t a : addresses)
    if (a)
      memory.release(a);
}

std::vector<std::string> Program::kernels() const {
  std::vector<std::string> out;
  for (const ptx::Function &f : module->functions)
    if (f.entry)
      out.push_back(f.name);
  return out;
}

const Code *Program::kernel(const std::string &name) {
  std::lock_guard<std::mutex> hold(lock);
  auto it = decoded.find(name);
  if (it != decoded.end())
    return it->second.get();
  auto f = module->functionIndex.find(name);
  if (f == module->functionIndex.end() || !module->functions[f->second].entry)
    return nullptr;
  ModuleLayout layout;
  layout.globals = addresses;
  layout.smArch = target.major * 10 + target.minor;
  auto code = Decoder(*module, module->functions[f->second], layout).run();
  return decoded.emplace(name, std::move(code)).first->second.get();
}

bool Program::variable(const std::string &name, uint64_t &address, uint64_t &bytes) const {
  auto it = module->variableIndex.find(name);
  if (it == module->variableIndex.end() || !addresses[it->second])
    return false;
  address = addresses[it->second];
  bytes = module->variables[it->second].bytes;
  return true;
}

std::string Program::checkLaunch(const Code &code, const LaunchConfig &c) const {
  auto triple = [](const uint32_t *v) { return "(" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]) + ")"; };
  uint64_t threads = uint64_t(c.block[0]) * c.block[1] * c.block[2];
  for (int k = 0; k < 3; ++k) {
    if (!c.grid[k] || !c.block[k] || !c.cluster[k])
      return "grid, block and cluster sizes must be positive";
    if (c.grid[k] % c.cluster[k])
      return "the grid " + triple(c.grid) + " is not a multiple of the cluster " + triple(c.cluster);
    if (code.reqntid[k] && c.block[k] != code.reqntid[k])
      return "the kernel requires a block of " + triple(code.reqntid) + " threads (.reqntid), the launch has " + triple(c.block);
    if (code.cluster[k] && c.cluster[k] != code.cluster[k])
      return "the kernel requires a cluster of " + triple(code.cluster) + " blocks (.reqnctapercluster), the launch has " + triple(c.cluster);
  }
  if (c.grid[1] > 65535 || c.grid[2] > 65535 || c.grid[0] > 0x7fffffffu)
    return "the grid " + triple(c.grid) + " is too large";
  if (threads > 1024 || c.block[2] > 64)
    return "a block has at most 1024 threads, the launch has " + std::to_string(threads);
  if (code.maxntid[0] && threads > uint64_t(code.maxntid[0]) * std::max(1u, code.maxntid[1]) * std::max(1u, code.maxntid[2]))
    return "the kernel allows at most " + triple(code.maxntid) + " threads (.maxntid), the launch has " + triple(c.block);
  uint64_t cluster = uint64_t(c.cluster[0]) * c.cluster[1] * c.cluster[2];
  if (cluster > 16)
    return "a cluster has at most 16 blocks, the launch has " + std::to_string(cluster);
  if (uint64_t(code.staticShared) + c.dynamicShared > target.sharedPerBlock)
    return "shared memory: " + std::to_string(code.staticShared) + " static and " + std::to_string(c.dynamicShared) +
           " dynamic bytes exceed the " + std::to_string(target.sharedPerBlock) + " that a block may have";
  if (uint64_t(code.localBytes) * threads > kMaxLocalBytes)
    return "local memory: " + std::to_string(code.localBytes) + " bytes of each of " + std::to_string(threads) + " threads exceed the " +
           std::to_string(kMaxLocalBytes) + " that a block may have here";
  if (c.params.size() != code.paramBytes)
    return "the kernel takes " + std::to_string(code.paramBytes) + " bytes of parameters, the launch has " + std::to_string(c.params.size());
  return "";
}

Report Program::run(const Code &code, const LaunchConfig &config) {
  std::string bad = checkLaunch(code, config);
  if (!bad.empty()) {
    Report r;
    Finding f;
    f.message = "launch: " + bad;
    f.kind = "launch";
    f.kernel = code.name;
    r.findings.push_back(f);
    return r;
  }
  return runKernel(code, config, memory, [this](uint32_t line) { return module->lineText(int(line)); },
                   [this](uint32_t file) {
                     auto it = module->files.find(int(file));
                     return it == module->files.end() ? std::string() : it->second;
                   });
}

} // namespace fovea::emulator
