// test/unit/runtime/BufferTest.cpp - device memory: copies, bounds, ownership.
#include "FakeDriver.h"

#include <gtest/gtest.h>

using namespace fovea;
using namespace fovea::test;

TEST(Buffer, CopiesThereAndBack) {
  FakeDriver driver;
  std::vector<int> in = {1, 2, 3}, out(2);
  {
    Expected<Buffer> buffer = Buffer::fromHost(driver.device(), in.data(), 12);
    ASSERT_TRUE(buffer);
    EXPECT_TRUE(buffer->download(out.data(), 8, 4));
    EXPECT_EQ(out, (std::vector<int>{2, 3}));
    EXPECT_TRUE(buffer->fill(0xff));
    EXPECT_TRUE(buffer->download(out.data(), 4));
    EXPECT_EQ(out[0], -1);
    Buffer moved = std::move(*buffer);
    EXPECT_EQ(fake().allocations.size(), 1u);
  }
  EXPECT_EQ(fake().allocations.size(), 0u);
}

TEST(Buffer, RefusesCopiesOutsideItself) {
  FakeDriver driver;
  Expected<Buffer> buffer = Buffer::allocate(driver.device(), 16);
  ASSERT_TRUE(buffer);
  char bytes[32] = {};
  EXPECT_EQ(buffer->upload(bytes, 17).message(), "cannot upload 17 bytes at offset 0: the buffer has 16 bytes");
  EXPECT_EQ(buffer->download(bytes, 1, 16).message(), "cannot download 1 bytes at offset 16: the buffer has 16 bytes");
  EXPECT_FALSE(buffer->download(bytes, 1, SIZE_MAX));
}

TEST(Buffer, MayBeEmpty) {
  FakeDriver driver;
  Expected<Buffer> buffer = Buffer::allocate(driver.device(), 0);
  ASSERT_TRUE(buffer);
  EXPECT_NE(buffer->address(), 0u);
  EXPECT_TRUE(buffer->upload(nullptr, 0));
  EXPECT_TRUE(buffer->fill(1));
}

TEST(Buffer, ReportsExhaustion) {
  FakeDriver driver;
  Device device = driver.device();
  fake().failCall = "cuMemAlloc_v2";
  fake().failWith = cu::CUDA_ERROR_OUT_OF_MEMORY;
  Expected<Buffer> buffer = Buffer::allocate(device, 1 << 20);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.message(), "cuMemAlloc failed with CUDA_ERROR_OUT_OF_MEMORY (2): as told; while: allocate 1048576 "
                              "bytes on cuda:0; try: free device memory, or make the batch smaller");
}
