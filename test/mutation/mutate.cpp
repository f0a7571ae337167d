// test/mutation/mutate.cpp - runs every mutant of recorded launches under hostile schedules with the detectors on.
#include "runtime/emulator/driver/LaunchFile.h"
#include "runtime/emulator/ptx/Error.h"
#include "test/mutation/Harmless.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <thread>

using namespace fovea;
using mutation::Change;
using mutation::Mutant;

static const char *usage =
    "usage: fovea-mutate [--jobs N] [--every N] [--json FILE] [--survivors] [--only FAMILY] [--lines A:B] [--most PERCENT]\n"
    "       [--unreached] FOLDER...\n"
    "Each FOLDER holds kernel.ptx and launch.json (FOVEA_EMULATE_RECORD writes them), or several launch*.json. Prints one line per kernel:\n"
    "mutants, caught, proved harmless, survived. --every N tries each Nth mutant. --unreached tries none, and names the\n"
    "instructions to be mutated that no input comes to. Exit status 1 when more than PERCENT (0)\n"
    "of them survived (are not reached).\n";

namespace {

struct Policy { const char *name; uint64_t seed; };
constexpr Policy kPolicies[] = {{"lazy", 0}, {"eager", 0}, {"random", 1}, {"random", 2}, {"random", 3}};

struct Outcome {
  std::map<std::string, std::vector<uint8_t>> outputs;
  emulator::Report report;
};

/// `input`: launch.json, or another launch of the same kernel beside it.
Outcome runOnce(const std::string &input, const std::string &text, const Policy &policy, uint64_t limit, emulator::Observer *observer = nullptr) {
  Outcome o;
  emulator::LaunchOptions options;
  options.text = &text;
  options.observer = observer;
  options.results = &o.outputs;
  options.policy = policy.name;
  options.hasSeed = true;
  options.seed = policy.seed;
  options.threads = 1;
  options.limit = limit;
  o.report = emulator::runLaunchFile(input, options);
  return o;
}

struct Verdict {
  enum Kind { Caught, Harmless, Survived, Invalid } kind = Survived;
  std::string how;
};

/// Kernels that synchronise rightly write the same under every policy; the bits are then the reference.
struct Kernel {
  std::string folder, text;
  std::vector<std::string> inputs;
  std::vector<std::map<std::string, std::vector<uint8_t>>> outputs;  ///< per input
  std::set<std::string> known;  ///< warnings of the kernel as it is
  std::set<uint32_t> implied;   ///< needless waits, in every run
  mutation::Sharing sharing;
  uint64_t limit = 0;
  std::unique_ptr<ptx::Module> module;
  const ptx::Function *fn = nullptr;

  static std::string identity(const emulator::Finding &f) { return f.kind + ":" + std::to_string(f.line) + ":" + f.message; }

  void baseline() {
    outputs.resize(inputs.size());
    std::vector<std::pair<uint64_t, std::string>> costs;
    for (const std::string &input : inputs) {
      sharing.begin();
      costs.push_back({runOnce(input, text, kPolicies[0], 0, &sharing).report.warpInstructions, input});
    }
    std::sort(costs.begin(), costs.end()); // most mutants are caught at once: by the shortest run
    for (size_t k = 0; k < inputs.size(); ++k)
      inputs[k] = costs[k].second;
    for (size_t k = 0; k < inputs.size() * std::size(kPolicies); ++k) {
      const Policy &p = kPolicies[k % std::size(kPolicies)];
      auto &expected = outputs[k / std::size(kPolicies)];
      Outcome o = runOnce(inputs[k / std::size(kPolicies)], text, p, 0);
      for (const emulator::Finding &f : o.report.findings) {
        if (!f.warning)
          throw std::runtime_error(folder + ": the kernel itself is wrong under " + p.name + ": " + f.message);
        known.insert(identity(f));
      }
      std::set<uint32_t> lines(o.report.impliedWaits.begin(), o.report.impliedWaits.end());
      if (!k)
        implied = lines;
      for (auto it = implied.begin(); it != implied.end();)
        it = lines.count(*it) ? std::next(it) : implied.erase(it);
      if (expected.empty())
        expected = o.outputs;
      else if (expected != o.outputs)
        throw std::runtime_error(folder + ": the kernel's own outputs differ between " + kPolicies[0].name + " and " + p.name);
      limit = std::max(limit, o.report.warpInstructions * 8 + 100000);
    }
  }

