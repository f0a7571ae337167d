// runtime/emulator/machine/tensor/TensorCopy.cpp - tensor (TMA) box copies: geometry, loads and stores
#include "runtime/emulator/machine/tensor/TensorCopy.h"
#include "runtime/emulator/machine/tensor/Fault.h"
#include <algorithm>
#include <optional>

namespace fovea::emulator {
namespace {

/// The 16-bit pattern that out-of-bounds elements get under NaN fill (seen for bf16 on an H200; NaN in every float type).
constexpr uint16_t nanPattern = 0x7FF7;

/// Calls fn(inside the tensor, address of the row's element 0 along the innermost dimension) for the rows of a box, in order.
template <typename Fn> void forEachRow(const TensorMap &map, const BoxPosition &at, Fn &&fn) {
  if (map.im2col) {
    int64_t pixel[5] = {};
    for (unsigned d = 1; d != map.rank; ++d)
      pixel[d] = at.coords[d];
    const unsigned images = map.rank - 1;
    for (uint32_t k = 0; k != map.pixels; ++k) {
      bool inside = true;
      uint64_t base = map.address;
      for (unsigned d = 1; d != map.rank; ++d) {
        int64_t c = pixel[d] + (d != images ? at.offsets[d - 1] : 0);
        inside &= c >= 0 && uint64_t(c) < map.dims[d];
        base += uint64_t(c) * map.strides[d - 1];
      }
      fn(inside, base);
      unsigned d = 1;
      for (; d != images; ++d) {
        pixel[d] += map.elementStrides[d];
        if (pixel[d] <= int64_t(map.dims[d]) - 1 + map.upper[d - 1])
          break;
        pixel[d] = map.lower[d - 1];
      }
      if (d == images)
        ++pixel[images];
    }
    return;
  }
  uint32_t counts[5] = {1, 1, 1, 1, 1};
  for (unsigned i = 1; i != map.rank; ++i)
    counts[i] = at.fourRows ? 4 : boxCount(map, i);
  for (uint32_t i4 = 0; i4 != counts[4]; ++i4)
    for (uint32_t i3 = 0; i3 != counts[3]; ++i3)
      for (uint32_t i2 = 0; i2 != counts[2]; ++i2)
        for (uint32_t i1 = 0; i1 != counts[1]; ++i1) {
          const uint32_t index[5] = {0, i1, i2, i3, i4};
          bool inside = true;
          uint64_t base = map.address;
          for (unsigned d = 1; d != map.rank; ++d) {
            int64_t c = at.fourRows ? int64_t(at.rows[index[d]]) : int64_t(at.coords[d]) + int64_t(index[d]) * map.elementStrides[d];
            inside &= c >= 0 && uint64_t(c) < map.dims[d];
            base += uint64_t(c) * map.strides[d - 1];
          }
          fn(inside, base);
        }
}

/// Calls fn(BoxRun) for every piece; a template, so that copies pay no indirect call.
template <typename Fn> void walkBox(const TensorMap &map, const BoxPosition &at, uint32_t shared, BoxDirection direction, Fn &&fn) {
  bool padded = map.type == MapType::U4Align16 || map.type == MapType::U6Align16;
  uint32_t sharedWidth = sharedBits(map.type), globalWidth = globalBits(map.type);
  uint32_t inner = map.box[0] * sharedWidth / 8;
  uint32_t pitch = map.swizzle == Swizzle::None ? inner : std::max(inner, spanOf(map.swizzle));
  unsigned atom = atomOf(map.swizzle);

  // In-bounds elements of a row: [first, last) of the box's innermost dimension.
  int64_t first = std::max<int64_t>(0, -int64_t(at.coords[0]));
  int64_t last = std::min<int64_t>(map.box[0], int64_t(map.dims[0]) - at.coords[0]);
  last = std::max(last, first);
  // Stores and reductions clip the innermost dimension at 16 bytes of global memory, not at the element (seen on an H200):
  // the rest of the last 16 bytes of a row is written as well.
  int64_t touched = last;
  if (direction != BoxDirection::Load && last > first && globalWidth >= 8) {
    int64_t perUnit = 128 / int64_t(globalWidth), end = at.coords[0] + last;
    touched = std::min<int64_t>(map.box[0], (end + perUnit - 1) / perUnit * perUnit - at.coords[0]);
  }

  uint32_t row = 0;
  forEachRow(map, at, [&](bool rowInBounds, uint64_t base) {
    uint32_t linear = shared + row++ * pitch;
    auto emit = [&](int64_t from, int64_t to, bool inBounds, bool overhang = false) { // elements
      if (padded) {
        for (int64_t e = from; e < to; e += 16)
          fn(BoxRun{base + uint64_t((at.coords[0] + e) * int64_t(globalWidth) / 8), swizzle(map.swizzle, linear + uint32_t(e)),
                    2 * globalWidth, inBounds, overhang});
        return;
      }
      uint32_t byte = uint32_t(from * sharedWidth / 8), end = uint32_t(to * sharedWidth / 8);
      uint64_t global = base + uint64_t(int64_t(at.coords[0]) * int64_t(globalWidth) / 8);
      while (byte < end) {
        uint32_t stop = map.swizzle == Swizzle::None ? end : std::min(end, (linear + byte) / atom * atom + atom - linear);
        fn(BoxRun{global + byte, swizzle(map.swizzle, linear + byte), stop - byte, inBounds, overhang});
        byte = stop;
      }
    };
    if (!rowInBounds) {
      emit(0, map.box[0], false);
      return;
    }
    emit(0, std::min<int64_t>(first, map.box[0]), false);
    emit(first, last, true);
    emit(last, touched, false, true);
    emit(touched, map.box[0], false);
  });
}

/// An overhang may lie behind the end of a buffer, where a chip finds the allocator's padding.
template <typename Fn> void ignoringFaults(Fn &&fn) {
  try {
    fn();
  } catch (const Fault &) {
  }
}

void checkShared(SharedSpan smem, const BoxRun &run) {
  if (uint64_t(run.shared) + run.bytes > smem.size)
    throw Fault("tensor copy touches shared memory at offset " + std::to_string(run.shared) + ", beyond the CTA's " +
                std::to_string(smem.size) + " bytes");
}

} // namespace

/// 256^5 elements of 64 bits still fit.
static uint64_t fullBytes(const TensorMap &map, const BoxPosition &at) {
  return map.box[0] * (at.fourRows ? 4 : boxRows(map)) * sharedBits(map.type) / 8;
}

uint32_t boxBytes(const TensorMap &map, const BoxPosition &at) {
  // Padding of 4- and 6-bit types is not counted: compilers expect the packed bytes.
  return uint32_t(fullBytes(map, at) * globalBits(map.type) / sharedBits(map.type));
}

void checkBox(const TensorMap &map, const BoxPosition &at, uint32_t shared, BoxDirection direction) {
  if (at.im2col != map.im2col)
    throw Fault(std::string("tensor copy of ") + (at.im2col ? "im2col pixels needs a tensor map of cuTensorMapEncodeIm2col" : "a tile needs a tensor map of cuTensorMapEncodeTiled") +
                ", found one for " + (map.im2col ? "im2col" : "tiles"));
  for (unsigned d = 1; map.im2col && d != map.rank - 1; ++d) {
    if (int64_t last = int64_t(map.dims[d]) - 1 + map.upper[d - 1]; at.coords[d] < map.lower[d - 1] || at.coords[d] > last)
      throw Fault("im2col copy starts at " + std::to_string(at.coords[d]) + " in dimension " + std::to_string(d) + ", outside of the bounding box: " +
                  std::to_string(map.lower[d - 1]) + ".." + std::to_string(last));
    if (unsigned most = map.rank == 3 ? 65535 : map.rank == 4 ? 255 : 31; at.offsets[d - 1] > most)
      throw Fault("im2col offset in dimension " + std::to_string(d) + " is " + std::to_string(at.offsets[d - 1]) + ", expected 0.." + std::to_string(most) + " of rank " +
                  std::to_string(map.rank));
  }
  if (shared % 128)
    throw Fault("tensor copy needs a shared address that is a multiple of 128 bytes, found offset " + std::to_string(shared));
  if (fullBytes(map, at) > 232448)
    throw Fault("tensor copy moves a box of " + std::to_string(fullBytes(map, at)) + " bytes, more than a CTA's 232448 bytes of shared memory");
  int64_t startBits = int64_t(at.coords[0]) * globalBits(map.type);
  if (startBits % 128 && map.type != MapType::U4Align8 && globalBits(map.type) >= 8)
    throw Fault("tensor copy starts at innermost coordinate " + std::to_string(at.coords[0]) + ", which is " +
                std::to_string(startBits / 8) + " bytes: not a multiple of 16");
  if (globalBits(map.type) < 8 && map.type != MapType::U4Align8 && at.coords[0] % 128)
    throw Fault("tensor copy of a padded 4/6-bit type starts at innermost coordinate " + std::to_string(at.coords[0]) +
                ": not a multiple of 128");
  if (at.fourRows && (map.rank != 2 || map.box[1] != 1))
    throw Fault("gather4/scatter4 needs a 2-D tensor map whose box has one row, found rank " + std::to_string(map.rank) +
                " and a box of " + std::to_string(map.box[1]) + " rows");
  if (direction == BoxDirection::Load)
    return;
  if (map.type == MapType::U4Align16 || map.type == MapType::U6Align16)
    throw Fault("tensor copy stores a padded 4/6-bit type, which can only be loaded");
  if (at.coords[0] < 0)
    throw Fault("tensor store starts at a negative coordinate: " + std::to_string(at.coords[0]) + " in dimension 0");
  for (unsigned i = 1; i != map.rank; ++i)
    for (unsigned r = 0; r != (at.fourRows ? 4u : 1u); ++r) {
      int32_t c = at.fourRows ? at.rows[r] : at.coords[i];
      if (c < 0)
        throw Fault("tensor store starts at a negative coordinate: " + std::to_string(c) + " in dimension " + std::to_string(i));
    }
}

/// The usual box: whole inside the tensor, swizzled in 16-byte atoms or not at all. Nothing: left to walkBox.
struct WholeBox {
  uint32_t inner, pitch, rows = 1;  ///< bytes of a row, and from one to the next in shared memory
  uint32_t counts[5] = {1, 1, 1, 1, 1};
  uint64_t first, extent;           ///< global address of the first row; bytes from there to the end of the last
};
static std::optional<WholeBox> wholeBox(const TensorMap &map, const BoxPosition &at) {
  uint32_t width = sharedBits(map.type);
  WholeBox b;
  b.inner = map.box[0] * width / 8;
  if (at.fourRows || map.im2col || width < 8 || map.type == MapType::U4Align16 || map.type == MapType::U6Align16 || b.inner % 16 || atomOf(map.swizzle) != 16 ||
      spanOf(map.swizzle) < (map.swizzle == Swizzle::None ? 0 : b.inner))
    return std::nullopt;
  b.pitch = map.swizzle == Swizzle::None ? b.inner : spanOf(map.swizzle);
  b.first = map.address + uint64_t(at.coords[0]) * width / 8;
  b.extent = b.inner;
  for (unsigned d = 0; d != map.rank; ++d) {
    uint32_t count = d ? boxCount(map, d) : map.box[0];
    int64_t last = int64_t(at.coords[d]) + int64_t(count - 1) * (d ? map.elementStrides[d] : 1);
    if (at.coords[d] < 0 || last >= int64_t(map.dims[d]))
      return std::nullopt;
    if (!d)
      continue;
    b.counts[d] = count;
    b.rows *= count;
    b.first += uint64_t(at.coords[d]) * map.strides[d - 1];
    b.extent += uint64_t(count - 1) * map.elementStrides[d] * map.strides[d - 1];
  }
  return b;
}

/// fn(number, bytes behind the first row) for each row.
template <typename Fn> static void forRows(const TensorMap &map, const WholeBox &b, Fn &&fn) {
  uint64_t step[5] = {};
  for (unsigned d = 1; d != map.rank; ++d)
    step[d] = map.elementStrides[d] * map.strides[d - 1];
  uint32_t row = 0;
  for (uint32_t i4 = 0; i4 != b.counts[4]; ++i4)
    for (uint32_t i3 = 0; i3 != b.counts[3]; ++i3)
      for (uint32_t i2 = 0; i2 != b.counts[2]; ++i2)
        for (uint32_t i1 = 0; i1 != b.counts[1]; ++i1, ++row)
          fn(row, i1 * step[1] + i2 * step[2] + i3 * step[3] + i4 * step[4]);
}

static bool loadWholeBox(const TensorMap &map, const BoxPosition &at, GlobalPort &global, SharedSpan smem, uint32_t shared) {
  std::optional<WholeBox> b = wholeBox(map, at);
  if (!b || uint64_t(shared) + uint64_t(b->rows) * b->pitch > smem.size)
    return false;
  const uint8_t *bytes = global.view(b->first, b->extent);
  if (!bytes)
    return false;
  auto copy = [&](uint32_t row, const uint8_t *from) {
    uint32_t linear = shared + row * b->pitch;
    if (map.swizzle == Swizzle::None)
      std::memcpy(smem.data + linear, from, b->inner);
    else
      for (uint32_t k = 0; k != b->inner; k += 16)
        std::memcpy(smem.data + swizzle(map.swizzle, linear + k), from + k, 16);
  };
  // Rows lie far apart, each in a page of its own as often as not: they are asked for some rows before they are copied.
  constexpr uint32_t kAhead = 16;
  const uint8_t *asked[kAhead];
  forRows(map, *b, [&](uint32_t row, uint64_t behind) {
    if (row >= kAhead)
      copy(row - kAhead, asked[row % kAhead]);
    asked[row % kAhead] = bytes + behind;
    for (uint32_t k = 0; k < b->inner; k += 64)
      __builtin_prefetch(bytes + behind + k);
  });
  for (uint32_t row = b->rows - std::min(b->rows, kAhead); row != b->rows; ++row)
    copy(row, asked[row % kAhead]);
  return true;
}

void boxTouches(const TensorMap &map, const BoxPosition &at, uint32_t shared, BoxDirection direction, const BoxTouchFn &fn) {
  BoxTouch rows{true, 0, 0, true};
  auto global = [&](uint64_t from, uint32_t bytes) {
    if (rows.bytes && rows.count == 1 && rows.address + rows.bytes == from) {  // rows that follow each other, together
      rows.bytes += bytes;
      return;
    }
    if (rows.bytes == bytes && rows.count == 1)
      rows.stride = from - rows.address;
    if (rows.bytes == bytes && rows.address + rows.count * rows.stride == from) {
      ++rows.count;
      return;
    }
    if (rows.bytes)
      fn(rows);
    rows = {true, from, bytes, true};
  };
  if (std::optional<WholeBox> b = wholeBox(map, at); b && b->inner == b->pitch) {  // swizzles exchange bytes inside a row
    fn({false, shared, b->rows * b->pitch, true});
    forRows(map, *b, [&](uint32_t, uint64_t behind) { global(b->first + behind, b->inner); });
  } else {
    walkBox(map, at, shared, direction, [&](const BoxRun &r) {
      fn({false, r.shared, r.bytes, r.inBounds});
      if (r.inBounds)
        global(r.global, r.bytes);
    });
  }
  if (rows.bytes)
    fn(rows);
}

void boxRange(const TensorMap &map, const BoxPosition &at, uint32_t shared, uint32_t limit, uint32_t &begin, uint32_t &end) {
  // Swizzles exchange bytes inside lines of 128: the lines that the box covers, unless they reach too far.
  uint32_t inner = map.box[0] * sharedBits(map.type) / 8, pitch = map.swizzle == Swizzle::None ? inner : std::max(inner, spanOf(map.swizzle));
  uint64_t last = shared + (at.fourRows ? 4 : boxRows(map)) * pitch;
  if (map.swizzle != Swizzle::None)
    last = (last + 127) / 128 * 128;
  if (shared % 128 == 0 && last <= limit) {
    begin = shared, end = uint32_t(last);
    return;
  }
  begin = ~0u, end = 0;
  walkBox(map, at, shared, BoxDirection::Load, [&](const BoxRun &r) {
    begin = std::min(begin, r.shared);
    end = std::max(end, r.shared + r.bytes);
  });
  if (begin > end)
    begin = end = shared;
}

void loadBox(const TensorMap &map, const BoxPosition &at, GlobalPort &global, SharedSpan smem, uint32_t shared) {
  checkBox(map, at, shared, BoxDirection::Load);
  if (loadWholeBox(map, at, global, smem, shared))
    return;
  walkBox(map, at, shared, BoxDirection::Load, [&](const BoxRun &run) {
    checkShared(smem, run);
    uint8_t *to = smem.data + run.shared;
    if (run.inBounds) {
      global.read(run.global, to, run.bytes);
    } else if (!map.nanFill) {
      std::memset(to, 0, run.bytes);
    } else {
      for (uint32_t i = 0; i != run.bytes; ++i)
        to[i] = uint8_t(nanPattern >> 8 * (i % 2));
    }
  });
}

void storeBox(const TensorMap &map, const BoxPosition &at, GlobalPort &global, SharedSpan smem, uint32_t shared) {
  checkBox(map, at, shared, BoxDirection::Store);
  walkBox(map, at, shared, BoxDirection::Store, [&](const BoxRun &run) {
    checkShared(smem, run);
    if (run.inBounds)
      global.write(run.global, smem.data + run.shared, run.bytes);
    else if (run.overhang)
      ignoringFaults([&] { global.write(run.global, smem.data + run.shared, run.bytes); });
  });
}

void reduceBox(const TensorMap &map, const BoxPosition &at, ReduceOp op, GlobalPort &global, SharedSpan smem, uint32_t shared) {
  checkBox(map, at, shared, BoxDirection::Reduce);
  uint32_t es = globalBits(map.type) / 8;
  if (!es)
    throw Fault("tensor reduction of a 4- or 6-bit type");
  walkBox(map, at, shared, BoxDirection::Reduce, [&](const BoxRun &run) {
    checkShared(smem, run);
    auto reduce = [&] {
      for (uint32_t i = 0; i != run.bytes; i += es)
        global.modify(run.global + i, es, [&](void *value) { reduceElement(map.type, op, value, smem.data + run.shared + i); });
    };
    if (run.inBounds)
      reduce();
    else if (run.overhang)
      ignoringFaults(reduce);
  });
}

} // namespace fovea::emulator
