// test/mutation/Flow.h - the paths of a kernel: what lies between an instruction and the next one of some kind.
#pragma once
#include "runtime/emulator/ptx/Module.h"
#include <functional>
#include <map>
#include <string_view>
#include <vector>

namespace fovea::mutation {

bool has(const ptx::Instruction &i, std::string_view modifier);
/// Opcode, and first modifier if given.
bool is(const ptx::Instruction &i, std::string_view opcode, std::string_view first = {});
/// An instruction that touches memory, or makes somebody else touch it.
bool isAccess(const ptx::Instruction &i);
/// The registers of these operands, vectors and addresses included.
bool names(const ptx::Operand &o, const std::vector<uint32_t> &registers);
void collect(const ptx::Operand &o, std::vector<uint32_t> &registers);

/// Control flow of a kernel without calls. `valid` is false for one that it cannot follow (brx, call).
class Flow {
public:
  explicit Flow(const ptx::Function &fn);
  bool valid = true;

  using Test = std::function<bool(const ptx::Instruction &)>;
  /// On every path from `from` (not included), forward or backward: is a `goal` met, with no `spoiler` before it?
  /// A guarded goal may be skipped, so it does not count. `atEnd`: does reaching the end (or beginning) count as a goal?
  /// `assume`: values of predicates for the thread that is followed; what they rule out it does not execute.
  using Predicates = std::map<uint32_t, bool>;
  bool always(size_t from, bool forward, const Test &goal, const Test &spoiler, bool atEnd = false, const Predicates &assume = {}) const;
  /// What a thread may execute between `from` (not included) and the next `goal` that is certain, forward or backward.
  std::vector<const ptx::Instruction *> until(size_t from, bool forward, const Test &goal, const Predicates &assume = {}) const;
  /// The values of predicates that a thread at this instruction has found in the branches just before it.
  Predicates knownAt(size_t at) const;
  /// Predicates that hold their value whenever a thread comes by `at`, and for ever: branches that every path to `at` takes one
  /// way, on registers written once, and comparisons of those registers with constants. They tell one role from another.
  Predicates certainAt(size_t at) const;
  /// Registers that may differ between the lanes of a warp: what is computed from the thread's number, short of the number of
  /// its warp, shuffles from one lane and votes.
  std::vector<bool> laneDependent() const;
  /// Predicates that are so for every lane but the first: comparisons of the lane or thread number with zero.
  Predicates notFirstLane() const;

private:
  struct Edge { size_t to; int32_t predicate; bool value; };  ///< predicate -1: always
  const ptx::Function &fn;
  std::vector<std::vector<Edge>> next, previous;
  std::vector<int> definitions;  ///< per register: number of instructions that write it
  std::vector<size_t> definedAt; ///< the last of them
  /// What can be executed after `from`, without passing `barred` and what the predicates rule out.
  std::vector<bool> reachable(size_t from, const Edge *barred = nullptr, const Predicates &assume = {}) const;
};

} // namespace fovea::mutation
