// test/unit/runtime/CApiEmulatorTest.cpp - a kernel from its files to its results, in the C interface alone.
#include "AddBias.h"
#include "runtime/core/fovea.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace fovea::test;
namespace fs = std::filesystem;

TEST(CApi, RunsAKernelFromItsFiles) {
  fs::path folder = fs::temp_directory_path() / ("fovea_capi_test_" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "add_bias.ptx") << kAddBiasPtx;
  std::ofstream(folder / "add_bias.json") << toJson(addBiasManifest("n")); // out[i] = in[i] + n

  fovea_device *device = nullptr;
  fovea_module *module = nullptr;
  fovea_prepared *prepared = nullptr;
  ASSERT_EQ(fovea_open("emulator:sm_90a", &device), 0) << fovea_error();
  ASSERT_EQ(fovea_module_load(device, (folder / "add_bias.json").c_str(), &module), 0) << fovea_error();

  const int64_t n = 100;
  std::vector<int32_t> values(n, 5), result(n);
  void *in = nullptr, *out = nullptr;
  ASSERT_EQ(fovea_alloc(device, n * 4, &in), 0);
  ASSERT_EQ(fovea_alloc(device, n * 4, &out), 0);
  ASSERT_EQ(fovea_upload(device, in, values.data(), n * 4), 0);
  fovea_tensor tensors[] = {{"in", in, "i32", 1, &n, nullptr}, {"out", out, "i32", 1, &n, nullptr}};
  ASSERT_EQ(fovea_launch(module, "forward", tensors, 2, nullptr), 0) << fovea_error();
  ASSERT_EQ(fovea_synchronize(device), 0) << fovea_error();
  ASSERT_EQ(fovea_download(device, result.data(), out, n * 4), 0);
  EXPECT_EQ(result, std::vector<int32_t>(n, 105));

  // Prepared, and in place of the former results.
  ASSERT_EQ(fovea_upload(device, in, result.data(), n * 4), 0);
  ASSERT_EQ(fovea_prepare(module, "forward", tensors, 2, &prepared), 0) << fovea_error();
  ASSERT_EQ(fovea_prepared_launch(prepared, nullptr), 0) << fovea_error();
  ASSERT_EQ(fovea_synchronize(device), 0);
  ASSERT_EQ(fovea_download(device, result.data(), out, n * 4), 0);
  EXPECT_EQ(result, std::vector<int32_t>(n, 205));

  // Refusals leave a message and no handle.
  tensors[1].dtype = "i33";
  EXPECT_EQ(fovea_launch(module, "forward", tensors, 2, nullptr), 1);
  EXPECT_STREQ(fovea_error(), "tensor 'out': unknown element type 'i33'");
  tensors[1].name = nullptr;
  EXPECT_EQ(fovea_launch(module, "forward", tensors, 2, nullptr), 1);
  EXPECT_STREQ(fovea_error(), "tensor 1 of the call has no name, element type or shape");
  fovea_prepared *none = prepared;
  EXPECT_EQ(fovea_prepare(module, "backward", tensors, 1, &none), 1);
  EXPECT_EQ(none, nullptr);
  EXPECT_STREQ(fovea_error(), "'add_bias' has no operation 'backward'; it has forward");

  fovea_prepared_free(prepared);
  EXPECT_EQ(fovea_free(device, in), 0);
  EXPECT_EQ(fovea_free(device, out), 0);
  fovea_module_free(module);
  fovea_close(device);
  fs::remove_all(folder);
}
