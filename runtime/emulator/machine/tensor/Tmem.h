// runtime/emulator/machine/tensor/Tmem.h - tensor memory: 128 lanes x 512 columns, allocation, contents
#pragma once
#include "runtime/emulator/machine/tensor/Fault.h"
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace fovea::emulator {

/// A TMEM address: lane in bits 31:16, column in 15:0 (PTX ISA, "Tensor Memory Addressing").
constexpr uint32_t tmemAddress(uint32_t lane, uint32_t column) { return lane << 16 | column; }
constexpr uint32_t tmemLane(uint32_t address) { return address >> 16; }
constexpr uint32_t tmemColumn(uint32_t address) { return address & 0xFFFF; }

/// The tensor memory of one CTA. Not thread-safe. Starts poisoned; a cell counts as written from its first store until
/// its columns are allocated again.
class Tmem {
public:
  static constexpr unsigned lanes = 128, columns = 512;
  static constexpr uint32_t poison = 0x7FA0DEAD; ///< a signalling NaN in f32, NaNs in bf16/f16 halves

  struct Allocation {
    uint32_t column, count;
  };

  /// tcgen05.alloc: base address (lane 0), or nothing when no free run of `count` columns exists now (the warp blocks).
  /// Throws Fault: count not in {32, 64, 128, 256, 512}, growing allocation, after relinquish.
  std::optional<uint32_t> allocate(uint32_t count);
  /// tcgen05.dealloc. Throws Fault when (address, count) is no live allocation.
  void deallocate(uint32_t address, uint32_t count);
  void relinquish() { relinquished = true; }
  bool hasRelinquished() const { return relinquished; }
  const std::vector<Allocation> &live() const { return allocations; }

  /// Throws Fault unless lanes and columns exist and every column belongs to a live allocation.
  void checkRange(uint32_t lane, uint32_t column, uint32_t count, const char *what) const;

  /// Cells of one lane, unchecked.
  uint32_t *row(uint32_t lane) { return cells[lane].data(); }
  const uint32_t *row(uint32_t lane) const { return cells[lane].data(); }

  /// `count` columns of each of `lanes` lanes from `lane` on.
  void markWritten(uint32_t lane, uint32_t column, uint32_t count, uint32_t lanes = 1);
  /// Notes a read; the first unwritten cell since the last takeUninitialised() is remembered.
  void noteRead(uint32_t lane, uint32_t column, uint32_t count, uint32_t lanes = 1);
  /// Address of the first unwritten cell that was read since the last call.
  std::optional<uint32_t> takeUninitialised();

  /// `garbage`: what unwritten cells hold.
  explicit Tmem(uint32_t garbage = poison);

private:
  std::array<std::array<uint32_t, columns>, lanes> cells;
  std::array<std::array<uint64_t, columns / 64>, lanes> written{}; ///< one bit per cell
  std::array<bool, columns> owned{};
  std::vector<Allocation> allocations;
  uint32_t lastCount = columns;
  uint32_t garbage;
  bool relinquished = false;
  std::optional<uint32_t> uninitialised;
};

} // namespace fovea::emulator
