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

Flow::Flow(const ptx::Function &fn) : fn(fn), next(fn.body.size()), previous(fn.body.size()), definitions(fn.registers.size(), 0) {
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
      for (uint32_t r : written)
        ++definitions[r];
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
