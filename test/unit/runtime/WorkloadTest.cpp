// test/unit/runtime/WorkloadTest.cpp - tensors made for timing: real shapes, and what is refused by name.
#include "runtime/core/Bench.h"
#include "runtime/core/Workload.h"
#include "test/unit/runtime/AddBias.h"

#include <gtest/gtest.h>

using namespace fovea;

namespace {

/// The kernel of AddBias.h as if its elements were the rows of a jagged batch.
Manifest jagged() {
  Manifest m = test::addBiasManifest("sm_count");
  TensorSpec offsets;
  offsets.name = "offsets";
  offsets.role = TensorSpec::Role::Offsets;
  offsets.dtypes = {DType::I32, DType::I64};
  offsets.shape = {Expr("batch") + 1};
  m.tensors.push_back(offsets);
  for (int i : {0, 1}) {
    m.tensors[i].jagged = "offsets";
    m.tensors[i].dtypes = {DType::F32};
  }
  return m;
}

class WorkloadTest : public testing::Test {
protected:
  Expected<Module> load(const Manifest &manifest) {
    Expected<Device> device = Device::open("emulator:sm_90a");
    if (!device)
      return device.error();
    return Module::load(*device, test::kAddBiasPtx, manifest);
  }
};

TEST_F(WorkloadTest, LengthsAreTheSameEverywhereAndInRange) {
  WorkloadSize size;
  size.batch = 1000, size.shortest = 3, size.longest = 9;
  std::vector<int64_t> lengths = drawLengths(size);
  ASSERT_EQ(lengths.size(), 1000u);
  EXPECT_EQ(lengths, drawLengths(size));
  for (int64_t length : lengths)
    EXPECT_TRUE(length >= 3 && length <= 9) << length;
  size.seed = 1;
  EXPECT_NE(lengths, drawLengths(size));
}

TEST(Lengths, AreARangeOrAList) {
  Expected<Lengths> range = parseLengths("3:9");
  ASSERT_TRUE(range) << range.message();
  EXPECT_TRUE(range->shortest == 3 && range->longest == 9 && range->listed.empty());
  Expected<Lengths> list = parseLengths("0x2,65536,7x1");
  ASSERT_TRUE(list) << list.message();
  EXPECT_EQ(list->listed, (std::vector<int64_t>{0, 0, 65536, 7}));
  EXPECT_TRUE(list->shortest == 0 && list->longest == 65536);
  WorkloadSize size;
  size.batch = 4, size.listed = list->listed;
  EXPECT_EQ(drawLengths(size), list->listed);
  for (const char *bad : {"", "9:3", "3:", ":3", "3:9:", "-1", "5x", "5x0", "5,", ",5", "5 ", "x3", "5x2x2", "5x4294967296", "99999999999"}) {
    Expected<Lengths> none = parseLengths(bad);
    ASSERT_FALSE(none) << bad;
    EXPECT_NE(none.message().find(std::string("found '") + bad + "'"), std::string::npos);
  }
}

TEST_F(WorkloadTest, CountsRowsAndBytesAndRuns) {
  Expected<Module> module = load(jagged());
  ASSERT_TRUE(module) << module.message();
  WorkloadSize size;
  size.batch = 5, size.shortest = size.longest = 7;
  for (bool wide : {false, true}) {
    size.wideOffsets = wide;
    Expected<Workload> workload = Workload::create(*module, "forward", size);
    ASSERT_TRUE(workload) << workload.message();
    EXPECT_EQ(workload->rows, 35);
    EXPECT_EQ(workload->bytes, 2 * 35 * 4 + 6 * (wide ? 8 : 4));
    Expected<PreparedLaunch> launch = module->prepare("forward", workload->tensors);
    ASSERT_TRUE(launch) << launch.message();
    Expected<LaunchTimes> times = timeLaunches(module->device(), *launch, {1, 3});
    ASSERT_TRUE(times) << times.message();
    EXPECT_LE(times->fastestMs, times->medianMs);
    EXPECT_LE(times->medianMs, times->slowestMs);
  }
}

TEST_F(WorkloadTest, GivesATableARowForEachPosition) {
  Manifest manifest = jagged();
  manifest.tensors[0].jagged.clear();
  manifest.tensors[0].positions = "offsets";
  manifest.tensors[0].shape = {"n_in"};
  Expected<Module> module = load(manifest);
  ASSERT_TRUE(module) << module.message();
  WorkloadSize size;
  size.batch = 5, size.shortest = 3, size.longest = 7;
  Expected<Workload> workload = Workload::create(*module, "forward", size);
  ASSERT_TRUE(workload) << workload.message();
  EXPECT_EQ(workload->tensors[0].shape, std::vector<int64_t>{7});
}

TEST_F(WorkloadTest, RefusesByName) {
  Expected<Module> module = load(jagged());
  ASSERT_TRUE(module) << module.message();
  auto message = [&](const Module &m, const std::string &operation, const WorkloadSize &size) {
    Expected<Workload> workload = Workload::create(m, operation, size);
    return workload ? std::string("accepted") : workload.message();
  };
  EXPECT_EQ(message(*module, "sideways", {}), "'add_bias' has no operation 'sideways'; it has forward");
  WorkloadSize odd;
  odd.shortest = 9, odd.longest = 3;
  EXPECT_NE(message(*module, "forward", odd).find("lengths A:B with 0 <= A <= B"), std::string::npos);
  WorkloadSize huge;
  huge.batch = 3, huge.shortest = huge.longest = int64_t(1) << 30;
  EXPECT_NE(message(*module, "forward", huge).find("more than i32 offsets can count"), std::string::npos);

  Manifest integers = jagged();
  integers.tensors[0].dtypes = {DType::I32};
  Expected<Module> second = load(integers);
  ASSERT_TRUE(second) << second.message();
  EXPECT_NE(message(*second, "forward", {}).find("input 'in' is of type i32"), std::string::npos);

  Manifest unknown = jagged();
  unknown.tensors[0].shape = {Expr("n"), Expr("pages")};
  Expected<Module> third = load(unknown);
  ASSERT_TRUE(third) << third.message();
  EXPECT_NE(message(*third, "forward", {}).find("tensor 'in':"), std::string::npos);
}

TEST_F(WorkloadTest, TablesShowFiguresBesideCeilings) {
  BenchResult result{"forward", "", {1.0, 0.9, 1.1}, 2e9, 1e12};
  std::string table = benchTable({result}, {4e12, 8e14, 1700});
  EXPECT_NE(table.find("2.000 TB/s (50 % of a copy)"), std::string::npos) << table;
  EXPECT_NE(table.find("1000.0 TFLOPS (125 % of the tensor cores)"), std::string::npos) << table;
  EXPECT_NE(table.find("copy 4.000 TB/s, bf16 800 TFLOPS at 1700 MHz"), std::string::npos) << table;
  EXPECT_EQ(benchTable({result}, {}).find("ceilings"), std::string::npos);
}

} // namespace
