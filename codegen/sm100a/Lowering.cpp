// codegen/sm100a/Lowering.cpp - what tile ops become on Blackwell.
#include "codegen/sm100a/Lowering.h"
#include "codegen/common/Fence.h"
#include "codegen/common/SharedAccess.h"
#include "codegen/kernel/Fragments.h"
#include "codegen/kernel/Rotary.h"
#include "codegen/sm100a/Tcgen05.h"
#include "codegen/sm100a/Tmem.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;
using namespace fovea::codegen::sm100a;
using layout::Major;
using layout::TmemShape;

namespace {
// Lanes that a product of rows [row0, row0 + rows) of an m-row accumulator must leave alone.
SmallVector<Value, 4> disabledLanes(Emitter &e, int64_t m, int64_t row0, int64_t rows) {
  uint32_t enabled[4] = {};
  layout::DataPath path = layout::dataPathOf(uint32_t(m));
  for (int64_t r = row0; r < row0 + rows; ++r) {
    uint32_t lane = layout::accumulatorCell(path, uint32_t(r), 0).lane;
    enabled[lane / 32] |= 1u << (lane % 32);
  }
  SmallVector<Value, 4> mask;
  for (uint32_t word : enabled)
    mask.push_back(constI32(e.b, e.loc, ~word));
  return mask;
}

class Lowering final : public TargetLowering {
public:
  bool leaderIssuesProducts() const override { return true; }

  LogicalResult mma(Emitter &e, MmaOp op) override {
    auto aType = cast<SlotType>(op.getA().getType()), bType = cast<SlotType>(op.getB().getType());
    auto dType = cast<SlotType>(op.getD().getType());
    int64_t m = dType.getRows(), block = op.getDiagonal().value_or(m);
    const bool bf16 = bType.getElementType().isBF16();
    layout::SmemTile bTile = e.smemTile(bType);
    Major bMajor = op.getBTransposed() ? Major::K : Major::MN;

    layout::InstructionDescriptor idesc;
    idesc.m = uint32_t(m);
    idesc.n = uint32_t(dType.getCols());
    idesc.a = idesc.b = bf16 ? layout::F16Type::BF16 : layout::F16Type::F16;
    idesc.transposeA = op.getATransposed();
    idesc.transposeB = bMajor == Major::MN;
    if (const char *why = idesc.whyInvalid(); *why)
      return op.emitOpError("is no tcgen05 product: ") << why;

    // One product for each block of the diagonal, writing that block's lanes only: rows of other blocks are
    // neither overwritten nor multiplied into these.
    for (int64_t row0 = 0; row0 < m; row0 += block) {
      layout::SubTile part;
      MmaOptions options;
      if (op.getAccumulate())
        options.accumulate = e.scalar(op.getAccumulate());
      if (op.getDiagonal()) {
        part.row0 = uint32_t(row0), part.rows = uint32_t(block);
        options.laneMask = disabledLanes(e, m, row0, block);
      }
      if (op.getFrom())
        part.row0 = uint32_t(*op.getFrom()), part.rows = uint32_t(aType.getCols());
      layout::MatrixOperand bOperand = describeOperand(bTile, bMajor, part);
      Value bDesc = smemDescriptor(e.b, e.loc, layout::TensorCore::Tcgen05, bOperand, e.address(op.getB()));
      Value d = e.address(op.getD());
      if (aType.getSpace() == Space::Tmem) {
        mmaTS(e.b, e.loc, d, e.address(op.getA()), bDesc, bOperand, idesc, options);
      } else {
        // Pairs that lie where their keys are: the block's rows (transposed) or columns are the sum's extent.
        layout::SubTile aPart;
        if (op.getDiagonal() && aType.getCols() == m && !op.getBTransposed())
          (op.getATransposed() ? aPart.row0 : aPart.col0) = uint32_t(row0),
          (op.getATransposed() ? aPart.rows : aPart.cols) = uint32_t(block);
        layout::MatrixOperand aOperand =
            describeOperand(e.smemTile(aType), op.getATransposed() ? Major::MN : Major::K, aPart);
        Value aDesc = smemDescriptor(e.b, e.loc, layout::TensorCore::Tcgen05, aOperand, e.address(op.getA()));
        mmaSS(e.b, e.loc, d, aDesc, aOperand, bDesc, bOperand, idesc, options);
      }
    }
    return success();
  }

