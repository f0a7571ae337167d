// codegen/sm90a/Lowering.cpp - what tile ops become on Hopper.
#include "codegen/sm90a/Lowering.h"
#include "codegen/common/Fence.h"
#include "codegen/common/SharedAccess.h"
#include "codegen/kernel/Fragments.h"
#include "codegen/kernel/Rotary.h"
#include "codegen/sm90a/Mma.h"
#include "codegen/sm90a/Wgmma.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;
using namespace fovea::codegen::sm90a;
using layout::Major;
using layout::MatrixOrder;

namespace {
class Lowering final : public TargetLowering {
public:
  bool leaderIssuesProducts() const override { return false; }

  LogicalResult mma(Emitter &e, MmaOp op) override {
    if (op.getFrom())
      return op.emitOpError("takes some of B's rows, which products of this target do not");
    int64_t block = op.getDiagonal().value_or(cast<SlotType>(op.getD().getType()).getRows());
    if (block >= 64)
      return warpgroupProduct(e, op);
    e.slotRegisters(op.getD()) =
        warpProduct(e, op.getA(), op.getATransposed(), op.getB(), op.getBTransposed(), block, /*ownBlock=*/true);
    return success();
  }

  LogicalResult read(Emitter &e, ReadOp op) override {
    if (cast<SlotType>(op.getSlot().getType()).getSpace() != Space::Registers)
      return op.emitOpError("expected a slot in registers");
    e.registers(op.getTile()) = e.slotRegisters(op.getSlot());
    return success();
  }

  LogicalResult write(Emitter &e, WriteOp op) override {
    auto type = cast<SlotType>(op.getSlot().getType());
    if (type.getSpace() == Space::Registers && type.getElementType().isF32())
      e.slotRegisters(op.getSlot()) = e.registers(op.getTile());
    else if (type.getSpace() == Space::Registers)
      e.slotRegisters(op.getSlot()) =
          packOperandA(e.b, e.loc, e.half(type.getElementType()), e.registers(op.getTile()));
    else
      storeFragment(e, type, e.address(op.getSlot()), e.registers(op.getTile()));
    return success();
  }

  LogicalResult copy(Emitter &e, CopyOp op) override {
    SmallVector<Value> registers =
        accumulator(e, op.getFrom(), uint32_t(op.getColumn().value_or(0)), uint32_t(cast<SlotType>(op.getTo().getType()).getCols()));
    if (op.getFactor())
      scaleFragment(e, registers, e.registers(op.getFactor()));
    if (op.getTable()) {
      MutableArrayRef<Value> all(registers);
      bool interleaved = *op.getPairing() == Pairing::Interleaved;
      size_t x = interleaved ? all.size() : all.size() / 2;
      unrotate(e, op.getTable(), *op.getPairing(), all.take_front(x), all.drop_front(x), 0);
    }
    storeFragment(e, cast<SlotType>(op.getTo().getType()), e.address(op.getTo()), registers);
    return success();
  }

  SmallVector<Value> accumulator(Emitter &e, Value slot, uint32_t col, uint32_t count) override {
    return SmallVector<Value>(ArrayRef(e.slotRegisters(slot)).slice(col / 2, count / 2));
  }

  LogicalResult scale(Emitter &e, ScaleOp op) override {
    scaleFragment(e, e.slotRegisters(op.getSlot()), e.registers(op.getFactor()));
    return success();
  }

  LogicalResult warpProduct(Emitter &e, WarpProductOp op) override {
    e.registers(op.getResult()) = warpProduct(e, op.getA(), false, op.getB(), true,
                                              cast<SlotType>(op.getB().getType()).getRows(), /*ownBlock=*/false);
    return success();
  }

