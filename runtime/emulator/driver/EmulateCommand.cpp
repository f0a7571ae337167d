// runtime/emulator/driver/EmulateCommand.cpp - the command: run any PTX with the buffers of a launch.json.
#include "runtime/emulator/driver/EmulateCommand.h"
#include "runtime/emulator/driver/LaunchFile.h"
#include "runtime/emulator/driver/Policy.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

namespace fovea::emulator {

static const char *usage =
    " [KERNEL.ptx] --launch launch.json [--async lazy|eager|random] [--seed N] [--limit N]\n"
    "       [--threads N] [--detect | --trace FILE] [--report text|json] [-o DIR]\n"
    "A value may also follow '=': --async=random.\n"
    "Runs PTX for sm_100a or sm_90a without a GPU; buffers come from and go to .npy files (runtime/emulator/README.md, launch.json).\n"
    "A program that runs on the emulator's library writes launch files: FOVEA_EMULATE_RECORD=DIR fovea check SPEC, for one.\n"
    "--detect looks for races, missing fences and values that were never set. --trace writes what each warp ran and waited for,\n"
    "over one tick an instruction, as Perfetto JSON (ui.perfetto.dev). -o DIR: a folder for saved buffers (made if it is not\n"
    "there), instead of the launch file's.\n"
    "Exit status: 0 the kernel ended well, 1 the emulator found an error in it, 2 the PTX or the launch file is wrong.\n";

int emulateCommand(const char *name, int argc, const char *const *argv) {
  LaunchOptions options;
  std::set<std::string> given;
  std::string launch, report = "text";
  auto bad = [&](const std::string &message) {
    std::fprintf(stderr, "%s: %s\nusage: %s%s", name, message.c_str(), name, usage);
    return 2;
  };
  for (int k = 0; k < argc; ++k) {
    std::string a = argv[k], v;
    const size_t equals = a[0] == '-' ? a.find('=') : std::string::npos;
    const bool joined = equals != std::string::npos;
    if (joined)
      v = a.substr(equals + 1), a.resize(equals);
    bool takesValue = a == "--launch" || a == "--async" || a == "--seed" || a == "--limit" || a == "--threads" || a == "--report" || a == "--trace" || a == "-o";
    if (a == "--help" || a == "-h") {
      std::printf("usage: %s%s", name, usage);
      return 0;
    }
    if (a[0] == '-' && !given.insert(a).second)
      return bad("'" + a + "' is given twice");
    if (a == "--detect") {
      if (joined)
        return bad("'--detect' takes no value, found '" + v + "'");
      options.detect = true;
      continue;
    }
    if (!takesValue) {
      if (a[0] == '-')
        return bad("unknown option '" + a + "'");
      if (!options.ptx.empty())
        return bad("more than one PTX file");
      options.ptx = a;
      continue;
    }
    if (!joined && ++k == argc)
      return bad("'" + a + "' needs a value");
    if (!joined)
      v = argv[k];
    if (v.empty())
      return bad("'" + a + "' needs a value, found an empty one");
    uint64_t n = 0;
    if (a == "--seed" || a == "--limit" || a == "--threads") {
      const uint64_t least = a == "--limit", most = a == "--threads" ? 1024 : ~uint64_t(0);
      if (!cu::parseNumber(v.c_str(), least, most, n))
        return bad("'" + a + "' needs a number from " + std::to_string(least) + " to " + std::to_string(most) + ", found '" + v + "'");
    }
    if (a == "--launch") launch = v;
    else if (a == "--async") options.policy = v;
    else if (a == "--seed") options.seed = n, options.hasSeed = true;
    else if (a == "--limit") options.limit = n;
    else if (a == "--threads") options.threads = unsigned(n);
    else if (a == "-o") options.outputs = v;
    else if (a == "--trace") options.trace = v;
    else report = v;
  }
  if (launch.empty())
    return bad("--launch is missing");
  if (report != "text" && report != "json")
    return bad("--report is text or json, found '" + report + "'");
  if (!options.policy.empty() && options.policy != "lazy" && options.policy != "eager" && options.policy != "random")
    return bad("--async is lazy, eager or random, found '" + options.policy + "'");
  if (options.detect && !options.trace.empty())
    return bad("--detect and --trace each watch the whole launch; give one of them");
  // Before the launch, which may take minutes.
  auto cannot = [&](const char *option, const std::string &path, const std::string &why) {
    std::fprintf(stderr, "%s: %s %s: cannot be written: %s\n", name, option, path.c_str(), why.c_str());
    return 2;
  };
  if (!options.trace.empty() && !std::ofstream(options.trace, std::ios::binary | std::ios::app))
    return cannot("--trace", options.trace, std::strerror(errno));
  if (!options.outputs.empty()) {
    std::error_code why;
    std::filesystem::create_directories(options.outputs, why);
    if (why)
      return cannot("-o", options.outputs, why.message());
  }
  try {
    Report r = runLaunchFile(launch, options);
    if (report == "json")
      std::printf("%s\n", r.json().c_str());
    else
      std::fputs(r.text().c_str(), stderr);
    return r.failed() ? 1 : 0;
  } catch (const std::exception &e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    return 2;
  }
}

} // namespace fovea::emulator
