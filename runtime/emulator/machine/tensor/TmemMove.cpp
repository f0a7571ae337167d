// runtime/emulator/machine/tensor/TmemMove.cpp - tcgen05.ld and st between registers and tensor memory
#include "runtime/emulator/machine/tensor/TmemMove.h"
#include <algorithm>

namespace fovea::emulator {
namespace {

unsigned unpackedRegisters(const TmemAccess &access) {
  switch (access.shape) {
  case TmemShape::S16x128b:
    return 2 * access.repeat;
  case TmemShape::S16x256b:
    return 4 * access.repeat;
  default:
    return access.repeat;
  }
}

/// Columns of one contiguous half, and how many lanes the shape covers.
unsigned columnsOf(const TmemAccess &access) {
  unsigned scale = access.pack16 ? 2 : 1;
  switch (access.shape) {
  case TmemShape::S32x32b:
  case TmemShape::S16x32bx2:
    return scale * access.repeat;
  case TmemShape::S16x64b:
    return scale * 2 * access.repeat;
  case TmemShape::S16x128b:
    return scale * 4 * access.repeat;
  case TmemShape::S16x256b:
    return scale * 8 * access.repeat;
  }
  return 0;
}
unsigned lanesOf(const TmemAccess &access) { return access.shape == TmemShape::S32x32b ? 32 : 16; }

void check(const Tmem &tmem, const TmemAccess &access, uint32_t address, unsigned warp, const char *what) {
  unsigned most = access.shape == TmemShape::S16x128b ? 64 : access.shape == TmemShape::S16x256b ? 32 : 128;
  if (!access.repeat || (access.repeat & (access.repeat - 1)) || access.repeat > most)
    throw Fault(std::string(what) + " repeats .x" + std::to_string(access.repeat) + ", expected a power of two up to .x" +
                std::to_string(most) + " for this shape");
  uint32_t lane = tmemLane(address), quarter = 32 * (warp % 4), covered = lanesOf(access);
  if (lane < quarter || lane + covered > quarter + 32)
    throw Fault(std::string(what) + " of warp " + std::to_string(warp) + " reaches tensor memory lanes " + std::to_string(lane) + ".." +
                std::to_string(lane + covered - 1) + "; a warp may touch lanes " + std::to_string(quarter) + ".." +
                std::to_string(quarter + 31) + " only");
  if (lane % covered)
    throw Fault(std::string(what) + " starts at tensor memory lane " + std::to_string(lane) + ", which is not a multiple of " +
                std::to_string(covered));
  tmem.checkRange(lane, tmemColumn(address), columnsOf(access), what);
  if (access.shape == TmemShape::S16x32bx2)
    tmem.checkRange(lane, tmemColumn(address) + access.splitOffset, columnsOf(access), what);
}

} // namespace

unsigned registerCount(const TmemAccess &access) { return unpackedRegisters(access); }

TmemCell cellOf(const TmemAccess &access, unsigned t, unsigned r) {
  switch (access.shape) {
  case TmemShape::S32x32b:
    return {t, r};
  case TmemShape::S16x64b:
    return {8 * (t % 2) + t / 4, t / 2 % 2 + 2 * r};
  case TmemShape::S16x128b:
    return {t / 4 + 8 * (r % 2), t % 4 + 4 * (r / 2)};
  case TmemShape::S16x256b:
    return {t / 4 + 8 * (r / 2 % 2), 2 * (t % 4) + r % 2 + 8 * (r / 4)};
  case TmemShape::S16x32bx2:
    return {t % 16, r + (t < 16 ? 0 : access.splitOffset)};
  }
  return {0, 0};
}

/// .32x32b, where thread t holds lane t and register r column r: fn(cells of four columns of four lanes, the same in four registers).
template <class Fn> static bool plainCells(Tmem &tmem, const TmemAccess &access, uint32_t address, const WarpRegister *regs, Fn &&fn) {
  if (access.shape != TmemShape::S32x32b || access.pack16 || access.repeat % 4 || std::any_of(regs, regs + access.repeat, [](const WarpRegister &r) { return r.stride != 4; }))
    return false;
  for (unsigned t = 0; t != 32; t += 4)
    for (unsigned r = 0; r != access.repeat; r += 4) {
      uint32_t *cells[4], *lanes[4];
      for (unsigned k = 0; k != 4; ++k) {
        cells[k] = tmem.row(tmemLane(address) + t + k) + tmemColumn(address) + r;
        lanes[k] = static_cast<uint32_t *>(regs[r + k].lanes) + t;
      }
      fn(cells, lanes);
    }
  return true;
}

typedef uint32_t Four __attribute__((vector_size(16), aligned(4), may_alias));

/// Four rows of four to four columns of four.
static void transpose(uint32_t *const from[4], uint32_t *const to[4]) {
  Four r[4], t[4];
  for (int k = 0; k != 4; ++k)
    r[k] = *reinterpret_cast<const Four *>(from[k]);
  for (int k = 0; k != 2; ++k) {
    t[2 * k] = __builtin_shufflevector(r[2 * k], r[2 * k + 1], 0, 4, 1, 5);
    t[2 * k + 1] = __builtin_shufflevector(r[2 * k], r[2 * k + 1], 2, 6, 3, 7);
  }
  for (int k = 0; k != 2; ++k) {
    *reinterpret_cast<Four *>(to[2 * k]) = __builtin_shufflevector(t[k], t[k + 2], 0, 1, 4, 5);
    *reinterpret_cast<Four *>(to[2 * k + 1]) = __builtin_shufflevector(t[k], t[k + 2], 2, 3, 6, 7);
  }
}

void load(Tmem &tmem, const TmemAccess &access, uint32_t address, unsigned warp, const WarpRegister *regs) {
  check(tmem, access, address, warp, "tcgen05.ld");
  touched(access, address, false, [&](const Touched &t) { tmem.noteRead(tmemLane(t.address), tmemColumn(t.address), t.count, t.lanes); });
  if (plainCells(tmem, access, address, regs, [](uint32_t *const cells[4], uint32_t *const lanes[4]) { transpose(cells, lanes); }))
    return;
  for (unsigned r = 0, n = registerCount(access); r != n; ++r)
    for (unsigned t = 0; t != 32; ++t) {
      TmemCell cell = cellOf(access, t, r);
      const uint32_t *row = tmem.row(tmemLane(address) + cell.lane) + tmemColumn(address);
      if (!access.pack16) {
        regs[r].set(t, row[cell.column]);
        continue;
      }
      // The split offset of .16x32bx2 counts physical columns, the rest of the table doubles.
      uint32_t split = access.shape == TmemShape::S16x32bx2 && t >= 16 ? access.splitOffset : 0;
      uint32_t column = 2 * (cell.column - split) + split;
      regs[r].set(t, (row[column] & 0xFFFF) | row[column + 1] << 16);
    }
}

void store(Tmem &tmem, const TmemAccess &access, uint32_t address, unsigned warp, const WarpRegister *regs) {
  check(tmem, access, address, warp, "tcgen05.st");
  touched(access, address, true, [&](const Touched &t) { tmem.markWritten(tmemLane(t.address), tmemColumn(t.address), t.count, t.lanes); });
  if (plainCells(tmem, access, address, regs, [](uint32_t *const cells[4], uint32_t *const lanes[4]) { transpose(lanes, cells); }))
    return;
  for (unsigned r = 0, n = registerCount(access); r != n; ++r)
    for (unsigned t = 0; t != 32; ++t) {
      TmemCell cell = cellOf(access, t, r);
      uint32_t *row = tmem.row(tmemLane(address) + cell.lane) + tmemColumn(address);
      uint32_t value = regs[r].get(t);
      if (!access.pack16) {
        row[cell.column] = value;
        continue;
      }
      uint32_t split = access.shape == TmemShape::S16x32bx2 && t >= 16 ? access.splitOffset : 0;
      uint32_t column = 2 * (cell.column - split) + split;
      row[column] = value & 0xFFFF;
      row[column + 1] = value >> 16;
    }
}

void touched(const TmemAccess &access, uint32_t address, bool write, const TouchedFn &fn) {
  fn({Touched::Tensor, write, 0, address, columnsOf(access), 0, lanesOf(access)});
  if (access.shape == TmemShape::S16x32bx2)
    fn({Touched::Tensor, write, 0, address + access.splitOffset, columnsOf(access), 0, lanesOf(access)});
}

} // namespace fovea::emulator
