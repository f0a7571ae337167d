// test/fuzz/ptx_fuzz.cpp - broken copies of real PTX through the parser, the loader, the machine and the detectors.
#include "runtime/emulator/detect/Uninitialised.h"
#include "runtime/emulator/machine/Program.h"
#include "runtime/emulator/ptx/Error.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>
#include <sstream>
#include <unistd.h>

using namespace fovea::emulator;

static const char *usage =
    "usage: ptx_fuzz [--first N] [--count N] [--seconds N] [--keep FILE] KERNEL.ptx...\n"
    "Mutant N is the same in every run. Each is parsed, loaded and run with a small budget. What must not happen: a crash, a\n"
    "sanitizer's complaint, an exception other than a load error, more than 60 s for one. --keep writes each mutant to FILE first.\n";

namespace {

uint64_t current = 0;
void onSignal(int number) {
  char text[96];
  int n = std::snprintf(text, sizeof text, "ptx_fuzz: mutant %llu: %s\n", static_cast<unsigned long long>(current), number == SIGALRM ? "takes more than 60 s" : "crashed");
  if (write(2, text, size_t(n)) < 0)
    _exit(3);
  std::signal(number, SIG_DFL);
  number == SIGALRM ? _exit(3) : std::raise(number) ? void() : void();
}

/// Edits that keep most of the text whole, so that mutants come far.
class Mutator {
public:
  Mutator(const std::vector<std::string> &corpus, uint64_t seed) : corpus(corpus), rng(seed * 0x9E3779B97F4A7C15ull + 1) {}

  std::string run() {
    std::string text = corpus[below(corpus.size())];
    bool soft = below(3);  // what the parser mostly takes: lines, numbers, operands, targets of jumps
    for (size_t edits = 1 + below(below(4) ? 3 : 40); edits-- > 0 && !text.empty();)
      edit(text, soft);
    return text;
  }

private:
  const std::vector<std::string> &corpus;
  std::mt19937_64 rng;
  size_t below(size_t n) { return n ? size_t(rng() % n) : 0; }

  static bool word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '%' || c == '$' || c == '.'; }
  /// A line of the text, newline included; mostly of a function's body, where the instructions are.
  std::pair<size_t, size_t> line(const std::string &t) {
    size_t body = t.find('{'), from = below(4) && body != std::string::npos ? body : 0, at = from + below(t.size() - from);
    size_t begin = t.rfind('\n', at), end = t.find('\n', at);
    begin = begin == std::string::npos ? 0 : begin + 1;
    return {begin, end == std::string::npos ? t.size() : end + 1};
  }
  std::pair<size_t, size_t> token(const std::string &t) {
    auto [begin, end] = line(t);
    size_t at = begin + below(end - begin), stop = at;
    while (at > begin && word(t[at - 1]))
      --at;
    while (stop < end && word(t[stop]))
      ++stop;
    return {at, std::max(stop, std::min(at + 1, t.size()))};
  }
  std::string number() {
    static const char *const some[] = {"0", "1", "-1", "2", "3", "7", "16", "31", "32", "33", "64", "255", "256", "1023", "1024", "4096", "65535", "65536", "1048576", "2147483647", "-2147483648",
                                       "4294967295", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "99999999999999999999999", "0x", "0xffffffffffffffff", "0f7FC00000",
                                       "0d7FF0000000000000", "1.5", "0f"};
    return below(4) ? some[below(std::size(some))] : std::to_string(rng() >> below(64));
  }
  void edit(std::string &t, bool soft) {
    static constexpr int kSoft[] = {0, 0, 1, 5, 5, 5, 11, 13};
    auto [begin, end] = line(t);
    auto [from, to] = token(t);
    switch (soft ? kSoft[below(std::size(kSoft))] : int(below(14))) {
    case 0: t.erase(begin, end - begin); break;
    case 1: t.insert(end, t.substr(begin, end - begin)); break;
    case 2: {  // a line of this or another kernel
      const std::string &other = below(2) ? t : corpus[below(corpus.size())];
      auto [b, e] = line(other);
      t.insert(begin, std::string(other, b, e - b));
      break;
    }
    case 3: t.erase(from, to - from); break;
    case 4: {  // another word of the text
      auto [b, e] = token(t);
      t.replace(from, to - from, t.substr(b, e - b));
      break;
    }
    case 5: case 6: {  // a number
      for (size_t k = from; k < t.size() && k < from + 400; ++k)
        if (std::isdigit(static_cast<unsigned char>(t[k])) && (!k || !word(t[k - 1]))) {
          size_t stop = k;
          while (stop < t.size() && std::isalnum(static_cast<unsigned char>(t[stop])))
            ++stop;
          t.replace(k, stop - k, number());
          return;
        }
      t.insert(from, number());
      break;
    }
    case 7: t[below(t.size())] = char(rng()); break;
    case 8: t[below(t.size())] = "{}[](),;:.%@!-+<>\"\n /*"[below(22)]; break;
    case 9: {  // one modifier for another, or gone
      size_t dot = t.find('.', from), stop = dot;
      if (dot == std::string::npos)
        break;
      while (++stop < t.size() && (std::isalnum(static_cast<unsigned char>(t[stop])) || t[stop] == ':' || t[stop] == '_'))
        ;
      static const char *const some[] = {"", ".b8", ".u16", ".s32", ".b64", ".f16x2", ".bf16", ".f32", ".f64", ".b128", ".v2", ".v4", ".v8", ".shared", ".global", ".local", ".const", ".param",
                                         ".shared::cluster", ".x128", ".x1", ".cta_group::2", ".sync", ".aligned", ".release", ".gpu", ".approx", ".sat", ".noinc", ".multicast::cluster", ".kind::f16", ".ws"};
      t.replace(dot, stop - dot, some[below(std::size(some))]);
      break;
    }
    case 10: t.resize(below(t.size())); break;
    case 11: {  // an operand of its neighbour
      size_t a = t.find('%', from), b = a == std::string::npos ? a : t.find('%', a + 1);
      if (b == std::string::npos)
        break;
      size_t ae = a + 1, be = b + 1;
      while (ae < t.size() && word(t[ae])) ++ae;
      while (be < t.size() && word(t[be])) ++be;
      t.replace(b, be - b, t.substr(a, ae - a));
      break;
    }
    case 12: t.insert(from, std::string(1 + below(2000), "{([-!;"[below(6)])); break;
    default: {  // a jump to elsewhere
      size_t label = t.find("$L", from), target = t.find("$L", below(t.size()));
      if (label == std::string::npos || target == std::string::npos)
        break;
      size_t le = label + 1, te = target + 1;
      while (le < t.size() && word(t[le])) ++le;
      while (te < t.size() && word(t[te])) ++te;
      t.replace(label, le - label, t.substr(target, te - target));
    }
    }
  }
};

