// runtime/emulator/machine/MemoryAccess.h - from a PTX address to bytes, with bounds, alignment and hooks.
#pragma once
#include "runtime/emulator/machine/Decoder.h"
#include "runtime/emulator/machine/Machine.h"

namespace fovea::emulator {

/// The state space an instruction names, as the machine distinguishes them.
enum class Where : uint8_t { Generic, Global, Shared, Local, Param };

/// Takes the state-space modifiers of ld, st, atom, red and the like; Generic when there is none.
Where takeSpace(Decoder &d, bool allowParam = false);

/// Bytes of one thread's access. Throws a located Fault: out of bounds, misaligned (`align`), read-only window.
/// The observer, if any, hears of it.
uint8_t *accessAt(Warp &w, const Inst &i, Where where, uint64_t address, uint32_t bytes, uint32_t align, int lane, Access access);

inline uint64_t addressOf(const Warp &w, uint32_t base, bool wide, int64_t offset, int lane) {
  return (wide ? w.reg<uint64_t>(base)[lane] : w.reg<uint32_t>(base)[lane]) + uint64_t(offset);
}

/// A finding when bytes on their way to global memory still hold the poison that unwritten memory and registers start with.
void reportPoison(const Warp &w, uint32_t line, int lane, const uint8_t *data, size_t bytes, const char *what);

/// Address of a thread's mbarrier or shared operand in the 32-bit shared window, from a shared or generic address.
uint32_t sharedAddress(Warp &w, Where where, uint64_t address, int lane, const char *what);

} // namespace fovea::emulator
