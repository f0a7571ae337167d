// frontend/cli/Explain.cpp - `fovea explain` and `fovea devices`.
#include "frontend/cli/Commands.h"
#include "frontend/cli/Session.h"

#include <llvm/Support/JSON.h>

namespace fovea::cli {

static llvm::json::Object toJson(const Candidate &candidate) {
  llvm::json::Object object{{"name", candidate.name}};
  if (!candidate.refusal.empty()) {
    object["refusal"] = candidate.refusal;
    return object;
  }
  const Cost &cost = candidate.cost;
  object["clocks_per_item"] = cost.period();
  object["bound"] = cost.bound();
  object["memory"] = cost.memory;
  object["tensor"] = cost.tensor;
  object["exponential"] = cost.exponential;
  object["chain"] = cost.chain;
  object["items_in_flight"] = cost.items;
  return object;
}

static void printCandidates(const std::vector<Candidate> &candidates) {
  llvm::outs() << llvm::formatv("{0,-44} {1,8} {2,8} {3,8} {4,8} {5,8} {6,7}  {7}\n", "schedule", "clocks", "memory",
                                "tensor", "ex2", "chain", "flying", "bound");
  for (const Candidate &c : candidates) {
    if (c.refusal.empty())
      llvm::outs() << llvm::formatv("{0,-44} {1,8:F0} {2,8:F0} {3,8:F0} {4,8:F0} {5,8:F0} {6,7:F0}  {7}\n", c.name,
                                    c.cost.period(), c.cost.memory, c.cost.tensor, c.cost.exponential, c.cost.chain,
                                    c.cost.items, c.cost.bound());
    else
      llvm::outs() << llvm::formatv("{0,-44} refused: {1}\n", c.name, c.refusal);
  }
}

int explainCommand(const ExplainArguments &arguments) {
  if (!findTarget(arguments.target)) {
    llvm::errs() << "fovea: error: unknown target '" << arguments.target << "'; known are " << targetNames() << "\n";
    return kUsage;
  }
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module = session.read(arguments.spec, arguments.target);
  if (!module)
    return kFailure;
  CompileOptions options;
  options.target = arguments.target;
  llvm::Expected<CompiledSpec> compiled = compile(*module, options);
  if (!compiled)
    return fail(llvm::toString(compiled.takeError()));
  const KernelSpec &kernel = compiled->manifest.kernels.front();
  const std::vector<Candidate> &candidates = compiled->candidates;
  if (arguments.json) {
    llvm::json::Array list;
    for (const Candidate &candidate : candidates)
      list.push_back(toJson(candidate));
    llvm::json::Array phases;
    for (const auto &[phase, time] : compiled->milliseconds)
      phases.push_back(llvm::json::Object{{"phase", phase}, {"milliseconds", time}});
    llvm::outs() << llvm::formatv(
        "{0:2}\n", llvm::json::Value(llvm::json::Object{{"spec", compiled->manifest.spec},
                                                        {"target", arguments.target},
                                                        {"threads", kernel.block[0]},
                                                        {"dynamic_smem", kernel.dynamicSmem},
                                                        {"tmem_columns", kernel.tmemColumns},
                                                        {"ctas_per_sm", kernel.ctasPerSm},
                                                        {"grid", kernel.grid[0].text()},
                                                        {"candidates", std::move(list)},
                                                        {"phases", std::move(phases)}}));
    return kSuccess;
  }
  llvm::outs() << compiled->manifest.spec << " on " << arguments.target << ": " << candidates.front().name << "\n"
               << "  " << kernel.block[0] << " threads, " << kernel.dynamicSmem << " bytes of shared memory, "
               << kernel.tmemColumns << " columns of tensor memory, " << kernel.ctasPerSm << " CTAs per SM, grid "
               << kernel.grid[0].text() << "\n\n";
  llvm::outs() << "why: modelled clocks per work item on one SM; the largest of its units, or the chain of one item "
                  "shared by the items in flight\n";
  printCandidates(candidates);
  return kSuccess;
}

int devicesCommand(bool json) {
  DeviceList list = listDevices();
  if (json) {
    llvm::json::Array devices, notes;
    for (const Device &device : list.devices) {
      const DeviceFacts &f = device.facts();
      devices.push_back(llvm::json::Object{
          {"device", device.spec()},
          {"name", f.name},
          {"compute", std::to_string(f.computeMajor) + "." + std::to_string(f.computeMinor)},
          {"sms", f.sms},
          {"memory_bytes", int64_t(f.memory)},
          {"target", f.target ? llvm::json::Value(std::string(f.target->name)) : llvm::json::Value(nullptr)}});
    }
    for (const std::string &note : list.notes)
      notes.push_back(note);
    llvm::outs() << llvm::formatv("{0:2}\n", llvm::json::Value(llvm::json::Object{{"devices", std::move(devices)},
                                                                                 {"notes", std::move(notes)}}));
  } else {
    for (const Device &device : list.devices)
      llvm::outs() << device.description() << "\n";
    for (const std::string &note : list.notes)
      llvm::outs() << "note: " << note << "\n";
  }
  return list.devices.empty() ? kFailure : kSuccess;
}

} // namespace fovea::cli