struct Counts { uint64_t refused = 0, stopped = 0, clean = 0; };

void tryOne(const std::string &text, uint64_t n, Counts &counts) {
  std::mt19937_64 rng(n);
  try {
    AddressSpace memory;
    Program program(text, *findChip(rng() % 2 ? "sm_100a" : "sm_90a"), memory);
    uint64_t buffer = memory.allocate(1 << 16, "buffer");
    std::vector<uint8_t> zero(1 << 16);
    memory.write(buffer, zero.data(), zero.size());
    size_t tried = 0;
    for (const std::string &name : program.kernels()) {
      const Code *code = program.kernel(name);
      if (!code || ++tried > 2)
        break;
      LaunchConfig c;
      for (int k = 0; k < 3; ++k) {
        c.block[k] = code->reqntid[k] ? code->reqntid[k] : k ? 1 : 128;
        c.cluster[k] = code->cluster[k] ? code->cluster[k] : 1;
        c.grid[k] = c.cluster[k];
      }
      c.dynamicShared = uint32_t(rng() % 3) * 100000;
      c.policy = AsyncPolicy(rng() % 3);
      c.seed = n;
      c.threads = 1;
      c.limit = 20000;
      c.quiet = true;
      c.params.assign(code->paramBytes, 0);
      for (const Code::Param &p : code->params) {
        uint64_t v = p.bytes == 8 ? buffer : rng() % 300;
        if (rng() % 16 == 0)
          v = rng();
        std::memcpy(c.params.data() + p.offset, &v, std::min<size_t>(8, p.bytes));
      }
      if (std::string refused = program.checkLaunch(*code, c); !refused.empty()) {
        ++counts.refused;
        continue;
      }
      std::unique_ptr<RaceDetector> races = makeRaceDetector();
      Report r = rng() % 2 ? runAndCheckInputs(program, *code, c, memory, *races) : program.run(*code, c);
      r.failed() ? ++counts.stopped : ++counts.clean;
      (void)r.text();
    }
  } catch (const fovea::ptx::LoadError &) {
    ++counts.refused;
  }
}

std::string read(const char *path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

} // namespace

int main(int argc, char **argv) {
  uint64_t first = 0, count = ~uint64_t(0);
  long seconds = 0;
  const char *keep = nullptr;
  std::vector<std::string> corpus;
  for (int k = 1; k < argc; ++k) {
    std::string a = argv[k];
    bool value = a == "--first" || a == "--count" || a == "--seconds" || a == "--keep";
    if (a[0] == '-' && (!value || k + 1 == argc)) {
      std::fputs(usage, stderr);
      return 2;
    }
    if (a == "--first") first = std::strtoull(argv[++k], nullptr, 10);
    else if (a == "--count") count = std::strtoull(argv[++k], nullptr, 10);
    else if (a == "--seconds") seconds = std::atol(argv[++k]);
    else if (a == "--keep") keep = argv[++k];
    else if (std::string text = read(argv[k]); !text.empty()) corpus.push_back(std::move(text));
  }
  if (corpus.empty() || (count == ~uint64_t(0) && !seconds)) {
    std::fputs(usage, stderr);
    return 2;
  }
  for (int s : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS, SIGALRM})
    std::signal(s, onSignal);
  Counts counts;
  std::time_t end = std::time(nullptr) + seconds;
  uint64_t n = 0;
  for (; n < count && (!seconds || std::time(nullptr) < end); ++n) {
    current = first + n;
    std::string text = Mutator(corpus, current).run();
    if (keep)
      std::ofstream(keep, std::ios::binary) << text;
    alarm(60);
    try {
      tryOne(text, current, counts);
    } catch (const std::exception &e) {
      std::fprintf(stderr, "ptx_fuzz: mutant %llu: an exception that is no load error: %s\n", static_cast<unsigned long long>(current), e.what());
      return 1;
    }
    alarm(0);
  }
  std::printf("%llu mutants: %llu refused, %llu stopped with a report, %llu ran to their end\n", static_cast<unsigned long long>(n), static_cast<unsigned long long>(counts.refused),
              static_cast<unsigned long long>(counts.stopped), static_cast<unsigned long long>(counts.clean));
  return 0;
}
