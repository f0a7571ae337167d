// runtime/emulator/machine/tensor/TensorMap.cpp - check the arguments of a tensor map
#include "runtime/emulator/machine/tensor/TensorMap.h"

namespace fovea::emulator {

unsigned globalBits(MapType type) {
  static const uint8_t bits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
  return bits[unsigned(type)];
}

unsigned sharedBits(MapType type) {
  return type == MapType::U4Align16 || type == MapType::U6Align16 ? 8 : globalBits(type);
}

bool isFloat(MapType type) { return type >= MapType::F16 && type <= MapType::TF32Ftz; }

unsigned boxCount(const TensorMap &map, unsigned dimension) {
  if (dimension == 0)
    return map.box[0];
  return (map.box[dimension] + map.elementStrides[dimension] - 1) / map.elementStrides[dimension];
}

uint64_t boxRows(const TensorMap &map) {
  uint64_t rows = map.im2col ? map.pixels : 1;
  for (unsigned d = 1; d != map.rank && !map.im2col; ++d)
    rows *= boxCount(map, d);
  return rows;
}

/// What cuTensorMapEncodeIm2col asks of its own arguments, into `map`, whose dimensions are known.
static std::string validateIm2col(const TensorMapArguments &a, TensorMap &map) {
  auto number = [](int64_t v) { return std::to_string(v); };
  if (!a.lowerCorner || !a.upperCorner)
    return "pixelBoxLowerCorner and pixelBoxUpperCorner must not be null";
  if (a.rank < 3)
    return "im2col needs rank 3, 4 or 5, found " + number(a.rank);
  const int32_t most = a.rank == 3 ? 32767 : a.rank == 4 ? 127 : 15;
  for (unsigned k = 0; k != a.rank - 2; ++k) {
    for (const int32_t *corner : {a.lowerCorner, a.upperCorner})
      if (corner[k] < -most - 1 || corner[k] > most)
        return "pixel box corners of rank " + number(a.rank) + " are " + number(-most - 1) + ".." + number(most) + ", found " + number(corner[k]);
    map.lower[k] = a.lowerCorner[k], map.upper[k] = a.upperCorner[k];
    if (int64_t last = int64_t(a.dims[k + 1]) - 1 + map.upper[k]; last < map.lower[k])
      return "the pixel box must not be empty, found " + number(map.lower[k]) + ".." + number(last) + " in dimension " + number(k + 1);
  }
  if (a.pixelsPerColumn < 1 || a.pixelsPerColumn > 1024)
    return "pixelsPerColumn must be 1..1024, found " + number(a.pixelsPerColumn);
  map.im2col = true;
  map.pixels = a.pixelsPerColumn;
  return "";
}

std::string validateTensorMap(const TensorMapArguments &a, TensorMap &map) {
  auto number = [](uint64_t v) { return std::to_string(v); };
  if (a.rank < 1 || a.rank > 5)
    return "rank must be 1..5, found " + number(a.rank);
  const bool im2col = a.im2col;
  const uint32_t channels[5] = {a.channelsPerPixel, 1, 1, 1, 1}, *box = im2col ? channels : a.box;
  const char *inner0 = im2col ? "channelsPerPixel" : "boxDim[0]";
  if (!a.dims || !box || !a.elementStrides || (a.rank > 1 && !a.strides))
    return std::string("globalDim, globalStrides") + (im2col ? "" : ", boxDim") + " and elementStrides must not be null";
  if (a.type < 0 || a.type > 15)
    return "unknown element type " + std::to_string(a.type);
  MapType type = MapType(a.type);
  bool subByte = type >= MapType::U4Align8, padded = subByte && type != MapType::U4Align8;
  if (subByte && !a.hasSubByteAndAtoms)
    return "4- and 6-bit element types need sm_100 or later";
  if (a.interleave != 0)
    return "interleaved layouts are not supported; use CU_TENSOR_MAP_INTERLEAVE_NONE";
  if (a.swizzle < 0 || a.swizzle > 6)
    return "unknown swizzle " + std::to_string(a.swizzle);
  Swizzle swizzle = Swizzle(a.swizzle);
  if (swizzle > Swizzle::B128 && !a.hasSubByteAndAtoms)
    return "128-byte swizzles with larger atoms need sm_100 or later";
  if (padded && swizzle != Swizzle::None && swizzle != Swizzle::B128 && swizzle != Swizzle::B128Atom32)
    return "padded 4- and 6-bit types take no swizzle, 128B, or 128B with 32B atoms";
  if (a.l2Promotion < 0 || a.l2Promotion > 3)
    return "unknown L2 promotion " + std::to_string(a.l2Promotion);
  if (a.oobFill < 0 || a.oobFill > 1)
    return "unknown out-of-bounds fill " + std::to_string(a.oobFill);
  if (a.oobFill == 1 && !isFloat(type))
    return "NaN fill needs a floating-point element type";
  unsigned alignment = padded ? 32 : 16;
  if (a.address % alignment)
    return "the global address must be a multiple of " + number(alignment) + " bytes, found " + number(a.address);

  map = TensorMap();
  map.type = type;
  map.rank = a.rank;
  map.address = a.address;
  map.swizzle = swizzle;
  map.l2Promotion = unsigned(a.l2Promotion);
  map.nanFill = a.oobFill == 1;
  uint64_t copied = sharedBits(type);
  for (unsigned i = 0; i != a.rank; ++i) {
    if (a.dims[i] < 1 || a.dims[i] > uint64_t(1) << 32)
      return "globalDim[" + number(i) + "] must be 1..2^32, found " + number(a.dims[i]);
    if (box[i] < 1 || box[i] > 256)
      return (im2col ? inner0 : "boxDim[" + number(i) + "]") + std::string(" must be 1..256, found ") + number(box[i]);
    if (a.elementStrides[i] < 1 || a.elementStrides[i] > 8)
      return "elementStrides[" + number(i) + "] must be 1..8, found " + number(a.elementStrides[i]);
    if (i && (a.strides[i - 1] % alignment || a.strides[i - 1] >= uint64_t(1) << 40))
      return "globalStrides[" + number(i - 1) + "] must be a multiple of " + number(alignment) + " below 2^40, found " +
             number(a.strides[i - 1]);
    map.dims[i] = a.dims[i];
    map.box[i] = box[i];
    map.elementStrides[i] = a.elementStrides[i];
    if (i)
      map.strides[i - 1] = a.strides[i - 1];
    copied *= i && !im2col ? box[i] / a.elementStrides[i] : box[i];
  }
  if (im2col)
    if (std::string bad = validateIm2col(a, map); !bad.empty())
      return bad;
  if (padded && (a.dims[0] % 128 || box[0] != 128))
    return "padded 4- and 6-bit types need globalDim[0] % 128 == 0 and boxDim[0] == 128, found " + number(a.dims[0]) + " and " +
           number(box[0]);
  if (type == MapType::U4Align8 && a.dims[0] % 2)
    return "packed 4-bit types need an even globalDim[0], found " + number(a.dims[0]);
  uint64_t inner = uint64_t(box[0]) * sharedBits(type) / 8;
  if (inner * 8 != uint64_t(box[0]) * sharedBits(type) || inner % 16)
    return std::string(inner0) + " times the element size must be a multiple of 16 bytes, found " + number(inner);
  if (swizzle != Swizzle::None && inner > spanOf(swizzle))
    return std::string(inner0) + " times the element size is " + number(inner) + " bytes, more than the swizzle's span of " +
           number(spanOf(swizzle));
  // Between 230,912 (accepted) and 236,880 bytes (refused) on an H200: the largest shared memory of a CTA lies there.
  if (copied / 8 > 232448)
    return "the box holds " + number(copied / 8) + " bytes, more than a CTA's 232448 bytes of shared memory";
  return "";
}

} // namespace fovea::emulator