  LogicalResult read(Emitter &e, ReadOp op) override {
    auto type = cast<SlotType>(op.getSlot().getType());
    if (isRowVector(type)) {
      e.registers(op.getTile()) = {loadShared(e.b, e.loc, e.b.getF32Type(), rowAddress(e, op.getSlot()))};
      return success();
    }
    e.registers(op.getTile()) = loadColumns(e, type, e.address(op.getSlot()), 0, uint32_t(type.getCols()));
    return success();
  }

  LogicalResult write(Emitter &e, WriteOp op) override {
    auto type = cast<SlotType>(op.getSlot().getType());
    SmallVector<Value> registers = e.registers(op.getTile());
    Value address = e.address(op.getSlot());
    if (isRowVector(type)) {
      codegen::storeShared(e.b, e.loc, registers.front(), rowAddress(e, op.getSlot()));
      return success();
    }
    if (type.getSpace() == Space::Smem) {
      int64_t block = cast<RankedTensorType>(op.getTile().getType()).getDimSize(1);
      storeElements(e, type, address, registers, 0, block < type.getCols() ? block : 0);
      return success();
    }
    if (type.getElementType().isF32()) {
      for (auto [begin, size] : transfers(uint32_t(type.getCols())))
        storeColumns(e, type, address, begin, ArrayRef(registers).slice(begin / columnsPerRegister(e), size / columnsPerRegister(e)));
      return success();
    }
    // Two 16-bit elements a cell, where the product looks for its A operand.
    SmallVector<Value> packed = packPairs(e, e.half(type.getElementType()), registers);
    if (!e.holdsRows()) {
      tmemStore(e.b, e.loc, TmemShape::S16x128b, warpAddress(e, type, address, 0), packed);
      return success();
    }
    for (auto [begin, size] : transfers(uint32_t(packed.size())))
      tmemStore(e.b, e.loc, TmemShape::S32x32b, warpAddress(e, type, address, begin), ArrayRef(packed).slice(begin, size));
    return success();
  }

  LogicalResult copy(Emitter &e, CopyOp op) override {
    auto from = cast<SlotType>(op.getFrom().getType()), to = cast<SlotType>(op.getTo().getType());
    const uint32_t step = 32, cols = uint32_t(to.getCols()), first = uint32_t(op.getColumn().value_or(0)); // columns in registers at a time
    auto load = [&](uint32_t col, uint32_t count) { return loadColumns(e, from, e.address(op.getFrom()), first + col, count); };
    auto store = [&](ArrayRef<Value> registers, uint32_t col) {
      storeElements(e, to, e.address(op.getTo()), registers, col);
    };
    if (op.getTable() && *op.getPairing() == Pairing::Halves) {
      for (uint32_t col = 0; col < cols / 2; col += step / 2) {
        SmallVector<Value> x = load(col, step / 2), y = load(cols / 2 + col, step / 2);
        unrotate(e, op.getTable(), Pairing::Halves, x, y, col);
        store(x, col), store(y, cols / 2 + col);
      }
      return success();
    }
    for (uint32_t col = 0; col < cols; col += step) {
      SmallVector<Value> x = load(col, step);
      if (op.getFactor())
        multiply(e, x, e.registers(op.getFactor()));
      if (op.getTable())
        unrotate(e, op.getTable(), Pairing::Interleaved, x, {}, col);
      store(x, col);
    }
    return success();
  }

  LogicalResult scale(Emitter &e, ScaleOp op) override {
    auto type = cast<SlotType>(op.getSlot().getType());
    const uint32_t step = 32;
    for (uint32_t col = 0; col < uint32_t(type.getCols()); col += step) {
      SmallVector<Value> columns = loadColumns(e, type, e.address(op.getSlot()), col, step);
      multiply(e, columns, e.registers(op.getFactor()));
      storeColumns(e, type, e.address(op.getSlot()), col, columns);
    }
    return success();
  }

  SmallVector<Value> accumulator(Emitter &e, Value slot, uint32_t col, uint32_t count) override {
    return loadColumns(e, cast<SlotType>(slot.getType()), e.address(slot), col, count);
  }

  LogicalResult warpProduct(Emitter &, WarpProductOp op) override {
    return op.emitOpError("is Hopper's; scores of this target stay in tensor memory");
  }

  LogicalResult productWait(Emitter &, ProductWaitOp op) override {
    return op.emitOpError("is wgmma's; products of this target are committed to a barrier");
  }

  LogicalResult commit(Emitter &e, CommitOp op) override {
    sm100a::commit(e.b, e.loc, e.barrierAddress(op.getBarrier(), op.getVisit()));
    return success();
  }

