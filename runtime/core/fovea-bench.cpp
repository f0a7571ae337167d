// runtime/core/fovea-bench.cpp - times the kernels of a compiled spec where no compiler is: `fovea bench` from artefacts.
#include "runtime/core/Bench.h"
#include "runtime/core/Workload.h"

#include <cstdio>
#include <cstdlib>

using namespace fovea;

static const char *usage =
    "usage: fovea-bench MANIFEST.json [--device cuda:0] [--operation forward] [--variant NAME] [--batch N] [--lengths A:B|LIST] [--seed N]\n"
    "                   [--i64-offsets] [--no-tile-list] [--warmup N] [--repeats N] [--no-ceilings] [--json]\n"
    "Times every operation of the manifest (or the one named) on random sequences: medians of events after warm-up.\n";

struct Options {
  std::string manifest, device = "cuda:0", operation, variant;
  WorkloadSize size;
  BenchOptions bench;
  bool ceilings = true, json = false;
};

static Expected<Options> parse(int argc, char **argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    std::string a = argv[i];
    auto number = [&](auto &value) -> Expected<void> {
      char *end = nullptr;
      long long n = i + 1 < argc ? std::strtoll(argv[++i], &end, 10) : 0;
      if (!end || end == argv[i] || *end || n < 0)
        return Error{"'" + a + "' needs a number"};
      value = std::decay_t<decltype(value)>(n);
      return {};
    };
    Expected<void> ok;
    if (a == "--batch") ok = number(o.size.batch);
    else if (a == "--seed") ok = number(o.size.seed);
    else if (a == "--warmup") ok = number(o.bench.warmup);
    else if (a == "--repeats") ok = number(o.bench.repeats);
    else if (a == "--i64-offsets") o.size.wideOffsets = true;
    else if (a == "--no-tile-list") o.size.tileList = false;
    else if (a == "--no-ceilings") o.ceilings = false;
    else if (a == "--json") o.json = true;
    else if ((a == "--device" || a == "--operation" || a == "--variant" || a == "--lengths") && i + 1 < argc) {
      std::string v = argv[++i];
      if (a == "--device") o.device = v;
      else if (a == "--operation") o.operation = v;
      else if (a == "--variant") o.variant = v;
      else {
        Expected<Lengths> lengths = parseLengths(v);
        if (!lengths)
          return Error{"--lengths: " + lengths.message()};
        o.size.shortest = lengths->shortest, o.size.longest = lengths->longest, o.size.listed = lengths->listed;
      }
    } else if (a.empty() || a[0] == '-' || !o.manifest.empty())
      return Error{"unexpected argument '" + a + "'"};
    else
      o.manifest = a;
    if (!ok)
      return ok.error();
  }
  if (o.manifest.empty())
    return Error{"no manifest given"};
  if (!o.size.listed.empty())
    o.size.batch = int64_t(o.size.listed.size());
  return o;
}

static Expected<void> run(const Options &o) {
  Expected<Device> device = Device::open(o.device);
  Expected<Module> module = device ? Module::load(*device, o.manifest) : Expected<Module>(device.error());
  if (!module)
    return module.error();
  std::vector<std::string> operations;
  for (const KernelSpec &kernel : module->manifest().kernels)
    if ((o.operation.empty() || kernel.name == o.operation) && (operations.empty() || operations.back() != kernel.name))
      operations.push_back(kernel.name);
  if (operations.empty())
    operations.push_back(o.operation); // refused below by name
  std::vector<BenchResult> results;
  for (const std::string &operation : operations) {
    Expected<Workload> workload = Workload::create(*module, operation, o.size);
    if (!workload)
      return workload.error();
    LaunchOptions options;
    if (operation == "forward")
      options.variant = o.variant;
    Expected<PreparedLaunch> launch = module->prepare(operation, workload->tensors, options);
    if (!launch)
      return launch.error();
    Expected<LaunchTimes> times = timeLaunches(*device, *launch, o.bench);
    if (!times)
      return times.error();
    results.push_back({operation, launch->variant(), *times, double(workload->bytes), 0});
  }
  Expected<Ceilings> ceilings = o.ceilings ? measureCeilings(*device) : Expected<Ceilings>(Ceilings());
  if (!ceilings)
    return ceilings.error();
  std::string text = o.json ? benchJson(*device, results, *ceilings)
                            : device->description() + "\n" + benchTable(results, *ceilings);
  std::fputs(text.c_str(), stdout);
  return {};
}

int main(int argc, char **argv) {
  Expected<Options> options = parse(argc, argv);
  if (!options) {
    std::fprintf(stderr, "fovea-bench: %s\n%s", options.message().c_str(), usage);
    return 2;
  }
  if (auto ok = run(*options); !ok) {
    std::fprintf(stderr, "fovea-bench: error: %s\n", ok.message().c_str());
    return 1;
  }
  return 0;
}
