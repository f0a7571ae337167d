// runtime/emulator/detect/Uninitialised.cpp - one kernel, two kinds of garbage.
#include "runtime/emulator/detect/Uninitialised.h"
#include <cstring>

namespace fovea::emulator {
namespace {

constexpr uint32_t kOtherPoison = 0xC2F1BEEF;  ///< a plain negative number in f32 and in both bf16 halves

struct Copy {
  std::vector<std::pair<const Allocation *, std::vector<uint8_t>>> parts;
  explicit Copy(const AddressSpace &memory) {
    for (const Allocation *a : memory.all())
      parts.push_back({a, std::vector<uint8_t>(a->host, a->host + a->size)});
  }
  /// Puts the bytes back; words that hold the poison get `poison` instead.
  void restore(uint32_t poison) const {
    for (auto &[a, bytes] : parts) {
      if (a->readOnly)
        continue;
      std::memcpy(a->host, bytes.data(), bytes.size());
      for (size_t k = 0; poison != kPoison && k + 4 <= bytes.size(); k += 4)
        if (!std::memcmp(bytes.data() + k, &kPoison, 4))
          std::memcpy(a->host + k, &poison, 4);
    }
  }
};

/// Words of the results `a` that now are different, unwritten ones apart; at most one per buffer is kept.
struct Difference { const Allocation *where; size_t offset, words; };
std::vector<Difference> differences(const Copy &a, uint32_t poison) {
  std::vector<Difference> found;
  for (auto &[where, bytes] : a.parts) {
    if (!std::memcmp(where->host, bytes.data(), bytes.size()))
      continue;
    Difference d{where, 0, 0};
    for (size_t k = 0; k + 4 <= bytes.size(); k += 4) {
      uint32_t x, y;
      std::memcpy(&x, bytes.data() + k, 4);
      std::memcpy(&y, where->host + k, 4);
      if (x == y || (x == kPoison && y == poison))
        continue;
      if (!d.words++)
        d.offset = k;
    }
    if (d.words)
      found.push_back(d);
  }
  return found;
}

} // namespace

Report runAndCheckInputs(Program &program, const Code &code, LaunchConfig config, AddressSpace &memory, RaceDetector &races) {
  config.observer = &races;
  if (memory.used() > (uint64_t(8) << 30))
    return program.run(code, config);
  Copy before(memory);
  Report report = program.run(code, config);
  report.impliedWaits = races.impliedWaits();
  if (report.failed())
    return report;
  Copy results(memory);
  config.observer = nullptr;
  config.quiet = true;
  config.poison = kOtherPoison;
  before.restore(kOtherPoison);
  Report again = program.run(code, config);
  std::vector<Difference> found = differences(results, kOtherPoison);
  if (!found.empty() || again.failed()) {
    // Blocks that add up in another order, a timer: what changes by itself says nothing. One host thread keeps one order.
    config.threads = 1;
    auto alone = [&](uint32_t poison) {
      config.poison = poison;
      before.restore(poison);
      return program.run(code, config);
    };
    Report plain = alone(kPoison);
    Copy expected(memory);
    Report other = alone(kOtherPoison);
    found = differences(expected, kOtherPoison);
    bool fails = other.failed() && !other.findings.empty();
    if (plain.failed() || ((!found.empty() || fails) && (alone(kPoison).failed() || !differences(expected, kPoison).empty())))
      found.clear();
    else if (fails && found.empty()) {
      Finding f = other.findings[0];
      f.kind = "uninitialised";
      f.message = "uninitialised: with other garbage in unwritten memory and registers the kernel fails: " + f.message;
      report.findings.push_back(f);
    }
  }
  std::string causes;
  std::vector<UnwrittenRead> reads = races.unwrittenReads();
  for (size_t k = 0; k < reads.size() && k < 4; ++k)
    causes += (k ? ", line " : "; unwritten memory is read at line ") + std::to_string(reads[k].line) + " (" + reads[k].space + ")";
  for (const Difference &d : found) {
    Finding f;
    f.kind = "uninitialised";
    f.kernel = code.name;
    f.line = reads.empty() ? 0 : reads[0].line;
    f.earlier.address = memory.describe(d.where->base + d.offset);
    f.message = "uninitialised: " + std::to_string(d.words) + " words of " + d.where->name + ", the first at " + f.earlier.address +
                ", depend on registers, shared, tensor or global memory that nothing wrote" + (causes.empty() ? "" : causes);
    report.findings.push_back(std::move(f));
  }
  for (auto &[a, bytes] : results.parts)
    if (!a->readOnly)
      std::memcpy(a->host, bytes.data(), bytes.size());
  return report;
}

} // namespace fovea::emulator
