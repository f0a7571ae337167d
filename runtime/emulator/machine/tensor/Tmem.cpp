// runtime/emulator/machine/tensor/Tmem.cpp - tensor memory: allocation, contents
#include "runtime/emulator/machine/tensor/Tmem.h"
#include <algorithm>

namespace fovea::emulator {
namespace {

/// fn(word, mask) for the 64-column words that hold columns [column, column + count).
template <typename Fn> void forEachWord(uint32_t column, uint32_t count, Fn &&fn) {
  for (uint32_t end = column + count; column < end;) {
    uint32_t low = column % 64, n = std::min(64 - low, end - column);
    fn(column / 64, (n == 64 ? ~uint64_t(0) : (uint64_t(1) << n) - 1) << low);
    column += n;
  }
}

} // namespace

Tmem::Tmem(uint32_t garbage) : garbage(garbage) {
  for (auto &lane : cells)
    lane.fill(garbage);
}

std::optional<uint32_t> Tmem::allocate(uint32_t count) {
  if (count < 32 || count > columns || (count & (count - 1)))
    throw Fault("tcgen05.alloc needs 32, 64, 128, 256 or 512 columns, found " + std::to_string(count));
  if (relinquished)
    throw Fault("tcgen05.alloc after tcgen05.relinquish_alloc_permit: this CTA has given up its right to allocate");
  if (count > lastCount)
    throw Fault("tcgen05.alloc of " + std::to_string(count) + " columns after one of " + std::to_string(lastCount) +
                ": allocations of a CTA must not grow");
  for (uint32_t base = 0; base + count <= columns; base += count) {
    if (std::any_of(owned.begin() + base, owned.begin() + base + count, [](bool b) { return b; }))
      continue;
    std::fill_n(owned.begin() + base, count, true);
    allocations.push_back({base, count});
    lastCount = count;
    for (unsigned lane = 0; lane != lanes; ++lane) {
      std::fill_n(cells[lane].begin() + base, count, garbage);
      forEachWord(base, count, [&](unsigned word, uint64_t mask) { written[lane][word] &= ~mask; });
    }
    return tmemAddress(0, base);
  }
  return std::nullopt;
}

void Tmem::deallocate(uint32_t address, uint32_t count) {
  auto it = std::find_if(allocations.begin(), allocations.end(), [&](const Allocation &a) {
    return tmemAddress(0, a.column) == address && a.count == count;
  });
  if (it == allocations.end())
    throw Fault("tcgen05.dealloc of " + std::to_string(count) + " columns at address " + std::to_string(address) +
                " matches no live allocation of this CTA");
  std::fill_n(owned.begin() + it->column, count, false);
  allocations.erase(it);
}

void Tmem::checkRange(uint32_t lane, uint32_t column, uint32_t count, const char *what) const {
  if (lane >= lanes || uint64_t(column) + count > columns)
    throw Fault(std::string(what) + " reaches tensor memory lane " + std::to_string(lane) + ", columns " + std::to_string(column) + ".." +
                std::to_string(uint64_t(column) + count - 1) + "; there are 128 lanes and 512 columns");
  if (!std::all_of(owned.begin() + column, owned.begin() + column + count, [](bool b) { return b; }))
    throw Fault(std::string(what) + " reaches tensor memory columns " + std::to_string(column) + ".." + std::to_string(column + count - 1) +
                ", which are not all allocated");
}

void Tmem::markWritten(uint32_t lane, uint32_t column, uint32_t count, uint32_t lanes) {
  forEachWord(column, count, [&](unsigned word, uint64_t mask) {
    for (uint32_t l = lane; l != lane + lanes; ++l)
      written[l][word] |= mask;
  });
}

void Tmem::noteRead(uint32_t lane, uint32_t column, uint32_t count, uint32_t lanes) {
  if (uninitialised)
    return;
  bool all = true;
  forEachWord(column, count, [&](unsigned word, uint64_t mask) {
    for (uint32_t l = lane; l != lane + lanes; ++l)
      all &= !(mask & ~written[l][word]);
  });
  for (uint32_t l = lane; !all && !uninitialised; ++l)
    forEachWord(column, count, [&](unsigned word, uint64_t mask) {
      if (uint64_t missing = mask & ~written[l][word]; missing && !uninitialised)
        uninitialised = tmemAddress(l, 64 * word + unsigned(__builtin_ctzll(missing)));
    });
}

std::optional<uint32_t> Tmem::takeUninitialised() {
  auto first = uninitialised;
  uninitialised.reset();
  return first;
}

} // namespace fovea::emulator
