// runtime/emulator/machine/Lanes.h - the registers of one warp as arrays over 32 lanes, and loops over them.
#pragma once
#include "runtime/emulator/machine/Code.h"
#include <cstdint>
#include <cstring>

namespace fovea::emulator {

/// What arithmetic handlers see of a warp. Registers: predicates one 32-bit mask, 16-bit uint16_t[32] (8-bit too),
/// 32-bit uint32_t[32], 64-bit uint64_t[32], 128-bit two uint64_t[32] (low half first).
struct Lanes {
  uint8_t *regs = nullptr;
  uint32_t active = 0;  ///< lanes that execute the current instruction
  template <class T> T *reg(uint32_t offset) const { return reinterpret_cast<T *>(regs + offset); }
  uint32_t &pred(uint32_t offset) const { return *reinterpret_cast<uint32_t *>(regs + offset); }
};

constexpr uint32_t kAllLanes = 0xffffffffu;
alignas(64) inline constexpr uint32_t kLaneBit[32] = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,  1u << 8,  1u << 9,  1u << 10,
    1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15, 1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21,
    1u << 22, 1u << 23, 1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};

/// d[l] = f(l) for the active lanes. d may be one of f's inputs: lanes never read each other. The results stand in an array of their
/// own until all are there, since a compiler that must ask first whether d is an input takes the lanes one by one when it is.
template <class D, class F> [[gnu::always_inline]] inline void forLanes(const Lanes &w, D *d, F f) {
  alignas(64) D result[32];
  if (w.active == kAllLanes) {
#ifdef __clang__
#pragma clang loop vectorize(enable) unroll(disable)
#endif
    for (int l = 0; l < 32; ++l)
      result[l] = f(l);
  } else {
    std::memcpy(result, d, sizeof result);
    uint32_t m = w.active;
    for (int l = 0; l < 32; ++l)
      if (m & kLaneBit[l])
        result[l] = f(l);
  }
  std::memcpy(d, result, sizeof result);
}

/// A predicate over the active lanes; other lanes keep `old`.
template <class F> [[gnu::always_inline]] inline uint32_t maskLanes(const Lanes &w, uint32_t old, F f) {
  uint32_t m = 0;
  for (int l = 0; l < 32; ++l)
    m |= f(l) ? kLaneBit[l] : 0u;
  return (m & w.active) | (old & ~w.active);
}

/// Runs f(lane) for each active lane, in order.
template <class F> [[gnu::always_inline]] inline void eachLane(uint32_t active, F f) {
  for (uint32_t m = active; m; m &= m - 1)
    f(__builtin_ctz(m));
}

} // namespace fovea::emulator
