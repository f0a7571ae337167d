// test/unit/emulator/tensor/TensorMapTest.cpp - does the encoder answer as an H200's driver, and can the bytes be read and edited?
#include "runtime/emulator/machine/tensor/Fault.h"
#include "runtime/emulator/machine/tensor/TensorMap.h"
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <vector>

using namespace fovea::emulator;

namespace {

struct Record {
  int type, interleave, swizzle, l2, fill;
  uint64_t address;
  std::vector<uint64_t> dims, strides;
  std::vector<uint32_t> box, elementStrides;
  bool accepted;
  uint8_t bytes[128] = {};

  TensorMapArguments arguments() const {
    TensorMapArguments a;
    a.type = type;
    a.rank = uint32_t(dims.size());
    a.address = address;
    a.dims = dims.data();
    a.strides = strides.data();
    a.box = box.data();
    a.elementStrides = elementStrides.data();
    a.interleave = interleave;
    a.swizzle = swizzle;
    a.l2Promotion = l2;
    a.oobFill = fill;
    return a;
  }
};

template <typename T> std::vector<T> list(const std::string &text) {
  std::vector<T> values;
  std::stringstream stream(text);
  for (std::string item; text != "-" && std::getline(stream, item, ',');)
    values.push_back(T(std::stoull(item)));
  return values;
}

std::vector<Record> records() {
  std::ifstream file(FOVEA_TENSOR_MAPS);
  std::vector<Record> all;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#')
      continue;
    std::stringstream fields(line);
    Record r;
    std::string dims, strides, box, elementStrides, verdict, bytes;
    fields >> r.type >> r.address >> dims >> strides >> box >> elementStrides >> r.interleave >> r.swizzle >> r.l2 >> r.fill >> verdict >>
        bytes;
    r.dims = list<uint64_t>(dims);
    r.strides = list<uint64_t>(strides);
    r.box = list<uint32_t>(box);
    r.elementStrides = list<uint32_t>(elementStrides);
    r.accepted = verdict == "accepted";
    for (size_t i = 0; i + 1 < bytes.size(); i += 2)
      r.bytes[i / 2] = uint8_t(std::stoi(bytes.substr(i, 2), nullptr, 16));
    all.push_back(r);
  }
  return all;
}

void expectFields(const TensorMap &map, const Record &r) {
  EXPECT_EQ(int(map.type), r.type);
  EXPECT_EQ(map.rank, r.dims.size());
  EXPECT_EQ(map.address, r.address);
  EXPECT_EQ(int(map.swizzle), r.swizzle);
  EXPECT_EQ(int(map.l2Promotion), r.l2);
  EXPECT_EQ(int(map.nanFill), r.fill);
  for (size_t i = 0; i != r.dims.size(); ++i) {
    EXPECT_EQ(map.dims[i], r.dims[i]);
    EXPECT_EQ(map.box[i], r.box[i]);
    EXPECT_EQ(map.elementStrides[i], r.elementStrides[i]);
    if (i)
      EXPECT_EQ(map.strides[i - 1], r.strides[i - 1]);
  }
}

TEST(TensorMap, SameVerdictOnEveryRecordedCall) {
  auto all = records();
  ASSERT_EQ(all.size(), 505u);
  unsigned line = 2;
  for (const Record &r : all) {
    TensorMap map;
    std::string error = validateTensorMap(r.arguments(), map);
    EXPECT_EQ(error.empty(), r.accepted) << "line " << ++line << ": " << error;
  }
}

TEST(TensorMap, SameBytesOnEveryAcceptedCall) {
  unsigned accepted = 0;
  for (const Record &r : records()) {
    TensorMap map;
    if (!r.accepted || !validateTensorMap(r.arguments(), map).empty())
      continue;
    ++accepted;
    uint8_t bytes[128];
    encodeTensorMap(map, bytes);
    EXPECT_EQ(std::memcmp(bytes, r.bytes, 128), 0) << "address " << r.address;
  }
  EXPECT_EQ(accepted, 226u);
}

TEST(TensorMap, RecordedBytesDecodeToTheirParameters) {
  for (const Record &r : records())
    if (r.accepted)
      expectFields(decodeTensorMap(r.bytes), r);
}

TEST(TensorMap, DecoderIgnoresWhatOtherPackersLeaveUndefined) {
  for (const Record &r : records())
    if (r.accepted) {
      uint8_t bytes[128];
      std::memcpy(bytes, r.bytes, 128);
      bytes[8] |= 2; // word 2 bits 0-3
      bytes[10] |= 1 << 5; // bit 21
      std::memset(bytes + 64, 0xA5, 64);
      expectFields(decodeTensorMap(bytes), r);
    }
}

