// test/mutation/Mutants.h - one kernel with one synchronising instruction deleted, weakened or moved.
#pragma once
#include "runtime/emulator/ptx/Module.h"
#include <string>
#include <vector>

namespace fovea::mutation {

/// What was done to the instruction. Deleted: gone (a wait: passes at once). Weakened: other count, bytes, phase, group
/// number, barrier or a weaker fence. Moved: past the neighbouring run of memory accesses, in the direction that protects less.
enum class Change : uint8_t { Deleted, Weakened, Moved };

struct Mutant {
  Change change = Change::Deleted;
  std::string family;   ///< the instruction up to its first operand-independent modifiers, e.g. "mbarrier.try_wait"
  std::string what;     ///< "deleted", "count + 1", "moved after line 311", ...
  uint32_t line = 0;    ///< of the instruction in the original PTX; lines keep their numbers
  size_t index = 0;     ///< of the instruction in the kernel's body
  std::string text;     ///< the whole module
};

/// All mutants of the module's kernel `name`. Throws ptx::LoadError when `text` does not parse.
std::vector<Mutant> mutantsOf(const std::string &text, const std::string &name);

/// The module with `trap` in place of an instruction of its kernel, under the same guard: who runs it says that he comes there.
std::string trappedAt(const std::string &text, const std::string &name, size_t index);

} // namespace fovea::mutation
