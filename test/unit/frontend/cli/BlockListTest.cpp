// test/unit/frontend/cli/BlockListTest.cpp - kernels take lists of key blocks as they are in memory: what may such a list do?
//
// `fovea run` refuses these lists; a launch through the runtime cannot look. The emulator's detectors watch every access.
#include "frontend/cli/Elements.h"
#include "frontend/cli/Execution.h"
#include "frontend/cli/Session.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace fovea;

namespace {

/// One listed attention on one target, with random inputs of two sequences, its lists to be overwritten.
class BlockLists : public testing::TestWithParam<std::tuple<const char *, const char *>> {
protected:
  void SetUp() override {
    setenv("FOVEA_EMULATE_DETECT", "1", 1);
    auto [target, rows] = GetParam();
    // Tests of this file run side by side, each in a process of its own, and write different specs.
    path = testing::TempDir() + "lists_" + std::to_string(getpid()) + ".attn";
    std::ofstream(path) << "attention lists {\n  q, k, v : bf16 [" << rows << ", 2 heads, 64]\n"
                        << "  pattern : blocks(64, 128, picks)\n  emit : forward(lse)\n}\n";
    Expected<cli::DeviceChoice> choice = cli::chooseDevice(std::string("emulator:") + target, target);
    ASSERT_TRUE(choice) << choice.message();
    loaded = cli::loadSpec(session, path, *choice, false);
    ASSERT_TRUE(loaded.kernels);
    BatchSize size;
    size.batch = 2, size.shortest = size.longest = 300;
    inputs = *randomInputs(cli::Session::forwardOf(*loaded.spec), size);
  }

  void TearDown() override { std::remove(path.c_str()); }

  int32_t *entries() { return reinterpret_cast<int32_t *>(inputs.at("picks").bytes.data()); }
  size_t count() { return inputs.at("picks").bytes.size() / 4; }

  Expected<Arrays> run() {
    attn::SpecOp spec = cli::Session::forwardOf(*loaded.spec);
    return execute(*loaded.kernels, "forward", inputs, *outputShapes(spec, valid), 0xff);
  }

  cli::Session session;
  cli::LoadedSpec loaded;
  Arrays inputs, valid;
  std::string path;
};

} // namespace

// Nothing outside the tensors is read or written, no row meets what lies behind its sequence (NaN), and every row is written.
TEST_P(BlockLists, OutOfOrderStayInBounds) {
  valid = inputs;
  for (std::vector<int32_t> list : {std::vector<int32_t>{2, 1, 0}, {1, 1, 1}, {3, 4, 5}, {INT32_MAX, 0, INT32_MAX - 1}, {0, INT32_MIN, 7}, {1 << 30, 1 << 29, 1}}) {
    for (size_t n = 0; n < count(); ++n)
      entries()[n] = list[n % list.size()];
    Expected<Arrays> outputs = run();
    ASSERT_TRUE(outputs) << outputs.message();
    std::vector<double> lse = decodeElements(outputs->at("lse").bytes, DType::F32);
    for (size_t n = 0; n < 1200; ++n)
      ASSERT_FALSE(std::isnan(lse[n])) << n << ": " << list[0] << ", " << list[1] << ", " << list[2];
  }
}

// A list that the table has no row for picks nothing: only jagged tables can be too short, dense ones are refused by shape.
TEST_P(BlockLists, TooShortPickNothing) {
  valid = inputs;
  NpyArray &picks = inputs.at("picks");
  if (picks.shape.size() == 4) {
    picks.shape[1] -= 1;
    Expected<Arrays> outputs = run();
    ASSERT_FALSE(outputs);
    EXPECT_NE(outputs.message().find("tensor 'picks': dimension 1 must be ceildiv(seq, 64) = 5"), std::string::npos) << outputs.message();
    return;
  }
  picks.shape[0] = 5; // those of the first sequence
  Expected<Arrays> outputs = run();
  ASSERT_TRUE(outputs) << outputs.message();
  std::vector<double> lse = decodeElements(outputs->at("lse").bytes, DType::F32);
  for (size_t n = 600; n < 1200; ++n)
    ASSERT_EQ(lse[n], -INFINITY) << n;
}

INSTANTIATE_TEST_SUITE_P(Targets, BlockLists,
                         testing::Combine(testing::Values("sm_90a", "sm_100a"), testing::Values("batch, seq", "jagged offsets")));
