// frontend/cli/fovea.cpp - the command line of `fovea`: options in clang's manner, one subcommand per question.
#include "frontend/cli/Commands.h"
#include "frontend/cli/Session.h"
#ifdef FOVEA_HAS_EMULATOR
#include "runtime/emulator/driver/EmulateCommand.h"
#endif

#include <llvm/ADT/StringExtras.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/InitLLVM.h>

using namespace fovea;
using namespace fovea::cli;
namespace cl = llvm::cl;

static cl::SubCommand compileSub("compile", "compile a spec to PTX, manifest and header");
static cl::SubCommand checkSub("check", "compile, run on random data, compare every output with the f64 meaning");
static cl::SubCommand benchSub("bench", "compile and time on random data, beside ceilings measured in the same run");
static cl::SubCommand runSub("run", "run a spec's kernel on .npy files: --q q.npy --k k.npy ... -o DIR");
static cl::SubCommand evalSub("eval", "the f64 meaning of a spec, on random data or .npy files");
static cl::SubCommand explainSub("explain", "what the kernel is made of, and why this schedule");
static cl::SubCommand fmtSub("fmt", "print a spec in canonical form");
static cl::SubCommand devicesSub("devices", "list the devices that kernels can run on");
// The emulator's own command: its arguments are not read here (fovea emulate --help).
static cl::SubCommand emulateSub("emulate", "run any PTX without a GPU: KERNEL.ptx --launch launch.json [--trace FILE] ...");

static cl::OptionCategory category("options");

static cl::opt<std::string> spec(cl::Positional, cl::desc("SPEC"), cl::Required, cl::cat(category), cl::sub(compileSub),
                                 cl::sub(checkSub), cl::sub(benchSub), cl::sub(runSub), cl::sub(evalSub), cl::sub(explainSub),
                                 cl::sub(fmtSub));
static cl::opt<std::string> target("target", cl::desc("sm_100a or sm_90a (compile, explain: sm_100a; check, run: the "
                                                      "device's)"),
                                   cl::cat(category), cl::sub(compileSub), cl::sub(checkSub), cl::sub(benchSub), cl::sub(runSub),
                                   cl::sub(explainSub));
static cl::opt<std::string> emit("emit", cl::cat(category), cl::sub(compileSub),
                                 cl::desc("ast, attn, grad, schedule, tile, alloc, sync, nvvm, ptx, manifest, header; "
                                          "default: PTX, manifest and header, as files"));
static cl::opt<std::string> output("o", cl::cat(category), cl::value_desc("PATH"), cl::sub(compileSub), cl::sub(runSub),
                                   cl::sub(evalSub), cl::desc("a file with --emit, else a folder"));
static cl::opt<std::string> device("device", cl::init("emulator"), cl::cat(category), cl::sub(checkSub), cl::sub(benchSub),
                                   cl::sub(runSub), cl::desc("emulator, emulator:TARGET or cuda:N (check, run: the emulator; bench: cuda:0)"));
static cl::opt<std::string> batch("batch", cl::value_desc("N"), cl::cat(category), cl::sub(checkSub), cl::sub(benchSub), cl::sub(evalSub),
                              cl::desc("sequences (8)"));
static cl::list<std::string> lengths("lengths", cl::cat(category), cl::value_desc("[NAME=]A:B|LIST"), cl::sub(checkSub),
                                     cl::sub(benchSub), cl::sub(evalSub),
                                     cl::desc("rows of a sequence, drawn from A to B (1:256), or of each: 140x500,65536; with the "
                                              "name of an offsets table or of dense rows, of these (check, eval): --lengths "
                                              "q_offsets=1:4 --lengths kv_offsets=900:1000"));
static cl::opt<std::string> seq("seq", cl::value_desc("N"), cl::cat(category), cl::sub(checkSub), cl::sub(benchSub), cl::sub(evalSub),
                            cl::desc("rows of every sequence, instead of --lengths"));
static cl::opt<std::string> seed("seed", cl::value_desc("N"), cl::cat(category), cl::sub(checkSub), cl::sub(benchSub), cl::sub(evalSub),
                              cl::desc("of the random data (0)"));
static cl::opt<bool> wide("i64-offsets", cl::cat(category), cl::sub(checkSub), cl::sub(benchSub), cl::sub(evalSub),
                          cl::desc("int64 offsets instead of int32"));
static cl::opt<std::string> async("async", cl::cat(category), cl::sub(checkSub),
                                  cl::desc("when the emulator completes asynchronous work: lazy, eager, random"));
static cl::opt<bool> backward("backward", cl::cat(category), cl::sub(checkSub), cl::sub(benchSub), cl::sub(runSub), cl::sub(evalSub),
                              cl::desc("the gradients"));
static cl::opt<std::string> variant("variant", cl::value_desc("NAME"), cl::cat(category), cl::sub(checkSub), cl::sub(benchSub), cl::sub(runSub),
                                    cl::desc("of the forward kernel (explain lists them); default: check: each, bench and run: the "
                                             "one that the launch chooses"));
