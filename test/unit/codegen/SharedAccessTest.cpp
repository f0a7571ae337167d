// test/unit/codegen/SharedAccessTest.cpp - do shared accesses stay 16 bytes wide, and do matrix
// addresses agree with the layout?
#include "codegen/common/SharedAccess.h"

#include "codegen/common/Sreg.h"
#include "mlir/IR/Matchers.h"
#include "test/unit/codegen/KernelFixture.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;

class SharedAccessTest : public KernelFixture {
protected:
  /// Value of an i32 expression of constants, by folding it op by op.
  static uint32_t evaluate(Value v) {
    APInt constant;
    if (matchPattern(v, m_ConstantInt(&constant)))
      return constant.getZExtValue();
    Operation *op = v.getDefiningOp();
    uint32_t x = evaluate(op->getOperand(0)), y = evaluate(op->getOperand(1));
    if (isa<LLVM::AddOp>(op))
      return x + y;
    if (isa<LLVM::MulOp>(op))
      return x * y;
    if (isa<LLVM::XOrOp>(op))
      return x ^ y;
    if (isa<LLVM::AndOp>(op))
      return x & y;
    if (isa<LLVM::OrOp>(op))
      return x | y;
    if (isa<LLVM::ShlOp>(op))
      return x << y;
    if (isa<LLVM::LShrOp>(op))
      return x >> y;
    ADD_FAILURE() << "unexpected op " << op->getName().getStringRef().str();
    return 0;
  }
};

TEST_F(SharedAccessTest, WideAndMatrixForms) {
  begin({{global()}}, {32});
  Value smem = dynamicSharedBase(b, loc, *module);
  Value address = LLVM::AddOp::create(
      b, loc, smem, LLVM::ShlOp::create(b, loc, laneId(b, loc), constI32(b, loc, 4)));
  Value v = loadShared(b, loc, VectorType::get({4}, i32()), address);
  storeShared(b, loc, v, addI32(b, loc, address, 512));
  zeroShared16(b, loc, addI32(b, loc, address, 1024));
  SmallVector<Value> m = loadMatrix(b, loc, address, 4, false);
  storeMatrix(b, loc, address, m, true);
  storeMatrix(b, loc, address, loadMatrix(b, loc, address, 2, true), false);
  keep(loadMatrix(b, loc, address, 1, false)[0], 0);
  std::string ptx = finish("sm_90a");
  EXPECT_TRUE(hasInOrder(ptx, {"ld.shared.v4.b32", "st.shared.v4.b32", "st.shared.v4.b32",
                               "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
                               "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
                               "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16",
                               "stmatrix.sync.aligned.m8n8.x2.shared.b16",
                               "ldmatrix.sync.aligned.m8n8.x1.shared.b16"}));
  ASSERT_ASSEMBLES(log, ptx, "sm_90a");
}

// The emitted address arithmetic, evaluated for every lane, against SmemTile::offset.
TEST_F(SharedAccessTest, MatrixAddressesAgreeWithTheTile) {
  begin({}, {32});
  for (uint32_t cols : {32u, 64u, 96u, 128u, 16u}) {
    layout::SmemTile tile(64, cols, 2);
    for (auto order : {layout::MatrixOrder::RowsFirst, layout::MatrixOrder::ColsFirst})
      for (uint32_t lane = 0; lane < 32; ++lane)
        for (uint32_t warpRow : {0u, 16u, 24u})
          for (uint32_t col0 = 0; col0 < cols; col0 += 16) {
            Value laneOffset = matrixLaneOffset(b, loc, tile, order, constI32(b, loc, lane),
                                                constI32(b, loc, warpRow));
            Value address =
                matrixAddress(b, loc, tile, constI32(b, loc, 4096), laneOffset, 8, col0);
            layout::Element e = layout::matrixRow(order, lane);
            ASSERT_EQ(evaluate(address), 4096 + tile.offset(warpRow + 8 + e.row, col0 + e.col))
                << cols << " columns, lane " << lane << ", block column " << col0;
          }
  }
}

// The transposed store: warps lie side by side in the columns of the tile.
TEST_F(SharedAccessTest, ShiftedColumnsAgreeWithTheTile) {
  begin({}, {32});
  for (uint32_t cols : {32u, 64u, 128u}) {
    layout::SmemTile tile(64, cols, 2);
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t shift = 0; shift < tile.panelCols(); shift += 16) {
        Value laneOffset =
            matrixLaneOffset(b, loc, tile, layout::MatrixOrder::ColsFirst, constI32(b, loc, lane));
        laneOffset = matrixShiftCols(b, loc, laneOffset, constI32(b, loc, shift));
        Value address = matrixAddress(b, loc, tile, constI32(b, loc, 0), laneOffset, 16, 0);
        layout::Element e = layout::matrixRow(layout::MatrixOrder::ColsFirst, lane);
        ASSERT_EQ(evaluate(address), tile.offset(16 + e.row, shift + e.col)) << cols;
      }
  }
}

TEST_F(SharedAccessTest, TileOffsetsAgreeWithTheTile) {
  begin({}, {32});
  for (uint32_t cols : {32u, 64u, 96u, 192u}) {
    layout::SmemTile tile(24, cols, 2);
    for (uint32_t row = 0; row < 24; ++row)
      for (uint32_t col = 0; col < cols; ++col)
        ASSERT_EQ(evaluate(tileOffset(b, loc, tile, constI32(b, loc, row), constI32(b, loc, col))),
                  tile.offset(row, col));
  }
}

// A fragment's quad reads neighbouring elements of a table row: lane part and constants, against SmemTile::offset.
TEST_F(SharedAccessTest, TileAddressesAgreeWithTheTile) {
  begin({}, {32});
  for (uint32_t bytes : {2u, 4u})
    for (uint32_t cols : {32u, 64u, 96u, 128u})
      for (uint32_t step : {4u, 8u}) { // interleaved: a quad of 4; halves: a quad of 4 pairs
        layout::SmemTile tile(64, cols, bytes);
        for (uint32_t row : {0u, 3u, 7u, 17u, 31u})
          for (uint32_t col = 0; col < step; ++col)
            for (uint32_t col0 = 0; col0 < cols; col0 += step) {
              Value laneOffset = tileOffset(b, loc, tile, constI32(b, loc, row), constI32(b, loc, col));
              Value address = tileAddress(b, loc, tile, constI32(b, loc, 8192), laneOffset, 8, col0);
              ASSERT_EQ(evaluate(address), 8192 + tile.offset(row + 8, col + col0))
                  << cols << " columns of " << bytes << " bytes, row " << row << ", column " << col << " + " << col0;
            }
      }
}
