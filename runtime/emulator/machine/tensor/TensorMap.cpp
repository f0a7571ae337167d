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

std::string validateTensorMap(const TensorMapArguments &a, TensorMap &map) {
  auto number = [](uint64_t v) { return std::to_string(v); };
  if (a.rank < 1 || a.rank > 5)
    return "rank must be 1..5, found " + number(a.rank);
  if (!a.dims || !a.box || !a.elementStrides || (a.rank > 1 && !a.strides))
    return "globalDim, globalStrides, boxDim and elementStrides must not be null";
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
    if (a.box[i] < 1 || a.box[i] > 256)
      return "boxDim[" + number(i) + "] must be 1..256, found " + number(a.box[i]);
    if (a.elementStrides[i] < 1 || a.elementStrides[i] > 8)
      return "elementStrides[" + number(i) + "] must be 1..8, found " + number(a.elementStrides[i]);
    if (i && (a.strides[i - 1] % alignment || a.strides[i - 1] >= uint64_t(1) << 40))
      return "globalStrides[" + number(i - 1) + "] must be a multiple of " + number(alignment) + " below 2^40, found " +
             number(a.strides[i - 1]);
    map.dims[i] = a.dims[i];
    map.box[i] = a.box[i];
    map.elementStrides[i] = a.elementStrides[i];
    if (i)
      map.strides[i - 1] = a.strides[i - 1];
    copied *= a.box[i] / (i ? a.elementStrides[i] : 1);
  }
  if (padded && (a.dims[0] % 128 || a.box[0] != 128))
    return "padded 4- and 6-bit types need globalDim[0] % 128 == 0 and boxDim[0] == 128, found " + number(a.dims[0]) + " and " +
           number(a.box[0]);
  if (type == MapType::U4Align8 && a.dims[0] % 2)
    return "packed 4-bit types need an even globalDim[0], found " + number(a.dims[0]);
  uint64_t inner = uint64_t(a.box[0]) * sharedBits(type) / 8;
  if (inner * 8 != uint64_t(a.box[0]) * sharedBits(type) || inner % 16)
    return "boxDim[0] times the element size must be a multiple of 16 bytes, found " + number(inner);
  if (swizzle != Swizzle::None && inner > spanOf(swizzle))
    return "boxDim[0] times the element size is " + number(inner) + " bytes, more than the swizzle's span of " +
           number(spanOf(swizzle));
  // Between 230,912 (accepted) and 236,880 bytes (refused) on an H200: the largest shared memory of a CTA lies there.
  if (copied / 8 > 232448)
    return "the box holds " + number(copied / 8) + " bytes, more than a CTA's 232448 bytes of shared memory";
  return "";
}

} // namespace fovea::emulator
