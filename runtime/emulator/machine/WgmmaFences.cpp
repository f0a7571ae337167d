// runtime/emulator/machine/WgmmaFences.cpp - registers that were used since the last fence, along all paths.
#include "runtime/emulator/machine/WgmmaFences.h"
#include "runtime/emulator/machine/Decoder.h"
#include <algorithm>

namespace fovea::emulator {

uint32_t WgmmaFences::firstUnfenced(const Code &code) const {
  // The registers that matter, by number; 0 stands for "no fence so far".
  std::unordered_map<uint32_t, size_t> numbers;
  for (const Event &e : events)
    if (e.kind == Event::Product)
      numbers.try_emplace(e.reg, numbers.size() + 1);
  if (numbers.empty())
    return 0;
  const size_t words = numbers.size() / 64 + 1, n = code.insts.size();

  auto guarded = [](const Inst &i) { return i.guard != Decoder::kTrue || i.guardXor; };
  auto ends = [&](size_t k) { return code.insts[k].run == runBranch || code.insts[k].run == runBranchIndexed || (code.insts[k].run == runExit && !guarded(code.insts[k])); };
  auto targets = [&](const Inst &i) {
    return i.run == runBranchIndexed ? static_cast<const BranchTable *>(i.extra)->targets : i.run == runBranch ? std::vector<uint32_t>{i.target} : std::vector<uint32_t>{};
  };
  std::vector<bool> begins(n + 1, false);
  begins[0] = true;
  for (size_t k = 0; k < n; ++k)
    if (ends(k)) {
      begins[k + 1] = true;
      for (uint32_t t : targets(code.insts[k]))
        begins[t] = true;
    }

  struct Block {
    size_t end;
    std::vector<Event> events;
    std::vector<uint64_t> before;  ///< used since the last fence when a path comes here; empty: none does
  };
  std::map<size_t, Block> blocks;
  for (size_t k = 0, event = 0; k < n;) {
    Block &b = blocks[k];
    for (b.end = k + 1; b.end < n && !begins[b.end];)
      ++b.end;
    for (; event < events.size() && events[event].at < b.end; ++event)
      if (events[event].kind != Event::Use || numbers.count(events[event].reg))
        b.events.push_back(events[event]);
    k = b.end;
  }

  uint32_t first = 0;
  std::vector<size_t> todo{0};
  blocks.at(0).before.assign(words, 0);
  blocks.at(0).before[0] = 1;
  while (!todo.empty()) {
    const Block &b = blocks.at(todo.back());
    todo.pop_back();
    std::vector<uint64_t> used = b.before;
    auto holds = [&](size_t number) { return used[number / 64] >> number % 64 & 1; };
    for (const Event &e : b.events)
      if (e.kind == Event::Fence)
        std::fill(used.begin(), used.end(), 0);
      else if (size_t number = numbers.at(e.reg); e.kind == Event::Use)
        used[number / 64] |= uint64_t(1) << number % 64;
      else if (holds(0) || holds(number))
        first = first ? std::min(first, e.line) : e.line;
    const Inst &last = code.insts[b.end - 1];
    std::vector<uint32_t> next = targets(last);
    if (b.end < n && (!ends(b.end - 1) || guarded(last)))
      next.push_back(uint32_t(b.end));
    for (uint32_t to : next) {
      if (to == n)
        continue;
      std::vector<uint64_t> &there = blocks.at(to).before;
      bool more = there.empty();
      there.resize(words, 0);
      for (size_t w = 0; w < words; ++w) {
        more |= (used[w] & ~there[w]) != 0;
        there[w] |= used[w];
      }
      if (more)
        todo.push_back(to);
    }
  }
  return first;
}

} // namespace fovea::emulator