  // Products end in the order of issue: wait for those up to the last that writes or reads the slot. One that is
  // synchronous (below 64 rows), or waited for already, costs nothing.
  LogicalResult productWait(Emitter &e, ProductWaitOp op) override {
    ChannelOp owner = ownerOf(channelOf(op.getSlot()));
    size_t ended = 0;
    for (size_t i = 0; i < pending.size(); ++i)
      if (ownerOf(channelOf(pending[i].getD())) == owner || ownerOf(channelOf(pending[i].getA())) == owner)
        ended = i + 1;
    if (ended == 0)
      return success();
    // Each accumulator once, though several products may add to it: a register that is tied twice is copied in flight.
    SmallVector<SmallVector<Value> *> accumulators;
    for (size_t i = 0; i < ended; ++i)
      if (auto *registers = &e.slotRegisters(pending[i].getD()); !llvm::is_contained(accumulators, registers))
        accumulators.push_back(registers);
    SmallVector<Value> all;
    for (SmallVector<Value> *registers : accumulators)
      llvm::append_range(all, *registers);
    ArrayRef<Value> rest = all = wgmmaWait(e.b, e.loc, uint32_t(pending.size() - ended), all);
    for (SmallVector<Value> *registers : accumulators) {
      llvm::copy(rest.take_front(registers->size()), registers->begin());
      rest = rest.drop_front(registers->size());
    }
    if (!op->getParentOfType<RareOp>()) // a cold path that does not run ends none
      pending.erase(pending.begin(), pending.begin() + ended);
    return success();
  }

  LogicalResult atLoopEdge(Emitter &, LoopOp op) override {
    // ptxas counts groups inside one iteration only.
    if (!pending.empty())
      return op.emitOpError("a product into '") << channelOf(pending.front().getD()).getSymName()
                                                << "' is pending where a loop begins or ends";
    return success();
  }

  LogicalResult commit(Emitter &, CommitOp op) override {
    return op.emitOpError("is tcgen05's; products of this target are waited for in registers");
  }

  LogicalResult fence(Emitter &e, FenceOp op) override {
    if (op.getKind() != FenceKind::AsyncProxy)
      return op.emitOpError("is tensor memory's, which this target does not have");
    fenceProxyAsyncShared(e.b, e.loc);
    return success();
  }

private:
  // 64 rows a warpgroup: against the whole tile, or, when the tile holds blocks of 64, against its own block.
  LogicalResult warpgroupProduct(Emitter &e, MmaOp op) {
    auto aType = cast<SlotType>(op.getA().getType()), bType = cast<SlotType>(op.getB().getType());
    int64_t rows = cast<SlotType>(op.getD().getType()).getRows();
    const bool transposed = op.getATransposed();
    Value warpgroup = rows > 64 ? LLVM::LShrOp::create(e.b, e.loc, e.group.warp, e.i32(2)) : Value();

    layout::SmemTile bTile = e.smemTile(bType);
    // With blocks, every operand is the 64 tile rows of the warpgroup's block, whichever side of the sum they are on.
    const bool blocks = op.getDiagonal() && warpgroup;
    layout::SubTile ownRows{0, 0, blocks ? 64u : 0u, 0};
    auto ownBase = [&](Value slot, layout::SmemTile &tile) -> Value {
      return e.add(e.address(slot), e.mul(warpgroup, e.i32(64 * tile.rowBytes())));
    };
    Value bBase = blocks ? ownBase(op.getB(), bTile) : e.address(op.getB());
    layout::MatrixOperand bOperand = describeOperand(bTile, op.getBTransposed() ? Major::K : Major::MN, ownRows);
    Value bDesc = smemDescriptor(e.b, e.loc, layout::TensorCore::Wgmma, bOperand, bBase);
    WgmmaOptions options;
    options.type = e.half(bType.getElementType());
    SmallVector<Value> sum;
    if (op.getAccumulate()) {
      sum = e.slotRegisters(op.getD());
      options.accumulate = e.scalar(op.getAccumulate());
    }

    SmallVector<Value> d;
    if (aType.getSpace() == Space::Registers) {
      d = wgmmaRS(e.b, e.loc, e.slotRegisters(op.getA()), bDesc, bOperand, sum, options);
    } else {
      layout::SmemTile aTile = e.smemTile(aType);
      // The warpgroup's 64 rows of op(A): tile rows, or 64 columns (one panel) when transposed.
      layout::MatrixOperand aOperand = transposed ? describeOperand(aTile, Major::MN, {0, 0, ownRows.rows, 64})
                                                  : describeOperand(aTile, Major::K, {0, 0, 64, 0});
      Value aBase = e.address(op.getA());
      if (blocks || (warpgroup && !transposed))
        aBase = ownBase(op.getA(), aTile);
      else if (warpgroup)
        aBase = e.add(aBase, e.mul(warpgroup, e.i32(aTile.panelBytes())));
      d = wgmmaSS(e.b, e.loc, smemDescriptor(e.b, e.loc, layout::TensorCore::Wgmma, aOperand, aBase), aOperand, bDesc,
                  bOperand, sum, options);
    }
    e.slotRegisters(op.getD()) = d;
    pending.push_back(op);
    return success();
  }