static cl::opt<bool> noTileList("no-tile-list", cl::cat(category), cl::sub(benchSub),
                                cl::desc("let kernels search the offsets for their tiles, where they could be given a list"));
static cl::opt<std::string> warmup("warmup", cl::value_desc("N"), cl::cat(category), cl::sub(benchSub),
                           cl::desc("launches before the timed ones (10)"));
static cl::opt<std::string> repeats("repeats", cl::value_desc("N"), cl::cat(category), cl::sub(benchSub),
                            cl::desc("timed launches (50)"));
static cl::opt<bool> random_("random", cl::cat(category), cl::sub(evalSub), cl::desc("draw the inputs"));
static cl::opt<bool> json("json", cl::cat(category), cl::sub(checkSub), cl::sub(benchSub), cl::sub(evalSub), cl::sub(explainSub),
                          cl::sub(devicesSub), cl::desc("print tables as JSON"));

static const std::pair<const char *, cl::SubCommand *> kCommands[] = {
    {"compile", &compileSub}, {"check", &checkSub}, {"bench", &benchSub}, {"run", &runSub},        {"eval", &evalSub},
    {"explain", &explainSub}, {"fmt", &fmtSub},     {"devices", &devicesSub}, {"emulate", &emulateSub}};

static int usage(const std::string &text) {
  llvm::errs() << "fovea: error: " << text << "; see fovea --help\n";
  return kUsage;
}

static void printVersion(llvm::raw_ostream &os) {
  os << "fovea " << FOVEA_VERSION << " (LLVM " << LLVM_VERSION_STRING << "; targets " << targetNames() << ")\n";
}

/// Takes the inputs of `run` and `eval` out of the arguments: any `--NAME FILE.npy` or `--NAME=FILE.npy`. What the
/// inputs are called is the spec's business, so they cannot be options that are known in advance.
static Expected<std::map<std::string, std::string>> takeFiles(std::vector<const char *> &arguments) {
  std::map<std::string, std::string> files;
  std::vector<const char *> rest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    llvm::StringRef argument = arguments[i];
    bool named = argument.consume_front("--") && !argument.empty();
    auto [name, value] = argument.split('=');
    // An archive is no tensor, but who passes one is told so by name.
    auto isFile = [](llvm::StringRef text) { return text.ends_with(".npy") || text.ends_with(".npz"); };
    std::string file;
    if (named && isFile(value))
      file = value.str();
    else if (named && value.empty() && i + 1 < arguments.size() && isFile(arguments[i + 1]))
      file = arguments[++i];
    if (file.empty())
      rest.push_back(arguments[i]);
    else if (auto [before, fresh] = files.emplace(name, file); !fresh)
      return Error{"--" + name.str() + " is given twice: " + before->second + " and " + file};
  }
  arguments = rest;
  return files;
}

/// What is left of them may be options; a name that is none was meant for an input.
static std::string strayName(const std::vector<const char *> &arguments, cl::SubCommand &command) {
  const auto &options = cl::getRegisteredOptions(command);
  for (size_t i = 2; i < arguments.size(); ++i) {
    llvm::StringRef argument = arguments[i];
    if (!argument.consume_front("--") || argument.empty())
      continue;
    auto [name, value] = argument.split('=');
    if (options.contains(name))
      continue;
    const bool joined = argument.contains('=');
    const std::string found = joined ? "'" + value.str() + "'" : i + 1 < arguments.size() ? "'" + std::string(arguments[i + 1]) + "'" : "nothing";
    return "--" + name.str() + " is no option, and as an input of the spec it takes a .npy file, found " + found;
  }
  return "";
}

/// Sets `value` if the option was given. Options are text, since LLVM's parsers of numbers are final and name C++ types.
template <typename T> static Expected<void> setNumber(const cl::opt<std::string> &option, T &value, T least = 0) {
  if (!option.getNumOccurrences() || (llvm::to_integer(option.getValue(), value, 10) && value >= least))
    return {};
  return Error{"expected --" + option.ArgStr.str() + " of " + std::to_string(least) + " to " +
               std::to_string(std::numeric_limits<T>::max()) + ", found '" + option + "'"};
}

