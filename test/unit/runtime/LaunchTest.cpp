// test/unit/runtime/LaunchTest.cpp - what reaches the driver when a kernel is launched.
#include "FakeDriver.h"

#include <cstring>
#include <limits>
#include <gtest/gtest.h>

using namespace fovea;
using namespace fovea::test;

namespace {

const std::string kPtx = ".version 8.6";

struct Launch : testing::Test {
  FakeDriver driver;
  Device device = driver.device();
  Manifest manifest = smallManifest(kPtx);
  Buffer q = *Buffer::allocate(device, 100 * 256), o = *Buffer::allocate(device, 100 * 256),
         lse = *Buffer::allocate(device, 100 * 8), offsets = *Buffer::allocate(device, 16);
  Stream stream = Stream::borrow(device, reinterpret_cast<void *>(0x99));

  void SetUp() override {
    int32_t values[] = {0, 10, 60, 100};
    ASSERT_TRUE(offsets.upload(values, 16));
  }
  Module load() {
    Expected<Module> module = Module::load(device, kPtx, manifest);
    EXPECT_TRUE(module) << (module ? "" : module.message());
    return *module;
  }
  std::vector<Tensor> tensors(int64_t rows = 100) {
    return {q.view("q", DType::BF16, {rows, 2, 64}), o.view("o", DType::BF16, {rows, 2, 64}),
            lse.view("lse", DType::F32, {rows, 2}), offsets.view("offsets", DType::I32, {4})};
  }
  template <typename T> static T param(const RecordedLaunch &launch, int index) {
    T value;
    std::memcpy(&value, launch.params[index], sizeof value);
    return value;
  }
};

} // namespace

TEST_F(Launch, PacksParametersInOrder) {
  Module module = load();
  Expected<PreparedLaunch> prepared = module.prepare("forward", tensors());
  ASSERT_TRUE(prepared) << prepared.message();
  ASSERT_TRUE(prepared->launch(stream));
  ASSERT_EQ(fake().launches.size(), 1u);
  const RecordedLaunch &launch = fake().launches[0];
  EXPECT_EQ(launch.config.gridDimX, 4u);
  EXPECT_EQ(launch.config.blockDimX, 128u);
  EXPECT_EQ(launch.config.sharedMemBytes, 49184u);
  EXPECT_EQ(launch.config.hStream, reinterpret_cast<cu::CUstream>(0x99));
  EXPECT_EQ(launch.config.numAttrs, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(launch.params[0]) % 64, 0u);
  EXPECT_EQ(*static_cast<unsigned char *>(launch.params[0]), 0xAB); // the fake's tensor map
  EXPECT_EQ(param<uint64_t>(launch, 1), o.address());
  EXPECT_EQ(param<uint64_t>(launch, 2), lse.address());
  EXPECT_EQ(param<int32_t>(launch, 3), 3);
  EXPECT_EQ(fake().maps.at(0).address, q.address());
  auto shapes = prepared->shapes();
  ASSERT_EQ(shapes.size(), 1u);
  EXPECT_EQ(shapes[0].entry, "small_forward");
}

// Of two variants, one of two kernels: the one that the manifest says takes fewer clocks for these arguments, or the named one.
TEST_F(Launch, RunsTheVariantWithTheFewestClocks) {
  const KernelSpec kernel = manifest.kernels[0];
  manifest.kernels = {kernel, kernel, kernel};
  for (int i = 0; i < 3; ++i)
    manifest.kernels[i].variant = i < 2 ? "large" : "small";
  for (int i : {0, 2}) // each names its own
    manifest.kernels[i].values.push_back({"$round", i ? 30 : 100});
  manifest.kernels[0].clocks = Expr("$round");
  manifest.kernels[2].clocks = ceilDiv("total", 32) * Expr("$round");
  Module module = load();
  auto kernelsRun = [&](int64_t rows, const std::string &asked = "") {
    LaunchOptions options;
    options.variant = asked;
    Expected<PreparedLaunch> prepared = module.prepare("forward", tensors(rows), options);
    return prepared ? std::to_string(prepared->shapes().size()) : prepared.message();
  };
  EXPECT_EQ(kernelsRun(96), "1");
  EXPECT_EQ(kernelsRun(97), "2");
  EXPECT_EQ(kernelsRun(97, "small"), "1");
  EXPECT_EQ(kernelsRun(32, "large"), "2");
  EXPECT_EQ(kernelsRun(32, "medium"), "'small' has no variant 'medium' of 'forward'; it has large, small");
  manifest.kernels[2].clocks = 100; // of equals the first
  module = load();
  EXPECT_EQ(kernelsRun(96), "2");
  manifest.kernels[0].clocks = manifest.kernels[2].clocks = std::numeric_limits<int64_t>::max();
  module = load();
  EXPECT_EQ(kernelsRun(96), "2");
}

TEST_F(Launch, RefusesAVariantWhereThereIsOneWay) {
  LaunchOptions options;
  options.variant = "64x128";
  Expected<PreparedLaunch> prepared = load().prepare("forward", tensors(), options);
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.message(), "'small' has no variant '64x128' of 'forward'; it has one way to run it, without a name: leave the variant out");
}

