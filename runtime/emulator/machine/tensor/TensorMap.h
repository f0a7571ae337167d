// runtime/emulator/machine/tensor/TensorMap.h - the 128-byte tensor map: check, encode, decode, edit
#pragma once
#include "runtime/emulator/machine/tensor/Swizzle.h"
#include <array>
#include <cstdint>
#include <string>

namespace fovea::emulator {

/// Element types, numbered as CUtensorMapDataType.
enum class MapType : uint8_t {
  U8, U16, U32, S32, U64, S64, F16, F32, F64, BF16, F32Ftz, TF32, TF32Ftz, U4Align8, U4Align16, U6Align16
};

/// What cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col takes; dimensions innermost first, lengths in elements, strides in bytes.
struct TensorMap {
  MapType type = MapType::U8;
  unsigned rank = 1; ///< 1..5
  uint64_t address = 0;
  std::array<uint64_t, 5> dims{};
  std::array<uint64_t, 4> strides{}; ///< of dimensions 1..4
  std::array<uint32_t, 5> box{};
  std::array<uint32_t, 5> elementStrides{{1, 1, 1, 1, 1}};
  unsigned interleave = 0; ///< CUtensorMapInterleave: 0 none, 1 16B, 2 32B
  Swizzle swizzle = Swizzle::None;
  unsigned l2Promotion = 0; ///< 0 none, 1 64B, 2 128B, 3 256B
  bool nanFill = false;
  /// Im2col (PTX ISA, "im2col mode"): dimensions are C, W, (H, (D,)) N; a copy moves box[0] channels of each of `pixels` pixels, found by
  /// walking the bounding box from lower[] to dims - 1 + upper[], both included, W first, in steps of elementStrides.
  bool im2col = false;
  uint32_t pixels = 0;
  std::array<int32_t, 3> lower{}, upper{}; ///< of W, H, D
};

/// Bits of one element in global memory, and in shared memory (padded sub-byte types occupy 8).
unsigned globalBits(MapType type);
unsigned sharedBits(MapType type);
bool isFloat(MapType type);
/// Rows of box[0] elements that a box holds: of all outer dimensions, or pixels.
uint64_t boxRows(const TensorMap &map);
/// Elements that a box holds along `dimension`: ceil(box / element stride); strides of dimension 0 are ignored.
unsigned boxCount(const TensorMap &map, unsigned dimension);

/// Arguments as the driver gets them, unchecked enums included; see validateTensorMap().
struct TensorMapArguments {
  int type = 0;
  uint32_t rank = 0;
  uint64_t address = 0;
  const uint64_t *dims = nullptr;
  const uint64_t *strides = nullptr;
  const uint32_t *box = nullptr;
  const uint32_t *elementStrides = nullptr;
  int interleave = 0, swizzle = 0, l2Promotion = 0, oobFill = 0; ///< CUDA driver enum values
  /// sm_100 adds the padded 4/6-bit types and the 128-byte swizzles with larger atoms; an H200 refuses them.
  bool hasSubByteAndAtoms = false;
  bool im2col = false;  ///< cuTensorMapEncodeIm2col: what follows is read, and not `box`; corners from W on
  const int32_t *lowerCorner = nullptr, *upperCorner = nullptr;
  uint32_t channelsPerPixel = 0, pixelsPerColumn = 0;
};

/// The verdict of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col: empty when it accepts, else the broken rule (CUDA_ERROR_INVALID_VALUE).
/// On success `map` holds the decoded arguments.
std::string validateTensorMap(const TensorMapArguments &arguments, TensorMap &map);

/// The opaque layout (64-byte aligned 128 bytes) as NVIDIA's driver 13.0 writes it on an H200, derived sizes included.
/// Not seen on hardware, and ours: word 2 bits 19-20 hold the swizzle atom (PTX numbering), types 12 and 13 the padded
/// 4- and 6-bit ones; bit 22 says im2col, words 20 to 22 hold its corners, word 23 the pixels.
void encodeTensorMap(const TensorMap &map, uint8_t out[128]);

/// Reads the layout, ignoring the words that other packers leave undefined. Throws Fault when no tensor map can look
/// like this (all zero, unknown type, ...).
TensorMap decodeTensorMap(const uint8_t bytes[128]);

/// Fields of `tensormap.replace` (PTX ISA, "tensormap.replace"; enum values there differ from the driver's).
enum class MapField : uint8_t {
  GlobalAddress, Rank, BoxDim, GlobalDim, GlobalStride, ElementStride, Elemtype, InterleaveLayout, SwizzleMode,
  SwizzleAtomicity, FillMode
};

/// Edits one field in place. `ordinal` selects the dimension where the field has one (GlobalStride 0..3, others 0..4);
/// Rank and GlobalDim/BoxDim/ElementStride values are as PTX gives them (rank - 1 for Rank, plain sizes for the rest).
void replaceField(uint8_t bytes[128], MapField field, unsigned ordinal, uint64_t value);

} // namespace fovea::emulator
