// test/unit/codegen/TwinsTest.cpp - which two warp groups share one copy of their code
#include "codegen/kernel/Twins.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <regex>

using namespace fovea;
using namespace fovea::codegen;
using namespace mlir;

namespace {

// Channels S at columns 0 and 96, P over them 32 columns further, and a barrier each at bytes 16 and 48.
const char *const kKernel = R"(
tile.kernel @k target("sm_100a") schedule {} {
  tile.channel @S0 depth(1) stations ["qk0", "softmax0"] : !tile.slot<128x96xf32, tmem> {offset = 0 : i64, slot_size = 96 : i64}
  tile.channel @P0 depth(1) stations ["softmax0", "pv0"] alias(@S0) : !tile.slot<128x32xbf16, tmem> {offset = 32 : i64, slot_size = 96 : i64}
  tile.channel @S1 depth(1) stations ["qk1", "softmax1"] : !tile.slot<128x96xf32, tmem> {offset = 96 : i64, slot_size = 96 : i64}
  tile.channel @P1 depth(1) stations ["softmax1", "pv1"] alias(@S1) : !tile.slot<128x32xbf16, tmem> {offset = 128 : i64, slot_size = 96 : i64}
  tile.barrier @Full0 count(4) depth(1) {offset = 16 : i64}
  tile.barrier @Full1 count(4) depth(1) {offset = 48 : i64}
  tile.group @softmax0 warps(0, 4) registers(184) roles ["softmax0"] {
  ^bb0(%row: i32):
    %first = arith.constant 0 : i32
    %key = arith.constant 7 : i32
    %at = arith.addi %row, %first : i32
    tile.wait @Full0 for threads visit 0
    %s = tile.take @S0[1] for threads visit 0 : <128x96xf32, tmem>
    %p = tile.take @P0[0] for threads visit 0 : <128x32xbf16, tmem>
    %many = arith.constant 5 : i32
    tile.loop %key to %many inits() : () -> () {
    ^bb0(%n: i32):
      tile.arrive @Full0 from threads visit 0
      tile.yield
    }
  }
  tile.group @softmax1 warps(4, 4) registers(184) roles ["softmax1"] {
  ^bb0(%row: i32):
    %first = arith.constant 128 : i32
    %key = arith.constant 7 : i32
    %at = arith.addi %row, %first : i32
    tile.wait @Full1 for threads visit 0
    %s = tile.take @S1[1] for threads visit 0 : <128x96xf32, tmem>
    %p = tile.take @P1[0] for threads visit 0 : <128x32xbf16, tmem>
    %many = arith.constant 5 : i32
    tile.loop %key to %many inits() : () -> () {
    ^bb0(%n: i32):
      tile.arrive @Full1 from threads visit 0
      tile.yield
    }
  }
}
)";

class Twins : public testing::Test {
protected:
  // The distances by name (of constants "constant"), or nothing where the two groups are no twins. `from` is replaced by `to` in the second group.
  std::optional<std::map<std::string, int64_t>> of(const std::string &from = "", const std::string &to = "", bool everywhere = false) {
    std::string text = kKernel;
    if (!from.empty()) {
      size_t at = text.find(from, everywhere ? 0 : text.find("tile.group @softmax1"));
      EXPECT_NE(at, std::string::npos) << from;
      text.replace(at, from.size(), to);
    }
    context.loadDialect<tile::TileDialect, arith::ArithDialect>();
    module = parseSourceString<ModuleOp>(text, ParserConfig(&context, /*verifyAfterParse=*/false));
    if (!module) {
      ADD_FAILURE() << text;
      return std::nullopt;
    }
    auto kernel = *module->getOps<tile::KernelOp>().begin();
    SmallVector<tile::GroupOp> groups(kernel.getBody().getOps<tile::GroupOp>());
    std::optional<Twin> twin = twinOf(groups[0], groups[1]);
    if (!twin)
      return std::nullopt;
    std::map<std::string, int64_t> result;
    for (auto [op, distance] : twin->distances) {
      auto name = op->getAttrOfType<StringAttr>("sym_name");
      result[name ? name.str() : "constant"] = distance;
    }
    return result;
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(Twins, DifferByWhereTheirChannelsLieAndByConstants) {
  std::map<std::string, int64_t> expected = {{"S0", 96}, {"P0", 96}, {"Full0", 32}, {"constant", 128}};
  EXPECT_EQ(of(), expected);
}
TEST_F(Twins, HaveTheSameOperations) { EXPECT_FALSE(of("arith.addi", "arith.subi")); }
TEST_F(Twins, UseTheSameValues) { EXPECT_FALSE(of("%row, %first", "%row, %key")); }
TEST_F(Twins, HaveTheSameAttributes) { EXPECT_FALSE(of("@S1[1] for threads visit 0", "@S1[1] for threads visit 1")); }
TEST_F(Twins, HaveOneChannelForEach) {
  // A channel of registers is known by its name: S1 for both of the first group's would be one set of registers for two.
  EXPECT_FALSE(of("%p = tile.take @P1[0]", "%p = tile.take @P0[0]"));
  EXPECT_FALSE(of("tile.arrive @Full1", "tile.arrive @Full0"));
}
TEST_F(Twins, HaveChannelsOfOneShapeAndBarriersOfOneCount) {
  EXPECT_FALSE(of("@Full1 count(4)", "@Full1 count(1)", true));
  EXPECT_FALSE(of("slot_size = 96 : i64}\n  tile.barrier", "slot_size = 64 : i64}\n  tile.barrier", true));
}
TEST_F(Twins, BeginTheirLoopsAtTheSameBlock) { EXPECT_FALSE(of("constant 7", "constant 8")); }
TEST_F(Twins, FollowOneAnotherInWholeWarpgroups) {
  EXPECT_FALSE(of("warps(4, 4)", "warps(8, 4)"));
  EXPECT_FALSE(of("warps(4, 4)", "warps(4, 2)"));
  EXPECT_FALSE(of("registers(184)", "registers(72)"));
}

} // namespace