  // Rows of a fragment: two a thread.
  static void scaleFragment(Emitter &e, SmallVector<Value> &registers, ArrayRef<Value> factors) {
    for (auto [r, v] : llvm::enumerate(registers))
      v = mulF(e.b, e.loc, v, factors[r / 2 % 2]);
  }

  // 16 rows a warp against `rows` rows of B: those of the warp's own block, so that nothing of another block is
  // multiplied and neither work nor a NaN of it is spent on these rows, or all.
  SmallVector<Value> warpProduct(Emitter &e, Value aSlot, bool aTransposed, Value bSlot, bool kMajor, int64_t rows,
                                 bool ownBlock) {
    auto aType = cast<SlotType>(aSlot.getType()), bType = cast<SlotType>(bSlot.getType());
    Half half = e.half(bType.getElementType());
    Value row = e.warpRow();
    Value blockRow = ownBlock ? Value(LLVM::AndOp::create(e.b, e.loc, row, e.i32(~(rows - 1)))) : e.i32(0);
    layout::SmemTile bTile = e.smemTile(bType);
    Value bBase = e.address(bSlot);
    MatrixOrder bOrder = kMajor ? MatrixOrder::ColsFirst : MatrixOrder::RowsFirst;
    Value bLane = matrixLaneOffset(e.b, e.loc, bTile, bOrder, e.lane, blockRow);
    uint32_t n = kMajor ? uint32_t(rows) : bTile.cols(), k = kMajor ? bTile.cols() : uint32_t(rows);

    SmallVector<Value> d(n / 2, constF32(e.b, e.loc, 0));
    for (uint32_t step = 0; step < k / 16; ++step) {
      SmallVector<Value> a;
      if (aType.getSpace() == Space::Registers) {
        SmallVector<Value> &all = e.slotRegisters(aSlot);
        a.assign(all.begin() + 4 * step, all.begin() + 4 * step + 4);
      } else {
        layout::SmemTile aTile = e.smemTile(aType);
        if (!aTransposed) {
          Value aLane = matrixLaneOffset(e.b, e.loc, aTile, MatrixOrder::RowsFirst, e.lane, row);
          a = loadMatrix(e.b, e.loc, matrixAddress(e.b, e.loc, aTile, e.address(aSlot), aLane, 0, 16 * step), 4,
                         /*trans=*/false);
        } else {
          // Rows of op(A) are columns of the tile, counted from the block's start; its tile rows are the block's.
          Value aLane = matrixLaneOffset(e.b, e.loc, aTile, MatrixOrder::ColsFirst, e.lane, blockRow);
          aLane = matrixShiftCols(e.b, e.loc, aLane, e.sub(row, blockRow));
          a = loadMatrix(e.b, e.loc, matrixAddress(e.b, e.loc, aTile, e.address(aSlot), aLane, 16 * step, 0), 4,
                         /*trans=*/true);
        }
      }
      for (uint32_t col = 0; col < n; col += 16) {
        Value address = kMajor ? matrixAddress(e.b, e.loc, bTile, bBase, bLane, col, 16 * step)
                               : matrixAddress(e.b, e.loc, bTile, bBase, bLane, 16 * step, col);
        SmallVector<Value> bRegs = loadMatrix(e.b, e.loc, address, 4, /*trans=*/!kMajor);
        for (uint32_t i = 0; i < 2; ++i) {
          MutableArrayRef<Value> c(&d[col / 2 + 4 * i], 4);
          SmallVector<Value> next = mmaSync(e.b, e.loc, half, a, ValueRange(bRegs).slice(2 * i, 2), ValueRange(c));
          llvm::copy(next, c.begin());
        }
      }
    }
    return d;
  }

  SmallVector<MmaOp> pending; ///< products issued and not waited for, in order
};
} // namespace

std::unique_ptr<TargetLowering> fovea::codegen::sm90a::createLowering() { return std::make_unique<Lowering>(); }
