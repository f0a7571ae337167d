// test/unit/runtime/NpyTest.cpp - .npy files: written, read back, refused.
#include "runtime/core/File.h"
#include "runtime/core/Npy.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace fovea;

namespace {

/// A version-1 file with this header text and data.
std::string file(const std::string &header, const std::string &data, char version = 1) {
  std::string text = header + "\n";
  std::string result("\x93NUMPY");
  result += version;
  result += '\0';
  result += char(text.size() & 255);
  result += char(text.size() >> 8);
  if (version == 2)
    result += std::string(2, '\0');
  return result + text + data;
}

std::string problem(const std::string &bytes, DType wanted = DType::F32) {
  Expected<NpyArray> array = parseNpy(bytes, wanted, "x.npy");
  return array ? "no error" : array.message();
}

} // namespace

TEST(Npy, SurvivesARoundTrip) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{}, {3}, {0}, {2, 3}, {2, 0, 5}, {1, 2, 3, 4}}) {
    for (DType type : {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I32, DType::I64, DType::E4M3}) {
      int64_t bytes = dtypeBytes(type);
      for (int64_t extent : shape)
        bytes *= extent;
      NpyArray array{type, shape, std::string(bytes, 'x')};
      std::string text = formatNpy(array);
      EXPECT_EQ((text.size() - bytes) % 64, 0u); // the data is aligned
      Expected<NpyArray> read = parseNpy(text, type, "x.npy");
      ASSERT_TRUE(read) << read.message();
      EXPECT_EQ(read->shape, shape);
      EXPECT_EQ(read->bytes, array.bytes);
    }
  }
}

TEST(Npy, WritesWhatNumpyWrites) {
  std::string text = formatNpy({DType::F32, {3}, std::string(12, '\0')});
  EXPECT_EQ(text.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(text.substr(10, 58), "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } ");
}

TEST(Npy, ReadsVersionTwo) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  Expected<NpyArray> array = parseNpy(file(header, "abcd", 2), DType::F32, "x.npy");
  ASSERT_TRUE(array) << array.message();
  EXPECT_EQ(array->bytes, "abcd");
}

TEST(Npy, RefusesFortranOrderAndOtherTypes) {
  EXPECT_EQ(problem(file("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }", "abcd")),
            "x.npy: the array is in Fortran order; save numpy.ascontiguousarray(x) instead");
  EXPECT_EQ(problem(file("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", "abcdabcd")),
            "x.npy: the elements must be f32, that is '<f4', found '<f8'");
  EXPECT_EQ(problem(file("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "abcd")),
            "x.npy: the elements must be f32, that is '<f4', found '>f4'");
  EXPECT_EQ(problem(file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "abcd"), DType::BF16),
            "x.npy: the elements must be bf16, that is '<u2' (numpy has no bf16: pass its bits as uint16), found '<f4'");
  EXPECT_EQ(problem(file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "abcd"), DType::E4M3),
            "x.npy: the elements must be e4m3, that is '|u1' (numpy has no fp8: pass its bits as uint8), found '<f4'");
}

TEST(Npy, RefusesDamage) {
  EXPECT_EQ(problem(std::string("PK\3\4") + std::string(30, '\0')),
            "x.npy: an archive of several arrays (.npz); save each with numpy.save and pass one .npy file for each tensor");
  EXPECT_EQ(problem(""), "x.npy: not a .npy file (its first bytes are not those that numpy.save writes)");
  EXPECT_EQ(problem(file("{}", "", 3)), "x.npy: a .npy file of version 3; versions 1 and 2 are read");
  EXPECT_EQ(problem(file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "abcd")),
            "x.npy: the shape needs 8 bytes of data, the file has 4");
  EXPECT_EQ(problem(file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "abcdef")),
            "x.npy: the shape needs 4 bytes of data, the file has 6");
  EXPECT_EQ(problem(file("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }", "")),
            "x.npy: the shape is too large");
  for (const char *header : {"", "{", "{'descr': '<f4'}", "[1]", "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"})
    EXPECT_EQ(problem(file(header, "")), "x.npy: the .npy header cannot be read; write the file with numpy.save")
        << header;
}

TEST(Npy, EveryTruncationIsRefused) {
  std::string text = formatNpy({DType::F32, {5, 7}, std::string(140, 'x')});
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(parseNpy(std::string_view(text).substr(0, length), DType::F32, "x.npy")) << length;
}

TEST(Npy, NamesTheFile) {
  EXPECT_EQ(readNpy("/nowhere/q.npy", DType::F32).message(), "cannot read /nowhere/q.npy: No such file or directory");
  EXPECT_EQ(writeNpy("/nowhere/q.npy", {}).message(), "cannot write /nowhere/q.npy: No such file or directory");
}
