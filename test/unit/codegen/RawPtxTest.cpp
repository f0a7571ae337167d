// test/unit/codegen/RawPtxTest.cpp - is the table in order, justified, and does every complete row
// assemble?
#include "codegen/common/RawPtx.h"

#include "codegen/common/Sync.h"
#include "test/unit/codegen/KernelFixture.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fovea::codegen;

class RawPtxTest : public KernelFixture {};

TEST_F(RawPtxTest, RowsFollowTheEnumAndSayWhy) {
  size_t i = 0;
  for (const RawPtxRow &row : rawPtxTable()) {
    EXPECT_EQ(static_cast<size_t>(row.id), i++) << row.name;
    EXPECT_GT(llvm::StringRef(row.reason).size(), 10u) << row.name;
  }
}

// A row that stores, waits or arrives names memory as clobbered, so that no access moves across it.
TEST_F(RawPtxTest, RowsThatTouchMemorySaySo) {
  for (const RawPtxRow &row : rawPtxTable()) {
    llvm::StringRef ptx = row.ptx, constraints = row.constraints;
    bool load = ptx.contains("ld.global.nc"); // of constant data, so free to move
    bool memory = ptx.contains("[$") || ptx.contains("bar.");
    if (!constraints.empty() && memory && !load)
      EXPECT_TRUE(constraints.ends_with("~{memory}")) << row.name;
  }
}

// One kernel with every row that has constraints; operands are arguments of the types the
// constraints ask for.
TEST_F(RawPtxTest, CompleteRowsAssemble) {
  begin({{i32()}, {b.getI64Type()}, {f32()}, {global()}}, {32, 0, 0, 2});
  Value predicate = electOne(b, loc);
  for (const RawPtxRow &row : rawPtxTable()) {
    if (!*row.constraints)
      continue;
    SmallVector<Value> operands;
    SmallVector<Type> results;
    for (llvm::StringRef c : llvm::split(row.constraints, ',')) {
      if (c.starts_with("~"))
        continue;
      char letter = c.back();
      Type type = letter == 'f' ? f32() : letter == 'l' ? Type(b.getI64Type()) : i32();
      if (c.starts_with("="))
        results.push_back(type);
      else if (letter == 'b')
        operands.push_back(predicate);
      else if (letter == 'n')
        operands.push_back(constI32(b, loc, operands.empty() ? 1 : 64));
      else
        operands.push_back(letter == 'f' ? arg(2) : letter == 'l' ? arg(1) : arg(0));
    }
    for (Value v : emitRawPtx(b, loc, row.id, operands, results))
      keep(v, 3);
  }
  std::string ptx = finish("sm_90a");
  ASSERT_ASSEMBLES(log, ptx, "sm_90a");
}
