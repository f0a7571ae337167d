// test/unit/runtime/DeviceTest.cpp - opening devices, and what is said about those that cannot be opened.
#include "FakeDriver.h"

#include <gtest/gtest.h>

using namespace fovea;
using namespace fovea::test;

TEST(Device, RefusesUnknownSpecs) {
  for (const char *spec : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:99999999999", "emulator:"}) {
    Expected<Device> device = Device::open(spec);
    ASSERT_FALSE(device) << spec;
    EXPECT_EQ(device.message(),
              std::string("unknown device '") + spec + "': expected cuda:N, emulator, or emulator:TARGET");
  }
  EXPECT_EQ(Device::open("emulator:sm_80").message(),
            "unknown device 'emulator:sm_80': the emulator knows sm_100a, sm_90a");
}

TEST(Device, ReadsFactsAndKeepsOneContext) {
  FakeDriver driver;
  {
    Device device = driver.device();
    Device copy = device;
    EXPECT_EQ(fake().retained, 1);
    EXPECT_EQ(device.facts().sms, 148);
    EXPECT_EQ(device.facts().target, findTarget("sm_100a"));
    EXPECT_EQ(device.description(), "cuda:0  Fake GPU  compute 10.0  148 SMs  8 GiB  target sm_100a");
  }
  EXPECT_EQ(fake().retained, 0);
}

TEST(Device, SaysWhenNoTargetFits) {
  FakeDriver driver;
  fake().computeMajor = 8;
  Device device = driver.device();
  EXPECT_EQ(device.facts().target, nullptr);
  EXPECT_NE(device.description().find("no Fovea target (known: sm_100a, sm_90a)"), std::string::npos);
}

TEST(Device, PassesOnAFailingContext) {
  FakeDriver driver;
  fake().failCall = "cuDevicePrimaryCtxRetain";
  fake().failWith = cu::CUDA_ERROR_DEVICE_UNAVAILABLE;
  Expected<Device> device = Device::open(driver.api, 0, "cuda:0");
  ASSERT_FALSE(device);
  EXPECT_NE(device.message().find("cuDevicePrimaryCtxRetain failed with CUDA_ERROR_DEVICE_UNAVAILABLE (46)"),
            std::string::npos);
}

TEST(Device, LeavesTheThreadsContextAsItWas) {
  FakeDriver driver;
  Device device = driver.device();
  EXPECT_TRUE(device.synchronize());
  EXPECT_EQ(fake().current, nullptr);
}

TEST(Stream, IsDestroyedOnlyWhenOwned) {
  FakeDriver driver;
  Device device = driver.device();
  {
    Stream borrowed = Stream::borrow(device, reinterpret_cast<void *>(0x77));
    EXPECT_EQ(borrowed.handle(), reinterpret_cast<cu::CUstream>(0x77));
    EXPECT_EQ(Stream::defaultOf(device).handle(), nullptr);
  }
  EXPECT_EQ(fake().count("cuStreamDestroy_v2"), 0);
  {
    Expected<Stream> owned = Stream::create(device);
    ASSERT_TRUE(owned);
    Stream copy = *owned;
    EXPECT_TRUE(copy.synchronize());
  }
  EXPECT_EQ(fake().count("cuStreamDestroy_v2"), 1);
}