  /// The text with several mutants at once; a mutant that deletes keeps the lines as they are numbered.
  std::string together(const std::vector<const Mutant *> &several) const {
    auto linesOf = [](const std::string &t) {
      std::vector<std::string> v;
      std::stringstream in(t);
      for (std::string line; std::getline(in, line);)
        v.push_back(line);
      return v;
    };
    std::vector<std::string> lines = linesOf(text), base = lines;
    for (const Mutant *m : several) {
      std::vector<std::string> other = linesOf(m->text);
      for (size_t k = 0; k < base.size() && k < other.size(); ++k)
        if (other[k] != base[k])
          lines[k] = other[k];
    }
    std::string out;
    for (const std::string &line : lines)
      out += line + "\n";
    return out;
  }
  /// Which accesses are complained of.
  std::set<std::string> findings(const std::string &of, const std::string &input, const Policy &policy = kPolicies[0]) const {
    std::set<std::string> found;
    for (const emulator::Finding &f : runOnce(input, of, policy, limit).report.findings)
      found.insert(f.kind + ":" + std::to_string(f.line) + ":" + std::to_string(f.earlier.line));
    return found;
  }
  std::set<std::string> findings(const std::string &of) const {
    std::set<std::string> found;
    for (const std::string &input : inputs)
      found.merge(findings(of, input));
    return found;
  }

  /// Synchronisation that stands in for each other. The deletions of `group`, none of which anybody noticed alone, are made
  /// one after the other in several orders, each kept while nobody complains. One that is complained of then is "ordered
  /// twice": the detectors see what it orders, and of the kernel without it alone they find that others order the same.
  /// Ends when it is known of all `wanted`.
  std::vector<bool> orderedTwice(std::vector<size_t> order, const std::vector<const Mutant *> &group, const std::vector<bool> &wanted) const {
    std::vector<bool> twice(group.size(), false);
    const std::set<std::string> before = findings(text);
    std::mt19937 rng(1);
    auto known = [&](size_t k) { return twice[k] || !wanted[k]; };
    for (int round = 0; round < 4 && !std::all_of(order.begin(), order.end(), known); ++round) {
      std::vector<const Mutant *> gone;
      for (size_t k : order) {
        gone.push_back(group[k]);
        std::set<std::string> now = findings(together(gone));
        if (std::includes(before.begin(), before.end(), now.begin(), now.end()))
          continue;
        twice[k] = true;
        gone.pop_back();
      }
      if (!round)
        std::reverse(order.begin(), order.end());
      else
        std::shuffle(order.begin(), order.end(), rng);
    }
    return twice;
  }

  /// The same beside deletions that are noticed: what is complained of with both gone, and with neither alone, is ordered by
  /// the one and by the other. Findings without an earlier access (a deadlock, a count) say nothing of order.
  bool orderedTwiceWith(const Mutant &m, const std::vector<const Mutant *> &caught, std::map<std::string, std::set<std::string>> &known) const {
    // Late copies stop some of these at a barrier, before they race; early ones do not.
    for (const Policy &policy : {kPolicies[0], kPolicies[1]})
      for (const Mutant *other : caught)
        for (const std::string &input : inputs) {
          auto [it, fresh] = known.try_emplace(std::to_string(other->line) + input + policy.name);
          if (fresh)
            it->second = findings(other->text, input, policy);
          const std::set<std::string> &alone = it->second;
          for (const std::string &f : findings(together({other, &m}), input, policy))
            if (!alone.count(f) && f.substr(f.rfind(':')) != ":0")
              return true;
        }
    return false;
  }

  /// Whether some input comes to the instruction.
  bool reaches(const Mutant &m) const {
    std::string trapped = mutation::trappedAt(text, fn->name, m.index);
    return std::any_of(inputs.begin(), inputs.end(), [&](const std::string &input) { return runOnce(input, trapped, kPolicies[0], limit).report.failed(); });
  }

