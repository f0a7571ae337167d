// test/unit/runtime/EmulatorTest.cpp - the whole runtime against a driver that runs kernels: the emulator, by dlopen.
#include "AddBias.h"
#include "runtime/core/Module.h"

#include <gtest/gtest.h>

using namespace fovea;
using namespace fovea::test;

namespace {

struct Emulated : testing::Test {
  void SetUp() override {
    Expected<Device> opened = Device::open("emulator:sm_90a");
    ASSERT_TRUE(opened) << opened.message();
    device.emplace(*opened);
    Expected<Module> loaded = Module::load(*device, kAddBiasPtx, addBiasManifest("bias"));
    ASSERT_TRUE(loaded) << loaded.message();
    module.emplace(*loaded);
  }
  std::optional<Device> device;
  std::optional<Module> module;
};

} // namespace

TEST_F(Emulated, RunsAPreparedLaunchAgainAndAgain) {
  std::vector<int32_t> values(100, 5), result(100, 0);
  Buffer in = *Buffer::fromHost(*device, values.data(), 400), out = *Buffer::allocate(*device, 400);
  LaunchOptions options;
  options.dims = {{"bias", 7}};
  Expected<PreparedLaunch> launch =
      module->prepare("forward", {in.view("in", DType::I32, {100}), out.view("out", DType::I32, {100})}, options);
  ASSERT_TRUE(launch) << launch.message();
  Expected<Stream> stream = Stream::create(*device);
  ASSERT_TRUE(stream);
  Expected<Event> start = Event::create(*device), end = Event::create(*device);
  ASSERT_TRUE(start && end);
  ASSERT_TRUE(start->record(*stream));
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(launch->launch(*stream));
  ASSERT_TRUE(end->record(*stream));
  ASSERT_TRUE(stream->synchronize());
  Expected<float> time = end->millisecondsSince(*start);
  ASSERT_TRUE(time) << time.message();
  EXPECT_GE(*time, 0);
  ASSERT_TRUE(out.download(result.data(), 400));
  EXPECT_EQ(result, std::vector<int32_t>(100, 12));
}

TEST_F(Emulated, KnowsItsKernels) {
  Expected<std::vector<KernelFacts>> facts = module->kernelFacts();
  ASSERT_TRUE(facts) << facts.message();
  EXPECT_EQ((*facts)[0].entry, "add_bias");
  EXPECT_GT((*facts)[0].ctasPerSm, 0);
}

TEST_F(Emulated, RefusesHostMemoryAndShortAllocations) {
  std::vector<int32_t> host(100);
  Buffer out = *Buffer::allocate(*device, 400), half = *Buffer::allocate(*device, 200);
  LaunchOptions options;
  options.dims = {{"bias", 7}};
  Tensor in{"in", reinterpret_cast<unsigned long long>(host.data()), DType::I32, {100}, {1}};
  auto problem = [&] {
    Expected<PreparedLaunch> launch = module->prepare("forward", {in, out.view("out", DType::I32, {100})}, options);
    return launch ? "no error" : launch.message();
  };
  EXPECT_EQ(problem(), "tensor 'in': its address is not memory of emulator:sm_90a; copy the data there "
                       "(fovea::Buffer), host memory cannot be read by a kernel");
  in.address = half.address();
  EXPECT_EQ(problem(), "tensor 'in': its shape and strides span 400 bytes, but its allocation has 200 from the address "
                       "on");
}

TEST_F(Emulated, OpensEveryChipInOneProcess) {
  Expected<Device> blackwell = Device::open("emulator:sm_100a");
  ASSERT_TRUE(blackwell) << blackwell.message();
  EXPECT_EQ(blackwell->facts().target, findTarget("sm_100a"));
  EXPECT_EQ(Module::load(*blackwell, kAddBiasPtx, addBiasManifest("bias")).message(),
            "'add_bias' was compiled for sm_90a, but emulator:sm_100a is '" + blackwell->facts().name +
                "' of compute capability 10.0; compile with --target sm_100a");
}

TEST_F(Emulated, ShowsTheLineOfBadPtx) {
  std::string bad = kAddBiasPtx;
  bad.replace(bad.find("mad.lo.s32"), 10, "mad.lo.s33");
  Manifest m = addBiasManifest("bias");
  m.ptxSha256 = sha256(bad);
  Expected<Module> loaded = Module::load(*device, bad, m);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.message().find("line 12"), std::string::npos) << loaded.message();
}