  LogicalResult fence(Emitter &e, FenceOp op) override {
    switch (op.getKind()) {
    case FenceKind::AsyncProxy:
      fenceProxyAsyncShared(e.b, e.loc);
      break;
    case FenceKind::TensorBefore:
      fenceBefore(e.b, e.loc);
      break;
    case FenceKind::TensorAfter:
      fenceAfter(e.b, e.loc);
      break;
    case FenceKind::TmemLoads:
      // Every read waits for its own loads before it uses them (loadColumns).
      break;
    case FenceKind::TmemStores:
      tmemWaitStore(e.b, e.loc);
      break;
    }
    return success();
  }

  void allocateTensorMemory(Emitter &e, Value slot, int64_t columns) override {
    tmemAlloc(e.b, e.loc, slot, uint32_t(columns));
    tmemRelinquish(e.b, e.loc);
  }
  Value tensorMemoryBase(Emitter &e, Value slot) override { return tmemBase(e.b, e.loc, slot); }
  void freeTensorMemory(Emitter &e, Value base, int64_t columns) override {
    tmemDealloc(e.b, e.loc, base, uint32_t(columns));
  }

private:
  // One f32 a row in shared memory, for groups that hold a row a thread.
  static bool isRowVector(SlotType type) { return type.getSpace() == Space::Smem && type.getCols() == 1; }
  static Value rowAddress(Emitter &e, Value slot) {
    return e.add(e.address(slot), e.mul(e.add(e.warpRow(), e.lane), e.i32(4)));
  }

  // Each row by its value: one a thread, or the two rows of a fragment.
  static void multiply(Emitter &e, SmallVector<Value> &columns, ArrayRef<Value> factors) {
    for (auto [r, v] : llvm::enumerate(columns))
      v = mulF(e.b, e.loc, v, factors.size() == 1 ? factors[0] : factors[r / 2 % 2]);
  }

  // The warp's lanes at a column: its quarter, and in eight warps on 128 rows the half of it that the warp shares in.
  static Value warpAddress(Emitter &e, SlotType type, Value address, uint32_t col) {
    Value at = tmemWarpAddress(e.b, e.loc, address, e.group.warp, col);
    if (e.holdsRows() || type.getRows() == 64)
      return at;
    Value half = LLVM::LShrOp::create(e.b, e.loc, e.group.warp, e.i32(2));
    return e.add(at, LLVM::ShlOp::create(e.b, e.loc, half, e.i32(16 + 4)));
  }

  // A transfer has a power of two of columns: 80 are 64 and 16. One of 128 wants more registers at once than a thread of 512
  // may have: ptxas refuses it.
  static SmallVector<std::pair<uint32_t, uint32_t>> transfers(uint32_t columns) {
    SmallVector<std::pair<uint32_t, uint32_t>> all;
    for (uint32_t begin = 0; begin < columns;) {
      uint32_t size = std::min(64u, llvm::bit_floor(columns - begin));
      all.push_back({begin, size});
      begin += size;
    }
    return all;
  }

  // f32 columns [col, col + count) of the warp's rows: a row a thread (128 rows), or the accumulator fragment.
  static SmallVector<Value> loadColumns(Emitter &e, SlotType type, Value address, uint32_t col, uint32_t count) {
    SmallVector<Value> loaded;
    for (auto [begin, size] : transfers(count)) {
      Value at = warpAddress(e, type, address, col + begin);
      llvm::append_range(loaded, e.holdsRows() ? tmemLoad(e.b, e.loc, TmemShape::S32x32b, size, at)
                                               : tmemLoad(e.b, e.loc, TmemShape::S16x256b, size / 8, at));
    }
    SmallVector<Value> values;
    for (Value v : tmemWaitLoad(e.b, e.loc, loaded))
      values.push_back(floatOf(e.b, e.loc, v));
    return values;
  }

  // A row a thread, or a fragment's share: half of the columns of two rows each.
  static uint32_t columnsPerRegister(Emitter &e) { return e.holdsRows() ? 1 : 2; }

  // The same the other way round, of a power of two of columns.
  static void storeColumns(Emitter &e, SlotType type, Value address, uint32_t col, ArrayRef<Value> columns) {
    SmallVector<Value> bits;
    for (Value v : columns)
      bits.push_back(bitsOf(e.b, e.loc, v));
    tmemStore(e.b, e.loc, e.holdsRows() ? TmemShape::S32x32b : TmemShape::S16x256b, warpAddress(e, type, address, col), bits);
  }
};
} // namespace

std::unique_ptr<TargetLowering> fovea::codegen::sm100a::createLowering() { return std::make_unique<Lowering>(); }