TEST_F(Launch, CostsOneCallAndAMemsetOncePrepared) {
  Module module = load();
  Expected<PreparedLaunch> prepared = module.prepare("forward", tensors());
  ASSERT_TRUE(prepared);
  fake().calls.clear();
  PreparedLaunch moved = std::move(*prepared); // parameters must not point into the old object
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(moved.launch(stream));
  EXPECT_EQ(fake().calls.size(), 6u);
  EXPECT_EQ(fake().count("cuMemsetD8Async"), 3);
  EXPECT_EQ(fake().count("cuLaunchKernelEx"), 3);
  EXPECT_EQ(param<int32_t>(fake().launches[2], 3), 3);
}

TEST_F(Launch, PassesNullForAnAbsentOptionalTensor) {
  std::vector<Tensor> given = tensors();
  given.erase(given.begin() + 2);
  Expected<PreparedLaunch> prepared = load().prepare("forward", given);
  ASSERT_TRUE(prepared) << prepared.message();
  ASSERT_TRUE(prepared->launch(stream));
  EXPECT_EQ(param<uint64_t>(fake().launches[0], 2), 0u);
}

TEST_F(Launch, AnEmptyBatchLaunchesNothing) {
  std::vector<Tensor> given = tensors(0);
  Expected<PreparedLaunch> prepared = load().prepare("forward", given);
  ASSERT_TRUE(prepared) << prepared.message();
  EXPECT_TRUE(prepared->launch(stream));
  EXPECT_TRUE(fake().launches.empty());
  EXPECT_TRUE(prepared->shapes().empty());
}

TEST_F(Launch, AnEmptyInputOfABusyKernelGetsAStandIn) {
  manifest.kernels[0].grid[0] = 7; // work although q has no rows
  Expected<PreparedLaunch> prepared = load().prepare("forward", tensors(0));
  ASSERT_TRUE(prepared) << prepared.message();
  EXPECT_NE(fake().maps.at(0).address, q.address());
  EXPECT_EQ(fake().maps.at(0).dims, (std::vector<uint64_t>{64, 1, 2}));
}

TEST_F(Launch, KeepsScratchPerStreamBetweenOneShotLaunches) {
  Module module = load();
  size_t before = fake().allocations.size();
  ASSERT_TRUE(module.launch("forward", tensors(), stream));
  ASSERT_TRUE(module.launch("forward", tensors(), stream));
  EXPECT_EQ(fake().allocations.size(), before + 1);
  ASSERT_TRUE(module.launch("forward", tensors(), Stream::defaultOf(device)));
  EXPECT_EQ(fake().allocations.size(), before + 2);
}