  Verdict judge(const Mutant &m) const {
    Verdict v = run(m);
    if (v.kind == Verdict::Survived)
      if (std::string rule = mutation::harmless(*fn, m, implied, sharing); !rule.empty())
        return {Verdict::Harmless, rule};
    return v;
  }
  Verdict run(const Mutant &m) const {
    for (size_t k = 0; k < inputs.size() * std::size(kPolicies); ++k) {
      size_t input = k / std::size(kPolicies);
      Outcome o;
      try {
        o = runOnce(inputs[input], m.text, kPolicies[k % std::size(kPolicies)], limit);
      } catch (const ptx::LoadError &e) {
        return {Verdict::Invalid, e.what()};
      }
      for (bool warnings : {false, true})
        for (const emulator::Finding &f : o.report.findings)
          if (f.warning == warnings && !known.count(identity(f)))
            return {Verdict::Caught, (warnings ? "warning " : "error ") + f.kind};
      if (o.outputs != outputs[input])
        return {Verdict::Caught, "outputs"};
    }
    return {};
  }
};

/// Weakened to what orders as much as nothing at all, or more: what is known of the deletion holds.
bool keepsMore(const Mutant &m) { return m.what == "to fence.acq_rel.cta" || m.what == "arrive only"; }

/// What survived, or rests on the detectors alone: do they see it when others that nobody noticed are gone as well?
void settle(const Kernel &kernel, const std::vector<Mutant> &mutants, std::vector<Verdict> &verdicts, size_t every) {
  auto open = [&](size_t k) { return verdicts[k].kind == Verdict::Survived || (verdicts[k].kind == Verdict::Harmless && verdicts[k].how == mutation::kLanesOnly); };
  std::vector<const Mutant *> group;
  std::vector<bool> wanted;
  bool any = false;
  for (size_t k = 0; k < mutants.size(); k += every) {
    any |= open(k);
    if (mutants[k].change == Change::Deleted && mutants[k].family.find("setmaxnreg") == std::string::npos && (verdicts[k].kind == Verdict::Survived || verdicts[k].kind == Verdict::Harmless)) {
      group.push_back(&mutants[k]);
      wanted.push_back(std::any_of(mutants.begin(), mutants.end(), [&](const Mutant &m) { return m.line == mutants[k].line && open(size_t(&m - mutants.data())); }));
    }
  }
  std::set<uint32_t> seen;
  if (any) {
    std::vector<size_t> order(group.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::vector<bool> twice = kernel.orderedTwice(order, group, wanted);
    for (size_t k = 0; k < group.size(); ++k)
      if (twice[k])
        seen.insert(group[k]->line);
  }
  // The nearest ones of the same kind that somebody noticed.
  constexpr size_t kCompanions = 24;
  std::map<std::string, std::set<std::string>> known;
  for (size_t k = 0; k < mutants.size(); k += every) {
    if (!open(k) || mutants[k].change != Change::Deleted || seen.count(mutants[k].line))
      continue;
    std::vector<const Mutant *> caught;
    for (size_t o = 0; o < mutants.size(); o += every)
      if (mutants[o].change == Change::Deleted && mutants[o].family == mutants[k].family && verdicts[o].kind == Verdict::Caught)
        caught.push_back(&mutants[o]);
    auto distance = [&](const Mutant *m) { return std::abs(int64_t(m->line) - int64_t(mutants[k].line)); };
    std::sort(caught.begin(), caught.end(), [&](const Mutant *a, const Mutant *b) { return distance(a) < distance(b); });
    caught.resize(std::min(caught.size(), kCompanions));
    if (kernel.orderedTwiceWith(mutants[k], caught, known))
      seen.insert(mutants[k].line);
  }
  for (size_t k = 0; k < mutants.size(); k += every)
    if (open(k))
      verdicts[k] = seen.count(mutants[k].line) && (mutants[k].change != Change::Weakened || keepsMore(mutants[k])) ? Verdict{Verdict::Harmless, "ordered twice"} : Verdict{Verdict::Survived, verdicts[k].how};
}

} // namespace

int main(int argc, char **argv) {
  unsigned jobs = 2, every = 1, firstLine = 0, lastLine = ~0u;
  double most = 0;
  bool showSurvivors = false, unreached = false;
  std::string jsonFile, only;
  std::vector<std::string> folders;
  for (int k = 1; k < argc; ++k) {
    std::string a = argv[k];
    bool value = a == "--jobs" || a == "--every" || a == "--json" || a == "--only" || a == "--lines" || a == "--most";
    if ((value && k + 1 == argc) || (!value && a != "--survivors" && a != "--unreached" && a[0] == '-')) {
      std::fputs(usage, stderr);
      return 2;
    }
    if (a == "--survivors") showSurvivors = true;
    else if (a == "--unreached") unreached = true;
    else if (a == "--jobs") jobs = unsigned(std::max(1, std::atoi(argv[++k])));
    else if (a == "--every") every = unsigned(std::max(1, std::atoi(argv[++k])));
    else if (a == "--json") jsonFile = argv[++k];
    else if (a == "--only") only = argv[++k];
    else if (a == "--lines") {
      if (std::sscanf(argv[++k], "%u:%u", &firstLine, &lastLine) != 2) {
        std::fputs(usage, stderr);
        return 2;
      }
    } else if (a == "--most") most = std::atof(argv[++k]);
    else folders.push_back(a);
  }
  setenv("FOVEA_EMULATE_DETECT", "1", 1);
  nlohmann::json all = nlohmann::json::array();
  size_t survivors = 0, total = 0;
  try {
    for (const std::string &folder : folders) {
      Kernel kernel;
      kernel.folder = folder;
      kernel.text = emulator::readText(folder + "/kernel.ptx");
      for (auto &entry : std::filesystem::directory_iterator(folder))
        if (std::string name = entry.path().filename().string(); name.substr(0, 6) == "launch" && entry.path().extension() == ".json")
          kernel.inputs.push_back(entry.path().string());
      std::sort(kernel.inputs.begin(), kernel.inputs.end());
      std::string name = nlohmann::json::parse(emulator::readText(folder + "/launch.json")).at("kernel").get<std::string>();
      kernel.module = ptx::parse(kernel.text);
      for (const ptx::Function &f : kernel.module->functions)
        if (f.entry && f.name == name)
          kernel.fn = &f;
      if (!kernel.fn)
        throw std::runtime_error(folder + ": kernel.ptx has no kernel " + name);
      kernel.baseline();
      std::vector<Mutant> mutants;
      for (Mutant &m : mutation::mutantsOf(kernel.text, name))
        if ((only.empty() || m.family.find(only) != std::string::npos) && m.line >= firstLine && m.line <= lastLine)
          mutants.push_back(std::move(m));
      auto forAll = [&](const std::vector<Mutant> &list, size_t step, auto &&body) {
        std::atomic<size_t> next{0};
        auto work = [&] {
          for (size_t k; (k = next.fetch_add(step)) < list.size();)
            body(k);
        };
        std::vector<std::thread> pool;
        for (unsigned j = 1; j < jobs; ++j)
          pool.emplace_back(work);
        work();
        for (std::thread &t : pool)
          t.join();
      };
      if (unreached) {
        mutants.erase(std::unique(mutants.begin(), mutants.end(), [](const Mutant &a, const Mutant &b) { return a.index == b.index; }), mutants.end());
        std::vector<char> reached(mutants.size());
        forAll(mutants, 1, [&](size_t k) { reached[k] = kernel.reaches(mutants[k]); });
        for (size_t k = 0; k < mutants.size(); ++k)
          if (!reached[k])
            std::printf("  not reached: line %u: %s\n", mutants[k].line, mutants[k].family.c_str());
        size_t missing = size_t(std::count(reached.begin(), reached.end(), 0));
        std::printf("%s: %zu of %zu instructions not reached\n", folder.c_str(), missing, mutants.size());
        std::fflush(stdout);
        survivors += missing;
        total += mutants.size();
        continue;
      }
      std::vector<Verdict> verdicts(mutants.size());
      forAll(mutants, every, [&](size_t k) { verdicts[k] = kernel.judge(mutants[k]); });
      settle(kernel, mutants, verdicts, every);
      size_t count[4] = {};
      std::map<std::string, size_t> how;
      for (size_t k = 0; k < mutants.size(); k += every) {
        const Mutant &m = mutants[k];
        ++count[verdicts[k].kind];
        if (verdicts[k].kind == Verdict::Caught || verdicts[k].kind == Verdict::Harmless)
          ++how[verdicts[k].how];
        if (showSurvivors && (verdicts[k].kind == Verdict::Survived || verdicts[k].kind == Verdict::Invalid))
          std::printf("  %s: line %u: %s %s %s\n", verdicts[k].kind == Verdict::Survived ? "survived" : "invalid", m.line, m.family.c_str(), m.what.c_str(),
                      verdicts[k].how.c_str());
        all.push_back({{"kernel", folder}, {"line", m.line}, {"instruction", m.family}, {"change", m.what},
                       {"verdict", std::vector<const char *>{"caught", "harmless", "survived", "invalid"}[verdicts[k].kind]}, {"how", verdicts[k].how}});
      }
      std::printf("%s: %zu mutants, %zu caught, %zu harmless, %zu survived, %zu invalid;", folder.c_str(), count[0] + count[1] + count[2], count[0], count[1],
                  count[2], count[3]);
      for (auto &[kind, n] : how)
        std::printf(" %s %zu", kind.c_str(), n);
      std::printf("\n");
      std::fflush(stdout);
      survivors += count[2];
      total += count[0] + count[1] + count[2];
    }
    if (!jsonFile.empty())
      std::ofstream(jsonFile) << all.dump(1) << "\n";
  } catch (const std::exception &e) {
    std::fprintf(stderr, "fovea-mutate: %s\n", e.what());
    return 2;
  }
  std::printf(unreached ? "%zu of %zu instructions not reached\n" : "%zu of %zu mutants survived\n", survivors, total);
  return !total || 100.0 * double(survivors) > most * double(total) ? 1 : 0;
}