TEST(TensorMap, EditsBuildTheSameMapFromZeroes) {
  // tensormap.replace numbers types differently from the driver: by driver enum, the PTX value.
  const unsigned ptxType[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 11, 12, 13, 14, 15};
  for (const Record &r : records()) {
    if (!r.accepted)
      continue;
    uint8_t bytes[128] = {};
    replaceField(bytes, MapField::GlobalAddress, 0, r.address);
    replaceField(bytes, MapField::Rank, 0, r.dims.size() - 1);
    replaceField(bytes, MapField::Elemtype, 0, ptxType[r.type]);
    replaceField(bytes, MapField::InterleaveLayout, 0, 0);
    replaceField(bytes, MapField::SwizzleMode, 0, uint64_t(r.swizzle));
    replaceField(bytes, MapField::SwizzleAtomicity, 0, 0);
    replaceField(bytes, MapField::FillMode, 0, uint64_t(r.fill));
    for (unsigned i = 0; i != r.dims.size(); ++i) {
      replaceField(bytes, MapField::BoxDim, i, r.box[i]);
      replaceField(bytes, MapField::GlobalDim, i, r.dims[i]);
      replaceField(bytes, MapField::ElementStride, i, r.elementStrides[i]);
      if (i)
        replaceField(bytes, MapField::GlobalStride, i - 1, r.strides[i - 1]);
    }
    Record noPromotion = r;
    noPromotion.l2 = 0; // has no tensormap.replace field
    expectFields(decodeTensorMap(bytes), noPromotion);
  }
}

TEST(TensorMap, BlackwellModesEncodeAndDecode) {
  Record r{};
  r.type = int(MapType::BF16);
  r.address = 4096;
  r.dims = {256, 64};
  r.strides = {512};
  r.box = {64, 8};
  r.elementStrides = {1, 1};
  for (int swizzle : {4, 5, 6}) {
    r.swizzle = swizzle;
    TensorMapArguments a = r.arguments();
    TensorMap map;
    EXPECT_FALSE(validateTensorMap(a, map).empty());
    a.hasSubByteAndAtoms = true;
    EXPECT_EQ(validateTensorMap(a, map), "");
    uint8_t bytes[128];
    encodeTensorMap(map, bytes);
    expectFields(decodeTensorMap(bytes), r);
  }
  r.swizzle = 3;
  r.box = {128, 8};
  for (int type : {14, 15}) {
    r.type = type;
    TensorMapArguments a = r.arguments();
    a.hasSubByteAndAtoms = true;
    TensorMap map;
    EXPECT_EQ(validateTensorMap(a, map), "");
    uint8_t bytes[128];
    encodeTensorMap(map, bytes);
    expectFields(decodeTensorMap(bytes), r);
    r.box[0] = 64;
    a = r.arguments();
    a.hasSubByteAndAtoms = true;
    EXPECT_NE(validateTensorMap(a, map), "");
    r.box[0] = 128;
  }
}

TEST(TensorMap, EachBrokenArgumentIsNamed) {
  Record good{};
  good.type = int(MapType::F32);
  good.address = 1 << 20;
  good.dims = {64, 64};
  good.strides = {256};
  good.box = {32, 8};
  good.elementStrides = {1, 1};
  good.swizzle = 3;
  auto errorOf = [](const Record &r) {
    TensorMap map;
    return validateTensorMap(r.arguments(), map);
  };
  EXPECT_EQ(errorOf(good), "");
  Record r = good;
  r.dims = r.strides = {};
  EXPECT_NE(errorOf(r).find("rank"), std::string::npos);
  (r = good).type = 16;
  EXPECT_NE(errorOf(r).find("element type"), std::string::npos);
  (r = good).swizzle = 7;
  EXPECT_NE(errorOf(r).find("swizzle"), std::string::npos);
  (r = good).l2 = 4;
  EXPECT_NE(errorOf(r).find("L2"), std::string::npos);
  (r = good).fill = 2;
  EXPECT_NE(errorOf(r).find("fill"), std::string::npos);
  (r = good).interleave = 1;
  EXPECT_NE(errorOf(r).find("interleave"), std::string::npos);
  (r = good).address += 8;
  EXPECT_NE(errorOf(r).find("address"), std::string::npos);
  (r = good).dims[1] = 0;
  EXPECT_NE(errorOf(r).find("globalDim[1]"), std::string::npos);
  (r = good).strides[0] = 8;
  EXPECT_NE(errorOf(r).find("globalStrides[0]"), std::string::npos);
  (r = good).box[0] = 3;
  EXPECT_NE(errorOf(r).find("multiple of 16"), std::string::npos);
  (r = good).box[0] = 64;
  EXPECT_NE(errorOf(r).find("span"), std::string::npos);
  (r = good).elementStrides[1] = 0;
  EXPECT_NE(errorOf(r).find("elementStrides[1]"), std::string::npos);
}