TEST_F(Launch, SendsTheClusterAsAnAttribute) {
  manifest.kernels[0].cluster = {2, 1, 1};
  Expected<PreparedLaunch> prepared = load().prepare("forward", tensors());
  ASSERT_TRUE(prepared) << prepared.message();
  ASSERT_TRUE(prepared->launch(stream));
  ASSERT_EQ(fake().launches[0].attributes.size(), 1u);
  EXPECT_EQ(fake().launches[0].attributes[0].id, cu::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(fake().launches[0].attributes[0].value.clusterDim.x, 2u);
}

TEST_F(Launch, RunsAllKernelsOfAnOperationInOrder) {
  manifest.kernels.push_back(manifest.kernels[0]);
  manifest.kernels[1].grid[0] = 1;
  manifest.kernels.push_back(manifest.kernels[0]);
  manifest.kernels[2].name = "backward";
  Expected<PreparedLaunch> prepared = load().prepare("forward", tensors());
  ASSERT_TRUE(prepared);
  ASSERT_TRUE(prepared->launch(stream));
  ASSERT_EQ(fake().launches.size(), 2u);
  EXPECT_EQ(fake().launches[1].config.gridDimX, 1u);
}

TEST_F(Launch, EvaluatesNamedValuesInOrder) {
  manifest.kernels[0].values = {{"$rows", Expr("total") - 40}, {"$more", Expr("$rows") + 1}};
  manifest.kernels[0].grid = {"$more", 1, 1};
  Expected<PreparedLaunch> prepared = load().prepare("forward", tensors());
  ASSERT_TRUE(prepared) << prepared.message();
  ASSERT_TRUE(prepared->launch(stream));
  EXPECT_EQ(fake().launches[0].config.gridDimX, 61u);
  manifest.kernels[0].values[0].second = floorDiv("total", 0);
  EXPECT_EQ(load().prepare("forward", tensors()).message(), "the launch expression floordiv(total, 0) divides by zero");
}

TEST_F(Launch, RefusesBadGrids) {
  manifest.kernels[0].grid = {1, Expr("total") * 1000, 1};
  EXPECT_EQ(load().prepare("forward", tensors()).message(),
            "the grid of 'small_forward' would be 100000 in dimension 1 (total * 1000), but the device takes 0 to "
            "65535; split the batch");
  manifest.kernels[0].grid = {5, 1, 1};
  manifest.kernels[0].cluster = {2, 1, 1};
  EXPECT_EQ(load().prepare("forward", tensors()).message(),
            "the grid of 'small_forward' is 5 in dimension 0, not a multiple of its cluster, 2");
}

TEST_F(Launch, RefusesParametersThatDoNotFit) {
  manifest.kernels[0].params[3].value = Expr("batch") * (int64_t(1) << 32);
  EXPECT_EQ(load().prepare("forward", tensors()).message(),
            "the kernel's parameter batch * 4294967296 = 12884901888 does not fit 32 bits; the batch is too large "
            "for this kernel");
  manifest = smallManifest(kPtx);
  manifest.kernels[0].params[4].bytes = -1;
  EXPECT_EQ(load().prepare("forward", tensors()).message(), "scratch memory 'counter' has the negative size -1");
}

TEST_F(Launch, RefusesMemoryOfAnotherPlace) {
  Module module = load();
  std::vector<Tensor> given = tensors();
  given[0].address = 0x10000;
  EXPECT_EQ(module.prepare("forward", given).message(),
            "tensor 'q': its address is not memory of cuda:0; copy the data there (fovea::Buffer), host memory cannot "
            "be read by a kernel");
  fake().ordinalOfMemory = 1;
  EXPECT_EQ(module.prepare("forward", tensors()).message(),
            "tensor 'lse': it lives on device 1, but the kernel runs on cuda:0");
  fake().reportHostMemory = true;
  EXPECT_EQ(module.prepare("forward", tensors()).message(),
            "tensor 'lse': its address is host memory; copy the data to cuda:0 (fovea::Buffer)");
}

TEST_F(Launch, RefusesRawPointersBeyondTheirAllocation) {
  std::vector<Tensor> given = tensors();
  given[2].capacityKnown = false;
  given[2].address += 16;
  EXPECT_EQ(load().prepare("forward", given).message(),
            "tensor 'lse': its shape and strides span 800 bytes, but its allocation has 784 from the address on");
}

TEST_F(Launch, ChecksOffsetsOnRequestOnly) {
  Module module = load();
  int32_t bad[] = {0, 50, 40, 100};
  ASSERT_TRUE(offsets.upload(bad, 16));
  fake().calls.clear();
  EXPECT_TRUE(module.prepare("forward", tensors()));
  EXPECT_EQ(fake().count("cuMemcpyDtoH_v2"), 0); // no hidden copy
  LaunchOptions device;
  device.checkOffsetsOnDevice = true;
  EXPECT_EQ(module.prepare("forward", tensors(), device).message(),
            "tensor 'offsets': value 2 decreases from 50 to 40; sequence i is the rows [offsets[i], offsets[i + 1])");
  LaunchOptions host;
  host.hostOffsets = {{"offsets", {0, 50, 60, 101}}};
  EXPECT_EQ(module.prepare("forward", tensors(), host).message(),
            "tensor 'offsets': the last value is 101, but tensor 'q' has only 100 rows");
}

// Whether a table with a row for each position is long enough stands in the offsets alone.
TEST_F(Launch, ReadsOffsetsBackForATableOfPositions) {
  TensorSpec spec{"angles", TensorSpec::Role::Input, {DType::BF16}, {"n_angles", 64}, 16, 16, false, ""};
  spec.positions = "offsets";
  manifest.tensors.push_back(spec);
  Module module = load();
  Buffer memory = *Buffer::allocate(device, 100 * 128);
  auto message = [&](int64_t rows, const LaunchOptions &options = {}) {
    std::vector<Tensor> all = tensors();
    all.push_back(memory.view("angles", DType::BF16, {rows, 64}));
    fake().calls.clear();
    Expected<PreparedLaunch> prepared = module.prepare("forward", all, options);
    return prepared ? std::string("no error") : prepared.message();
  };
  EXPECT_EQ(message(49), "tensor 'angles': has 49 rows, one for each position in a sequence, but sequence 1 of 'offsets' has "
                         "50; pass a longer table");
  EXPECT_EQ(message(50), "no error");
  EXPECT_EQ(fake().count("cuMemcpyDtoH_v2"), 1);
  EXPECT_EQ(message(100), "no error"); // as many as all rows together: no need to look
  EXPECT_EQ(fake().count("cuMemcpyDtoH_v2"), 0);
  LaunchOptions host;
  host.hostOffsets = {{"offsets", {0, 10, 60, 100}}};
  EXPECT_EQ(message(50, host), "no error");
  EXPECT_EQ(fake().count("cuMemcpyDtoH_v2"), 0);
}

TEST_F(Launch, NamesTheKernelThatFails) {
  Expected<PreparedLaunch> prepared = load().prepare("forward", tensors());
  ASSERT_TRUE(prepared);
  fake().failCall = "cuLaunchKernelEx";
  fake().failWith = cu::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  Expected<void> result = prepared->launch(stream);
  ASSERT_FALSE(result);
  EXPECT_NE(result.message().find("while: launch 'small_forward'; try: the kernel needs more registers"),
            std::string::npos);
}
