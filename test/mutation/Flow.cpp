// test/mutation/Flow.cpp - the paths of a kernel.
#include "test/mutation/Flow.h"
#include <algorithm>

namespace fovea::mutation {

using ptx::Instruction;
using ptx::Operand;

bool has(const Instruction &i, std::string_view modifier) {
  return std::find(i.modifiers.begin(), i.modifiers.end(), modifier) != i.modifiers.end();
}
bool is(const Instruction &i, std::string_view opcode, std::string_view first) {
  return i.opcode == opcode && (first.empty() || (!i.modifiers.empty() && i.modifiers[0] == first));
}

bool isAccess(const Instruction &i) {
  if (i.opcode == "ld" || i.opcode == "st")
    return !has(i, ".param") && !has(i, ".const") && !has(i, ".local");
  if (is(i, "cp"))
    return !has(i, ".commit_group") && !has(i, ".wait_group") && !has(i, ".wait_all") && !has(i, ".prefetch");
  if (is(i, "tcgen05"))
    return has(i, ".mma") || has(i, ".cp") || has(i, ".ld") || has(i, ".st") || has(i, ".shift");
  return is(i, "wgmma", ".mma_async") || is(i, "atom") || is(i, "red") || is(i, "ldmatrix") || is(i, "stmatrix");
}

void collect(const Operand &o, std::vector<uint32_t> &registers) {
  for (const Operand &p : o.parts)
    collect(p, registers);
  if (o.kind == Operand::Register)
    registers.push_back(o.reg);
}
bool names(const Operand &o, const std::vector<uint32_t> &registers) {
  for (const Operand &p : o.parts)
    if (names(p, registers))
      return true;
  return o.kind == Operand::Register && std::find(registers.begin(), registers.end(), o.reg) != registers.end();
}

Flow::Flow(const ptx::Function &fn) : fn(fn), next(fn.body.size()), previous(fn.body.size()), definitions(fn.registers.size(), 0),
                                       definedAt(fn.registers.size(), 0) {
  for (size_t k = 0; k < fn.body.size(); ++k) {
    const Instruction &i = fn.body[k];
    auto edge = [&](size_t to, int32_t predicate, bool value) {
      if (to < fn.body.size()) {
        next[k].push_back({to, predicate, value});
        previous[to].push_back({k, predicate, value});
      }
    };
    valid &= i.opcode != "brx" && i.opcode != "call";
    bool jump = i.opcode == "bra", end = i.opcode == "ret" || i.opcode == "exit";
    if (jump && !i.operands.empty() && i.operands[0].kind == Operand::Label)
      edge(size_t(fn.labels[i.operands[0].reg]), i.guard, !i.guardNegated);
    if ((!jump && !end) || i.guard >= 0)
      edge(k + 1, jump || end ? i.guard : -1, i.guardNegated);
    if (!i.operands.empty() && !jump && i.operands[0].kind != Operand::Address) {
      std::vector<uint32_t> written;
      collect(i.operands[0], written);
      for (uint32_t r : written) {
        ++definitions[r];
        definedAt[r] = k;
      }
    }
  }
}

bool Flow::always(size_t from, bool forward, const Test &goal, const Test &spoiler, bool atEnd, const Predicates &assume) const {
  if (!valid)
    return false;
  const auto &edges = forward ? next : previous;
  std::vector<bool> seen(fn.body.size(), false);
  std::vector<size_t> todo;
  auto step = [&](size_t k) {
    if (edges[k].empty())
      return atEnd;
    for (const Edge &e : edges[k]) {
      auto known = e.predicate < 0 ? assume.end() : assume.find(uint32_t(e.predicate));
      if (seen[e.to] || (known != assume.end() && known->second != e.value))
        continue;
      seen[e.to] = true;
      todo.push_back(e.to);
    }
    return true;
  };
  if (!step(from))
    return false;
  while (!todo.empty()) {
    size_t k = todo.back();
    todo.pop_back();
    const Instruction &i = fn.body[k];
    auto known = i.guard < 0 ? assume.end() : assume.find(uint32_t(i.guard));
    bool certain = i.guard < 0 || known != assume.end(), executed = known == assume.end() || known->second != i.guardNegated;
    if (executed && certain && goal(i))
      continue;
    if ((executed && spoiler(i)) || !step(k))
      return false;
  }
  return true;
}

std::vector<const Instruction *> Flow::until(size_t from, bool forward, const Test &goal, const Predicates &assume) const {
  std::vector<const Instruction *> between;
  std::vector<bool> possible(fn.body.size(), true);
  if (!forward)
    possible = reachable(0, nullptr, assume);
  always(from, forward, goal, [&](const Instruction &i) {
    if (possible[size_t(&i - fn.body.data())])
      between.push_back(&i);
    return false;
  }, true, assume);
  return between;
}

std::vector<bool> Flow::reachable(size_t from, const Edge *barred, const Predicates &assume) const {
  std::vector<bool> seen(fn.body.size(), false);
  std::vector<size_t> todo{from};
  while (!todo.empty()) {
    size_t k = todo.back();
    todo.pop_back();
    for (const Edge &e : next[k]) {
      auto known = e.predicate < 0 ? assume.end() : assume.find(uint32_t(e.predicate));
      if (&e == barred || seen[e.to] || (known != assume.end() && known->second != e.value))
        continue;
      seen[e.to] = true;
      todo.push_back(e.to);
    }
  }
  return seen;
}

Flow::Predicates Flow::certainAt(size_t at) const {
  auto once = [&](uint32_t r) { return definitions[r] == 1 && !reachable(definedAt[r])[definedAt[r]]; };
  Predicates known;
  for (size_t k = 0; k < fn.body.size(); ++k)
    for (const Edge &e : next[k]) {
      if (e.predicate < 0 || next[k].size() != 2 || known.count(uint32_t(e.predicate)) || !once(uint32_t(e.predicate)))
        continue;
      if (at != 0 && !reachable(0, &e)[at])  // no way to `at` but by this edge
        known.emplace(uint32_t(e.predicate), e.value);
    }
  // and(a, b) holds: both do; or(a, b) does not: neither. Backwards, since a predicate is combined after it is computed.
  for (size_t k = fn.body.size(); k-- > 0;) {
    const Instruction &i = fn.body[k];
    if (!(is(i, "or") || is(i, "and")) || !has(i, ".pred") || i.operands.size() != 3 || i.operands[0].kind != Operand::Register)
      continue;
    if (auto p = known.find(i.operands[0].reg); p != known.end() && p->second == bool(is(i, "and")))
      for (const Operand &o : {i.operands[1], i.operands[2]})
        if (o.kind == Operand::Register && !o.negated && once(o.reg))
          known.emplace(o.reg, p->second);
  }
  struct Range { uint64_t low = 0, high = 0xffffffff; };
  std::map<uint32_t, Range> ranges;
  auto comparison = [&](const Instruction &i) {
    return is(i, "setp") && has(i, ".u32") && i.operands.size() == 3 && i.operands[0].kind == Operand::Register && i.operands[1].kind == Operand::Register &&
           i.operands[2].kind == Operand::Integer && i.operands[2].integer >= 0 && once(i.operands[1].reg);
  };
  for (const Instruction &i : fn.body)
    if (comparison(i))
      if (auto p = known.find(i.operands[0].reg); p != known.end() && definitions[p->first] == 1) {
        Range &r = ranges[i.operands[1].reg];
        uint64_t c = uint64_t(i.operands[2].integer);
        if (has(i, ".gt"))
          p->second ? r.low = std::max(r.low, c + 1) : r.high = std::min(r.high, c);
        else if (has(i, ".lt") && c)
          p->second ? r.high = std::min(r.high, c - 1) : r.low = std::max(r.low, c);
      }
  for (const Instruction &i : fn.body) {  // in the order of the text, in which a predicate is computed before it is combined
    if (i.operands.empty() || i.operands[0].kind != Operand::Register || definitions[i.operands[0].reg] != 1 || i.guard >= 0)
      continue;
    uint32_t to = i.operands[0].reg;
    if (comparison(i)) {
      auto r = ranges.find(i.operands[1].reg);
      uint64_t c = uint64_t(i.operands[2].integer);
      if (r != ranges.end() && has(i, ".lt") && (r->second.high < c || r->second.low >= c))
        known.emplace(to, r->second.high < c);
      else if (r != ranges.end() && has(i, ".gt") && (r->second.low > c || r->second.high <= c))
        known.emplace(to, r->second.low > c);
    } else if ((is(i, "or") || is(i, "and")) && has(i, ".pred") && i.operands.size() == 3) {
      bool decides = is(i, "or");
      for (size_t k = 1; k < 3; ++k)
        if (auto p = i.operands[k].kind == Operand::Register && !i.operands[k].negated ? known.find(i.operands[k].reg) : known.end(); p != known.end() && p->second == decides)
          known.emplace(to, decides);
    }
  }
  return known;
}

std::vector<bool> Flow::laneDependent() const {
  std::vector<bool> differs(fn.registers.size(), false), thread(fn.registers.size(), false);
  // In a block of one dimension the number of a warp is that of its threads without the last five bits.
  const bool inRow = fn.reqntid[0] && fn.reqntid[1] <= 1 && fn.reqntid[2] <= 1;
  for (const Instruction &i : fn.body)
    if (inRow && is(i, "mov") && i.operands.size() == 2 && i.operands[0].kind == Operand::Register && i.operands[1].kind == Operand::Special && i.operands[1].text == "%tid.x")
      thread[i.operands[0].reg] = definitions[i.operands[0].reg] == 1;
  auto ofWarp = [&](const Instruction &i) {
    return is(i, "shr") && i.guard < 0 && i.operands.size() == 3 && i.operands[1].kind == Operand::Register && thread[i.operands[1].reg] &&
           i.operands[2].kind == Operand::Integer && i.operands[2].integer >= 5;
  };
  std::vector<uint32_t> written, read;
  for (bool again = true; again;) {
    again = false;
    for (const Instruction &i : fn.body) {
      if (ofWarp(i))
        continue;
      if (i.operands.empty() || i.operands[0].kind == Operand::Address || is(i, "vote") || is(i, "redux") || is(i, "mbarrier") ||
          (is(i, "shfl") && has(i, ".idx") && i.operands.size() == 5 && i.operands[2].kind == Operand::Integer))
        continue;
      bool tainted = is(i, "elect") || is(i, "atom") || (i.guard >= 0 && differs[size_t(i.guard)]);
      read.clear();
      for (size_t k = 1; k < i.operands.size(); ++k) {
        const Operand &o = i.operands[k];
        collect(o, read);
        tainted |= o.kind == Operand::Special && (o.text.substr(0, 4) == "%tid" || o.text.substr(0, 5) == "%lane");
      }
      for (uint32_t r : read)
        tainted |= differs[r];
      written.clear();
      collect(i.operands[0], written);
      for (uint32_t r : written)
        if (tainted && !differs[r])
          differs[r] = again = true;
    }
  }
  return differs;
}

Flow::Predicates Flow::knownAt(size_t at) const {
  Predicates known;
  // Straight back: through branches that were not taken, to the first place that others jump to.
  for (size_t k = at; k > 0 && previous[k].size() == 1 && previous[k][0].to == k - 1; --k) {
    const Edge &e = previous[k][0];
    if (e.predicate >= 0 && definitions[size_t(e.predicate)] == 1)
      known.emplace(uint32_t(e.predicate), e.value);
  }
  return known;
}

Flow::Predicates Flow::notFirstLane() const {
  // %laneid, %tid.x, and %tid.x minus whole warps: zero in the first lane of a warp only.
  std::vector<bool> number(fn.registers.size(), false);
  Predicates p;
  for (const Instruction &i : fn.body) {
    if (i.operands.size() < 2 || i.operands[0].kind != Operand::Register || definitions[i.operands[0].reg] != 1)
      continue;
    uint32_t to = i.operands[0].reg;
    const Operand &a = i.operands[1];
    if (is(i, "mov") && a.kind == Operand::Special && (a.text == "%tid.x" || a.text == "%laneid"))
      number[to] = true;
    else if (is(i, "add") && i.operands.size() == 3 && a.kind == Operand::Register && number[a.reg] && i.operands[2].kind == Operand::Integer && i.operands[2].integer % 32 == 0)
      number[to] = true;
    else if (is(i, "setp") && i.operands.size() == 3 && a.kind == Operand::Register && number[a.reg] && i.operands[2].kind == Operand::Integer && i.operands[2].integer == 0 &&
             (has(i, ".ne") || has(i, ".eq")))
      p[to] = has(i, ".ne");
  }
  return p;
}

} // namespace fovea::mutation
