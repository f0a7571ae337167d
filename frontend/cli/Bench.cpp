// frontend/cli/Bench.cpp - `fovea bench`: compiled, prepared once, timed by events beside the device's own ceilings.
#include "dialect/Attn/Analysis.h"
#include "frontend/cli/Commands.h"
#include "frontend/cli/Session.h"
#include "runtime/core/Bench.h"
#include "runtime/core/Workload.h"

namespace fovea::cli {
using namespace attn;

/// Floating-point operations of one forward launch: 2 per element and product of every (query, key) pair that the
/// pattern lets through, times the query heads. 0 where the pairs of the pattern are not counted here.
static double forwardFlops(SpecOp spec, const WorkloadSize &size) {
  std::optional<int64_t> block = blockDiagonalSize(spec);
  if (!block)
    return 0;
  double pairs = 0;
  for (int64_t length : drawLengths(size)) {
    int64_t full = length / *block, rest = length % *block;
    pairs += double(full) * double(*block) * double(*block) + double(rest) * double(rest);
  }
  int64_t heads = 0, queryFeatures = 0, valueFeatures = 0;
  for (const Input &input : inputs(spec)) {
    if (input.name == "q")
      heads = input.heads, queryFeatures = input.features;
    if (input.name == "v")
      valueFeatures = input.features;
  }
  return heads > 0 ? pairs * double(heads) * 2 * double(queryFeatures + valueFeatures) : 0;
}

int benchCommand(const BenchArguments &arguments) {
  Expected<DeviceChoice> choice = chooseDevice(arguments.device, arguments.target);
  if (!choice)
    return fail(choice.message());
  Session session;
  LoadedSpec loaded = loadSpec(session, arguments.spec, *choice, arguments.backward);
  if (!loaded.kernels)
    return kFailure;

  double flops = forwardFlops(Session::forwardOf(*loaded.spec), arguments.size);
  std::vector<BenchResult> results;
  int64_t rows = 0;
  std::vector<std::string> operations = {"forward"};
  if (arguments.backward)
    operations.push_back("backward");
  for (const std::string &operation : operations) {
    Expected<Workload> workload = Workload::create(*loaded.kernels, operation, arguments.size);
    if (!workload)
      return fail(workload.message());
    LaunchOptions options;
    options.variant = operation == "forward" ? arguments.variant : "";
    Expected<PreparedLaunch> launch = loaded.kernels->prepare(operation, workload->tensors, options);
    if (!launch)
      return fail(launch.message());
    Expected<LaunchTimes> times = timeLaunches(choice->device, *launch, {arguments.warmup, arguments.repeats});
    if (!times)
      return fail(times.message());
    rows = workload->rows;
    // Two products forward; five backward, of which the scores are computed again.
    results.push_back({operation, launch->variant(), *times, double(workload->bytes), operation == "backward" ? 2.5 * flops : flops});
  }
  Expected<Ceilings> ceilings = measureCeilings(choice->device);
  if (!ceilings)
    return fail(ceilings.message());
  if (arguments.json)
    llvm::outs() << benchJson(choice->device, results, *ceilings);
  else
    llvm::outs() << choice->device.description() << "\n"
                 << arguments.size.batch << " sequences of " << arguments.size.shortest << " to "
                 << arguments.size.longest << " rows, " << rows << " in all; median (fastest to slowest) of "
                 << arguments.repeats << " launches after " << arguments.warmup << "\n"
                 << (choice->device.driver().isEmulator ? "these are times of the emulator, not of a chip\n" : "")
                 << benchTable(results, *ceilings);
  return kSuccess;
}

} // namespace fovea::cli