static Expected<BatchSize> batchSize() {
  BatchSize size;
  size.wideOffsets = wide;
  size.batchGiven = batch.getNumOccurrences() > 0;
  int64_t rows = 0;
  for (const Expected<void> &set : {setNumber(batch, size.batch), setNumber(seq, rows), setNumber(seed, size.seed)})
    if (!set)
      return set.error();
  if (seq.getNumOccurrences())
    size.shortest = size.longest = rows;
  bool all = false;
  for (const std::string &text : lengths) {
    auto [name, value] = llvm::StringRef(text).rsplit('=');
    const bool isNamed = llvm::StringRef(text).contains('=');
    Expected<Lengths> parsed = parseLengths(isNamed ? value.str() : text);
    if (!parsed)
      return Error{"--lengths: " + parsed.message()};
    if (isNamed) {
      if (!size.named.emplace(name.str(), *parsed).second)
        return Error{"--lengths gives the rows of '" + name.str() + "' twice"};
      continue;
    }
    if (all)
      return Error{"--lengths gives all rows twice; rows of their own have a name: --lengths NAME=" + text};
    if (seq.getNumOccurrences())
      return Error{"--lengths and --seq exclude each other"};
    all = true;
    size.shortest = parsed->shortest, size.longest = parsed->longest, size.listed = parsed->listed;
    if (!size.listed.empty() && size.batchGiven && size.batch != int64_t(size.listed.size()))
      return Error{"--lengths lists " + std::to_string(size.listed.size()) + " sequences, --batch says " + std::to_string(size.batch)};
    if (!size.listed.empty())
      size.batch = int64_t(size.listed.size());
  }
  return size;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  std::vector<const char *> arguments(argv, argv + argc);
  llvm::StringRef command = argc > 1 ? argv[1] : "";
  bool known = command.empty() || command.starts_with("-");
  for (auto [name, sub] : kCommands)
    known |= command == name;
  if (!known)
    return usage("unknown command '" + command.str() + "'; expected compile, check, bench, run, eval, explain, fmt, devices or emulate");
  if (command == "emulate") {
#ifdef FOVEA_HAS_EMULATOR
    return emulator::emulateCommand("fovea emulate", argc - 2, argv + 2);
#else
    return usage("this build has no emulator (it was configured with -DFOVEA_EMULATOR=OFF)");
#endif
  }
  std::map<std::string, std::string> files;
  if (command == "run" || command == "eval") {
    Expected<std::map<std::string, std::string>> taken = takeFiles(arguments);
    if (!taken)
      return usage(taken.message());
    files = *taken;
    if (std::string wrong = strayName(arguments, command == "run" ? runSub : evalSub); !wrong.empty())
      return usage(wrong);
  }

  cl::SetVersionPrinter(printVersion);
  for (auto [name, sub] : kCommands)
    cl::HideUnrelatedOptions(category, *sub);
  cl::HideUnrelatedOptions(category);
  if (!cl::ParseCommandLineOptions(int(arguments.size()), arguments.data(),
                                   "Fovea compiles attention specs to GPU kernels.\n", &llvm::errs()))
    return kUsage;

  for (const cl::opt<std::string> *option : {&target, &emit, &output, &device, &batch, &seq, &seed, &async, &variant, &warmup, &repeats}) {
    const std::string name = (option->ArgStr.size() == 1 ? "-" : "--") + option->ArgStr.str();
    if (option->getNumOccurrences() > 1)
      return usage(name + " is given " + std::to_string(option->getNumOccurrences()) + " times, it takes one value");
    if (option->getNumOccurrences() && option->empty())
      return usage(name + " needs a value, found an empty one");
  }
  Expected<BatchSize> size = batchSize();
  if (!size)
    return usage(size.message());
  if (!async.empty() && async != "lazy" && async != "eager" && async != "random")
    return usage("expected --async=lazy, eager or random, found '" + async + "'");
  if (!async.empty() && !llvm::StringRef(device).starts_with("emulator"))
    return usage("--async is for the emulator; a GPU completes asynchronous work as it likes");
  std::string chip = target.empty() ? "sm_100a" : target.getValue();
  if (compileSub)
    return compileCommand({spec, chip, emit, output});
  if (checkSub)
    return checkCommand({spec, target, device, async, variant, *size, backward, json});
  if (benchSub) {
    int before = 10, timed = 50;
    for (const Expected<void> &set : {setNumber(warmup, before), setNumber(repeats, timed, 1)})
      if (!set)
        return usage(set.message());
    if (!size->named.empty())
      return usage("bench gives all rows the same lengths; --lengths NAME=... is for check and eval");
    WorkloadSize workload{size->batch, size->shortest, size->longest, size->seed, size->wideOffsets,
                          !noTileList, size->listed};
    std::string where = device.getNumOccurrences() ? device.getValue() : "cuda:0";
    return benchCommand({spec, target, where, variant, workload, before, timed, backward, json});
  }
  if (runSub)
    return output.empty() ? usage("run needs -o DIR for its outputs")
                          : runCommand({spec, target, device, output, variant, files, backward});
  if (evalSub)
    return random_ && !files.empty() ? usage("eval takes --random or files, not both")
                                     : evalCommand({spec, output, files, random_, backward, json, *size});
  if (explainSub)
    return explainCommand({spec, chip, json});
  if (fmtSub)
    return fmtCommand(spec);
  if (devicesSub)
    return devicesCommand(json);
  return usage("expected a command: compile, check, bench, run, eval, explain, fmt, devices or emulate");
}
