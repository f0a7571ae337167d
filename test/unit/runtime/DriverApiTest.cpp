// test/unit/runtime/DriverApiTest.cpp - finding a driver, and the messages when there is none to be had.
#include "runtime/driver/DriverApi.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace fovea;
using namespace fovea::cu;

namespace {

bool contains(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

TEST(DriverApi, SaysThatAFileIsMissing) {
  Expected<DriverApi> api = DriverApi::open("/nowhere/libcuda.so.1");
  ASSERT_FALSE(api);
  EXPECT_TRUE(contains(api.message(), "cannot open the driver library /nowhere/libcuda.so.1: ")) << api.message();
}

TEST(DriverApi, NamesMissingFunctionsOfAForeignLibrary) {
  Expected<DriverApi> api = DriverApi::open("libm.so.6");
  ASSERT_FALSE(api);
  EXPECT_TRUE(contains(api.message(), "the driver library libm.so.6 (an unknown version) lacks cuInit, "))
      << api.message();
  EXPECT_TRUE(contains(api.message(), "which came with CUDA 12.0; update the driver")) << api.message();
}

TEST(DriverApi, RefusesAnOldDriver) {
  setenv("FOVEA_CUDA_LIB", STUB_DRIVER, 1);
  setenv("STUB_DRIVER_VERSION", "11040", 1);
  Expected<const DriverApi *> api = DriverApi::cuda();
  ASSERT_FALSE(api);
  EXPECT_TRUE(contains(api.message(), "supports CUDA 11.4, but tensor maps need CUDA 12.0 or later")) << api.message();
  unsetenv("STUB_DRIVER_VERSION");
}

TEST(DriverApi, ExplainsAFailingInitialisation) {
  setenv("FOVEA_CUDA_LIB", STUB_DRIVER, 1);
  setenv("STUB_DRIVER_INIT", "100", 1);
  Expected<const DriverApi *> api = DriverApi::cuda();
  ASSERT_FALSE(api);
  EXPECT_EQ(api.error().driverCode, CUDA_ERROR_NO_DEVICE);
  EXPECT_TRUE(contains(api.message(), "cuInit failed with CUDA_ERROR_NO_DEVICE (100)")) << api.message();
  EXPECT_TRUE(contains(api.message(), "try: no GPU is visible")) << api.message();
  unsetenv("STUB_DRIVER_INIT");
}

TEST(DriverApi, PointsToTheEmulatorWithoutADriver) {
  unsetenv("FOVEA_CUDA_LIB");
  Expected<const DriverApi *> api = DriverApi::cuda();
  if (api)
    GTEST_SKIP() << "this machine has a driver";
  EXPECT_TRUE(contains(api.message(), "device \"emulator\"") || contains(api.message(), "try:")) << api.message();
}

TEST(DriverApi, UsesTheNamedEmulatorLibrary) {
  setenv("FOVEA_EMULATOR_LIB", "/nowhere/libfovea_emulator.so", 1);
  Expected<const DriverApi *> absent = DriverApi::emulator();
  ASSERT_FALSE(absent);
  EXPECT_TRUE(contains(absent.message(), "/nowhere/libfovea_emulator.so")) << absent.message();

  setenv("FOVEA_EMULATOR_LIB", STUB_DRIVER, 1);
  Expected<const DriverApi *> api = DriverApi::emulator();
  ASSERT_TRUE(api) << api.message();
  EXPECT_TRUE((*api)->isEmulator);
  EXPECT_EQ((*api)->version, 13000);
  EXPECT_STREQ(std::getenv("FOVEA_EMULATE"), "sm_100a,sm_90a");
}

TEST(DriverErrors, CarryCallCodeNameMeaningAndAdvice) {
  DriverApi api;
  api.cuGetErrorName = [](CUresult, const char **name) { return *name = "CUDA_ERROR_OUT_OF_MEMORY", CUDA_SUCCESS; };
  api.cuGetErrorString = [](CUresult, const char **text) { return *text = "out of memory", CUDA_SUCCESS; };
  EXPECT_TRUE(api.check(CUDA_SUCCESS, "cuMemAlloc"));
  Expected<void> failed = api.check(CUDA_ERROR_OUT_OF_MEMORY, "cuMemAlloc", "allocate 4096 bytes");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.message(), "cuMemAlloc failed with CUDA_ERROR_OUT_OF_MEMORY (2): out of memory; while: allocate "
                              "4096 bytes; try: free device memory, or make the batch smaller");
  EXPECT_EQ(failed.error().driverCode, 2);
}

TEST(DriverErrors, AreNamedByUsWhenTheDriverIsSilent) {
  DriverApi api; // no functions at all
  EXPECT_EQ(api.check(CUDA_ERROR_NOT_READY, "cuStreamQuery").message(),
            "cuStreamQuery failed with CUDA_ERROR_NOT_READY (600)");
  EXPECT_EQ(api.check(CUresult(12345), "cuInit").message(), "cuInit failed with unknown error (12345)");
}

} // namespace
