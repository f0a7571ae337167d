// runtime/emulator/machine/tensor/TensorMapLayout.cpp - the opaque 128 bytes: write, read, edit (read off real maps)
#include "runtime/emulator/machine/tensor/Fault.h"
#include "runtime/emulator/machine/tensor/TensorMap.h"
#include <cstring>

namespace fovea::emulator {
namespace {

/// Type codes inside the object, by MapType; tf32 is f32 (or f32_ftz) with bit 16 of word 2.
constexpr uint8_t codeOf[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 7, 8, 11, 12, 13};
constexpr MapType typeOf[] = {MapType::U8,  MapType::U16,    MapType::U32, MapType::S32,  MapType::U64,      MapType::S64,       MapType::F16,
                              MapType::F32, MapType::F32Ftz, MapType::F64, MapType::BF16, MapType::U4Align8, MapType::U4Align16, MapType::U6Align16};
/// Element types as tensormap.replace numbers them.
constexpr MapType replaceTypes[] = {MapType::U8,      MapType::U16,      MapType::U32,       MapType::S32,
                                    MapType::U64,     MapType::S64,      MapType::F16,       MapType::F32,
                                    MapType::F32Ftz,  MapType::F64,      MapType::BF16,      MapType::TF32,
                                    MapType::TF32Ftz, MapType::U4Align8, MapType::U4Align16, MapType::U6Align16};

uint32_t word(const uint8_t *bytes, unsigned index) {
  uint32_t v;
  std::memcpy(&v, bytes + 4 * index, 4);
  return v;
}
void setWord(uint8_t *bytes, unsigned index, uint32_t v) { std::memcpy(bytes + 4 * index, &v, 4); }
unsigned field(uint32_t w, unsigned low, unsigned count) { return w >> low & ((1u << count) - 1); }
void setField(uint8_t *bytes, unsigned index, unsigned low, unsigned count, uint32_t v) {
  uint32_t mask = ((1u << count) - 1) << low;
  setWord(bytes, index, (word(bytes, index) & ~mask) | (v << low & mask));
}

void setType(uint8_t *bytes, MapType type) {
  setField(bytes, 2, 7, 4, codeOf[unsigned(type)]);
  setField(bytes, 2, 16, 1, type == MapType::TF32 || type == MapType::TF32Ftz);
}
void setStride(uint8_t *bytes, unsigned index, uint64_t stride) {
  setWord(bytes, 3 + index, uint32_t(stride >> 4));
  setField(bytes, 7, 4 * index, 4, uint32_t(stride >> 36));
}
/// Mode and atom of a swizzle: 128B modes share code 3, the atom (PTX: 0 16B, 1 32B, 2 32B + 8B flip, 3 64B) beside it.
unsigned modeOf(Swizzle s) { return s > Swizzle::B128 ? 3 : unsigned(s); }
unsigned atomCode(Swizzle s) { return s > Swizzle::B128 ? unsigned(s) - unsigned(Swizzle::B128) : 0; }

} // namespace

void encodeTensorMap(const TensorMap &map, uint8_t out[128]) {
  std::memset(out, 0, 128);
  std::memcpy(out, &map.address, 8);
  setField(out, 2, 4, 3, map.rank - 1);
  setType(out, map.type);
  setField(out, 2, 11, 2, map.interleave);
  setField(out, 2, 13, 2, modeOf(map.swizzle));
  setField(out, 2, 15, 1, map.nanFill);
  setField(out, 2, 17, 2, map.l2Promotion);
  setField(out, 2, 19, 2, atomCode(map.swizzle));
  uint64_t copied = sharedBits(map.type);
  for (unsigned i = 0; i != map.rank; ++i) {
    if (i)
      setStride(out, i - 1, map.strides[i - 1]);
    setWord(out, 8 + i, uint32_t(map.dims[i] - 1));
    setField(out, 13, 3 * i, 3, map.elementStrides[i] - 1);
    out[55 + i] = uint8_t(map.box[i] - 1);
    copied *= map.im2col ? map.box[i] : map.box[i] / map.elementStrides[i];
  }
  if (map.im2col) {
    setField(out, 2, 22, 1, 1);
    for (unsigned k = 0; k != 3; ++k)
      setWord(out, 20 + k, uint32_t(uint16_t(map.lower[k])) | uint32_t(map.upper[k]) << 16);
    setWord(out, 23, map.pixels);
    copied *= map.pixels;
  }
  // Derived by the driver: the bytes of a box, and the alignment at which the swizzle pattern starts anew.
  setWord(out, 16, uint32_t(copied / 8));
  setWord(out, 18, map.swizzle == Swizzle::None ? 16 : 8 * spanOf(map.swizzle));
}

TensorMap decodeTensorMap(const uint8_t bytes[128]) {
  TensorMap map;
  uint32_t head = word(bytes, 2);
  map.rank = field(head, 4, 3) + 1;
  if (map.rank > 5)
    throw Fault("tensor map has rank " + std::to_string(map.rank) + ", expected 1..5: these 128 bytes are no tensor map");
  unsigned code = field(head, 7, 4);
  if (code >= sizeof typeOf / sizeof *typeOf)
    throw Fault("tensor map has element type code " + std::to_string(code) + ", expected 0..13: these 128 bytes are no tensor map");
  map.type = typeOf[code];
  if (field(head, 16, 1))
    map.type = map.type == MapType::F32Ftz ? MapType::TF32Ftz : MapType::TF32;
  map.interleave = field(head, 11, 2);
  if (map.interleave)
    throw Fault("tensor map has an interleaved layout, which is not modelled");
  map.swizzle = Swizzle(field(head, 13, 2));
  if (map.swizzle == Swizzle::B128)
    map.swizzle = Swizzle(unsigned(Swizzle::B128) + field(head, 19, 2));
  map.nanFill = field(head, 15, 1);
  map.l2Promotion = field(head, 17, 2);
  std::memcpy(&map.address, bytes, 8);
  for (unsigned i = 0; i != map.rank; ++i) {
    if (i)
      map.strides[i - 1] = uint64_t(word(bytes, 2 + i)) << 4 | uint64_t(field(word(bytes, 7), 4 * (i - 1), 4)) << 36;
    map.dims[i] = uint64_t(word(bytes, 8 + i)) + 1;
    map.elementStrides[i] = field(word(bytes, 13), 3 * i, 3) + 1;
    map.box[i] = bytes[55 + i] + 1u;
  }
  map.im2col = field(head, 22, 1);
  for (unsigned k = 0; map.im2col && k != 3; ++k) {
    map.lower[k] = int16_t(word(bytes, 20 + k));
    map.upper[k] = int16_t(word(bytes, 20 + k) >> 16);
  }
  if (map.im2col && (map.rank < 3 || (map.pixels = word(bytes, 23)) > 1024 || !map.pixels))
    throw Fault("tensor map for im2col has rank " + std::to_string(map.rank) + " and " + std::to_string(map.pixels) + " pixels, expected 3 to 5 and 1 to 1024");
  unsigned inner = map.box[0] * sharedBits(map.type) / 8;
  if (inner % 16)
    throw Fault("tensor map has a box of " + std::to_string(inner) +
                " bytes innermost, expected a multiple of 16: the map is not initialised, or was edited wrongly");
  if (map.swizzle != Swizzle::None && inner > spanOf(map.swizzle))
    throw Fault("tensor map has a box of " + std::to_string(inner) + " bytes innermost, more than its swizzle's span of " +
                std::to_string(spanOf(map.swizzle)));
  return map;
}

void replaceField(uint8_t bytes[128], MapField what, unsigned ordinal, uint64_t value) {
  bool perDimension = what == MapField::BoxDim || what == MapField::GlobalDim || what == MapField::GlobalStride ||
                      what == MapField::ElementStride;
  unsigned last = what == MapField::GlobalStride ? 3 : 4;
  if (perDimension && ordinal > last)
    throw Fault("tensormap.replace names dimension " + std::to_string(ordinal) + ", expected 0.." + std::to_string(last));
  auto limit = [&](uint64_t most, const char *name) {
    if (value > most)
      throw Fault(std::string("tensormap.replace sets ") + name + " to " + std::to_string(value) + ", expected at most " +
                  std::to_string(most));
  };
  auto range = [&](uint64_t most, const char *name) {
    if (value < 1)
      throw Fault(std::string("tensormap.replace sets ") + name + " to 0, expected at least 1");
    limit(most, name);
  };
  switch (what) {
  case MapField::GlobalAddress:
    if (value % 16)
      throw Fault("tensormap.replace sets a global address that is not a multiple of 16 bytes");
    std::memcpy(bytes, &value, 8);
    break;
  case MapField::Rank:
    limit(4, "the rank (minus one)");
    setField(bytes, 2, 4, 3, uint32_t(value));
    break;
  case MapField::BoxDim:
    range(256, "a box dimension");
    bytes[55 + ordinal] = uint8_t(value - 1);
    break;
  case MapField::GlobalDim:
    setWord(bytes, 8 + ordinal, uint32_t(value) - 1);
    break;
  case MapField::GlobalStride:
    if (value % 16 || value >> 40)
      throw Fault("tensormap.replace sets a stride of " + std::to_string(value) + ", expected a multiple of 16 below 2^40");
    setStride(bytes, ordinal, value);
    break;
  case MapField::ElementStride:
    range(8, "an element stride");
    setField(bytes, 13, 3 * ordinal, 3, uint32_t(value - 1));
    break;
  case MapField::Elemtype:
    limit(15, "the element type");
    setType(bytes, replaceTypes[value]);
    break;
  case MapField::InterleaveLayout:
    limit(2, "the interleave layout");
    setField(bytes, 2, 11, 2, uint32_t(value));
    break;
  case MapField::SwizzleMode:
    limit(3, "the swizzle mode");
    setField(bytes, 2, 13, 2, uint32_t(value));
    break;
  case MapField::SwizzleAtomicity:
    limit(3, "the swizzle atomicity");
    setField(bytes, 2, 19, 2, uint32_t(value));
    break;
  case MapField::FillMode:
    limit(1, "the fill mode");
    setField(bytes, 2, 15, 1, uint32_t(value));
    break;
  }
}

} // namespace fovea::emulator