TEST(TensorMap, GarbageAndBadEditsFault) {
  uint8_t zero[128] = {}, ones[128];
  std::memset(ones, 0xFF, 128);
  EXPECT_THROW(decodeTensorMap(zero), Fault);
  EXPECT_THROW(decodeTensorMap(ones), Fault);
  EXPECT_THROW(replaceField(zero, MapField::Rank, 0, 5), Fault);
  EXPECT_THROW(replaceField(zero, MapField::BoxDim, 5, 1), Fault);
  EXPECT_THROW(replaceField(zero, MapField::BoxDim, 0, 257), Fault);
  EXPECT_THROW(replaceField(zero, MapField::GlobalStride, 4, 16), Fault);
  EXPECT_THROW(replaceField(zero, MapField::GlobalStride, 0, 24), Fault);
  EXPECT_THROW(replaceField(zero, MapField::Elemtype, 0, 16), Fault);
  EXPECT_THROW(replaceField(zero, MapField::GlobalAddress, 0, 8), Fault);
}

/// A map for im2col over C = 16, W = 9, H = 6, N = 5, to be spoilt.
struct Im2col {
  std::vector<uint64_t> dims = {16, 9, 6, 5}, strides = {32, 288, 1728};
  std::vector<uint32_t> steps = {1, 1, 2, 1};
  std::vector<int32_t> lower = {-1, -2}, upper = {-1, 1};
  uint32_t channels = 16, pixels = 64;
  std::string verdict(TensorMap &map) {
    TensorMapArguments a;
    a.type = int(MapType::BF16);
    a.rank = uint32_t(dims.size());
    a.address = 0x1000;
    a.dims = dims.data(), a.strides = strides.data(), a.elementStrides = steps.data();
    a.swizzle = 1;
    a.im2col = true, a.lowerCorner = lower.empty() ? nullptr : lower.data(), a.upperCorner = upper.empty() ? nullptr : upper.data();
    a.channelsPerPixel = channels, a.pixelsPerColumn = pixels;
    return validateTensorMap(a, map);
  }
  std::string verdict() {
    TensorMap map;
    return verdict(map);
  }
};

TEST(TensorMap, Im2colSurvivesTheBytes) {
  Im2col i;
  TensorMap map;
  ASSERT_EQ(i.verdict(map), "");
  uint8_t bytes[128];
  encodeTensorMap(map, bytes);
  TensorMap back = decodeTensorMap(bytes);
  EXPECT_TRUE(back.im2col);
  EXPECT_EQ(back.pixels, 64u);
  EXPECT_EQ(back.box[0], 16u);
  EXPECT_EQ(back.dims, map.dims);
  EXPECT_EQ(back.elementStrides, map.elementStrides);
  EXPECT_EQ(back.lower, (std::array<int32_t, 3>{{-1, -2, 0}}));
  EXPECT_EQ(back.upper, (std::array<int32_t, 3>{{-1, 1, 0}}));
  EXPECT_EQ(boxRows(back), 64u);
}

TEST(TensorMap, Im2colRules) {
  auto says = [](auto spoil) {
    Im2col i;
    spoil(i);
    return i.verdict();
  };
  EXPECT_EQ(says([](Im2col &i) { i.lower.clear(); }), "pixelBoxLowerCorner and pixelBoxUpperCorner must not be null");
  EXPECT_EQ(says([](Im2col &i) { i.upper.clear(); }), "pixelBoxLowerCorner and pixelBoxUpperCorner must not be null");
  EXPECT_EQ(says([](Im2col &i) { i.dims.resize(2); }), "im2col needs rank 3, 4 or 5, found 2");
  EXPECT_EQ(says([](Im2col &i) { i.lower[1] = -129; }), "pixel box corners of rank 4 are -128..127, found -129");
  EXPECT_EQ(says([](Im2col &i) { i.upper[0] = -10; }), "the pixel box must not be empty, found -1..-2 in dimension 1");
  EXPECT_EQ(says([](Im2col &i) { i.pixels = 1025; }), "pixelsPerColumn must be 1..1024, found 1025");
  EXPECT_EQ(says([](Im2col &i) { i.channels = 257; }), "channelsPerPixel must be 1..256, found 257");
  EXPECT_EQ(says([](Im2col &i) { i.channels = 9; }), "channelsPerPixel times the element size must be a multiple of 16 bytes, found 18");
  EXPECT_EQ(says([](Im2col &i) { i.channels = 24; }), "channelsPerPixel times the element size is 48 bytes, more than the swizzle's span of 32");
}

} // namespace
