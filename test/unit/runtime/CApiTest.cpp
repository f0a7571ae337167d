// test/unit/runtime/CApiTest.cpp - the C interface: return codes, messages, null handles after failure.
#include "runtime/core/fovea.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

TEST(CApi, ReportsRefusalsAsOne) {
  fovea_device *device = reinterpret_cast<fovea_device *>(1);
  EXPECT_EQ(fovea_open("gpu", &device), 1);
  EXPECT_EQ(device, nullptr);
  EXPECT_STREQ(fovea_error(), "unknown device 'gpu': expected cuda:N, emulator, or emulator:TARGET");
  EXPECT_EQ(fovea_open(nullptr, &device), 1);
}

TEST(CApi, ReportsDriverFailuresAsTwo) {
  setenv("FOVEA_CUDA_LIB", STUB_DRIVER, 1);
  setenv("STUB_DRIVER_INIT", "999", 1);
  fovea_device *device;
  EXPECT_EQ(fovea_open("cuda:0", &device), 2);
  EXPECT_NE(std::string(fovea_error()).find("cuInit failed with CUDA_ERROR_UNKNOWN (999)"), std::string::npos);
  unsetenv("STUB_DRIVER_INIT");
}

TEST(CApi, HasAVersion) { EXPECT_STREQ(fovea_version(), "0.1.0"); }
