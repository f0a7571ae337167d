// codegen/kernel/Combine.cpp - the kernel behind one that splits the keys of tiles: adds up the parts of each row.
//
// Part s of a row left its maximum m_s (log2 units), its sum l_s and its output O_s, of weights exp2(c score - m_s). With
// m = max m_s and f_s = exp2(m_s - m), o = sum f_s O_s / sum f_s l_s and lse = (m + log2 sum f_s l_s) ln 2. A warp does a row of one
// head: lane s looks after part s, then each lane after two columns in 64. The order of every sum is fixed.
#include "codegen/common/GlobalAccess.h"
#include "codegen/common/Registers.h"
#include "codegen/common/Sreg.h"
#include "codegen/kernel/Emitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;
using LLVM::ICmpPredicate;

namespace {
class Combine : ScalarBuilder {
public:
  Combine(KernelOp kernel, const Schedule &schedule, OpBuilder &b)
      : ScalarBuilder(b, kernel.getLoc()), kernel(kernel), params(Parameters(kernel, schedule).ofCombine()), schedule(schedule) {}

  void emit() {
    KernelLimits limits;
    limits.threads = 32 * kCombineWarps;
    function = createKernel(b, loc, (kernel.getSymName() + "_combine").str(), params.types(b), limits);
    lane = laneId(b, loc);
    rows = argument(params.scalar("partial_rows"));
    Value task = add(mul(blockId(b, loc), i32(kCombineWarps)), warpId(b, loc));
    pair = div(task, rows), row = sub(task, mul(pair, rows));
    Value all = add(pair, argument(params.scalar("first_pair")));
    if (kernel->hasAttr("jagged_queries")) {
      head = all;
    } else {
      Value heads = argument(params.scalar("heads"));
      sequence = div(all, heads), head = sub(all, mul(sequence, heads));
    }
    ifThen(owned(all), [&] { addUp(); });
    LLVM::ReturnOp::create(b, loc, ValueRange());
  }

private:
  Value argument(const ParamRef &p) { return function.getArgument(p.index); }

  // Whether the row's tile has parts, which the first tiles of the first pair may not. Rows of jagged queries before the first
  // sequence and behind the last are nobody's.
  Value owned(Value all) {
    Value inside = cmp(ICmpPredicate::ult, pair, argument(params.scalar("partial_pairs")));
    if (!kernel->hasAttr("jagged_queries")) {
      // Tiles of a pair come from the last to the first (Emitter::findKeyBlockItem).
      const int64_t M = schedule.itemQueries();
      Value tiles = div(addI32(b, loc, rows, uint32_t(M - 1)), i32(M));
      Value turn = sub(addI32(b, loc, tiles, uint32_t(-1)), div(row, i32(M)));
      Value index = add(mul(div(all, i32(schedule.packed)), tiles), turn);
      return bitAnd(inside, cmp(ICmpPredicate::sge, index, argument(params.scalar("whole"))));
    }
    StringRef table = kernel->getAttrOfType<StringAttr>("offsets").getValue();
    auto offset = [&](Value i) {
      return loadOffset(b, loc, argument(params.offsets(table)), argument(params.offsetShift(table)), i);
    };
    Value begun = cmp(ICmpPredicate::sge, row, offset(i32(0)));
    Value ended = cmp(ICmpPredicate::sge, row, offset(argument(params.scalar("batch"))));
    Value own = bitAnd(begun, LLVM::XOrOp::create(b, loc, ended, constI1(b, loc, true)));
    return bitAnd(inside, own);
  }

  // (part * pairs + pair) * rows + row.
  Value partialRow(Value part) {
    Value pairs = add(mul(wide(part), wide(argument(params.scalar("partial_pairs")))), wide(pair));
    return add(mul(pairs, wide(rows)), wide(row));
  }

  Value reduce(Value v, llvm::function_ref<Value(Value, Value)> combine) {
    for (uint32_t mask = 16; mask; mask /= 2)
      v = combine(v, shuffleXor(b, loc, v, mask));
    return v;
  }

  void addUp() {
    Type f32 = b.getF32Type();
    Value parts = argument(params.scalar("splits")), last = sub(parts, i32(1));
    auto clamped = [&](Value part) -> Value { return LLVM::SMinOp::create(b, loc, part, last); };
    // A lane beyond the parts looks at the last one, and counts for nothing.
    Value mine = cmp(ICmpPredicate::slt, lane, parts);
    Type pair = VectorType::get({2}, f32);
    auto stats = unpackVector(b, loc, loadGlobal(b, loc, pair, globalElement(b, loc, argument(params.scalar("partial_stats")), pair, partialRow(clamped(lane)))));
    Value top = reduce(stats[0], [&](Value x, Value y) { return maxF(b, loc, x, y); });
    // A sink is one more term (passes/Lower/Softmax.h).
    Value term;
    if (auto sink = kernel->getAttrOfType<StringAttr>("sink")) {
      Value address = globalElement(b, loc, argument(params.pointer(tableSymbol(sink.getValue()))), f32, wide(head));
      term = mulF(b, loc, loadGlobal(b, loc, f32, address), constF32(b, loc, llvm::numbers::log2ef));
      top = maxF(b, loc, top, term);
    }
    Value factor = codegen::select(b, loc, mine, ex2(b, loc, subF(b, loc, stats[0], top)), constF32(b, loc, 0));
    Value sum = codegen::select(b, loc, mine, mulF(b, loc, factor, stats[1]), constF32(b, loc, 0));
    sum = reduce(sum, [&](Value x, Value y) { return addF(b, loc, x, y); });
    if (term)
      sum = addF(b, loc, sum, ex2(b, loc, subF(b, loc, term, top)));
    // A row without a key has the sum 0 and outputs of 0: any finite factor will do.
    Value inverse = rcp(b, loc, maxF(b, loc, sum, constF32(b, loc, 1e-30f)));
    // maxF drops a NaN; a sum that is one makes the row NaN.
    inverse = codegen::select(b, loc, LLVM::FCmpOp::create(b, loc, LLVM::FCmpPredicate::uno, sum, sum), sum, inverse);

    SmallVector<TensorOp> outputs;
    for (TensorOp tensor : kernel.getBody().getOps<TensorOp>())
      if (tensor.getRole() == "output")
        outputs.push_back(tensor);
    const int64_t columns = outputs[0].getCols();
    Value column = LLVM::ShlOp::create(b, loc, lane, i32(1));
    SmallVector<Value> zeros(size_t(2 * ((columns + 63) / 64)), constF32(b, loc, 0));
    constexpr int64_t kAtOnce = 4; // parts whose loads are in flight together
    auto loop = scf::ForOp::create(b, loc, i32(0), parts, i32(kAtOnce), zeros);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> sums(loop.getRegionIterArgs()), factors, values, reals;
      for (int64_t n = 0; n < kAtOnce; ++n) {
        Value part = addI32(b, loc, loop.getInductionVar(), uint32_t(n)), real = cmp(ICmpPredicate::slt, part, parts);
        Value line = mul(partialRow(clamped(part)), constI64(b, loc, uint64_t(columns)));
        reals.push_back(real);
        factors.push_back(shuffleIdx(b, loc, factor, clamped(part)));
        for (int64_t first = 0; first < columns; first += 64) {
          // Lanes beyond the row read its first columns, and write none.
          Value at = addI32(b, loc, column, uint32_t(first));
          if (first + 64 > columns)
            at = codegen::select(b, loc, cmp(ICmpPredicate::slt, at, i32(columns)), at, i32(0));
          Value address = globalElement(b, loc, argument(params.scalar("partial")), f32, add(line, wide(at)));
          llvm::append_range(values, unpackVector(b, loc, loadGlobal(b, loc, pair, address)));
        }
      }
      for (int64_t n = 0; n < kAtOnce; ++n)
        for (size_t k = 0; k < sums.size(); ++k)
          // Not a factor of 0: the last part, which stands for those beyond it, may hold an Inf.
          sums[k] = codegen::select(b, loc, reals[size_t(n)],
                                    codegen::fma(b, loc, factors[size_t(n)], values[size_t(n) * sums.size() + k], sums[k]), sums[k]);
      scf::YieldOp::create(b, loc, sums);
    }
    auto out = [&](TensorOp tensor) -> std::pair<Value, Value> { // address and first element of the row
      StringRef name = tensor.getSymName();
      Value element;
      if (tensor.getBatched())
        element = mul(wide(sequence), argument(params.batchStride(name)));
      Value inside = add(mul(wide(row), argument(params.rowStride(name))), mul(wide(head), argument(params.headStride(name))));
      return {argument(params.pointer(name)), element ? add(element, inside) : inside};
    };
    auto [address, element] = out(outputs[0]);
    const Half half = outputs[0].getElementType().isBF16() ? Half::BF16 : Half::F16;
    for (int64_t first = 0; first < columns; first += 64) {
      auto value = [&](size_t n) { return mulF(b, loc, loop.getResult(unsigned(first / 32 + n)), inverse); };
      Value packed = packHalf2(b, loc, half, value(0), value(1));
      Value at = addI32(b, loc, column, uint32_t(first));
      Type two = b.getI16Type();
      storeGlobal4If(b, loc, cmp(ICmpPredicate::slt, at, i32(columns)), globalElement(b, loc, address, two, add(element, wide(at))), packed);
    }
    if (outputs.size() == 1)
      return;
    auto [lse, place] = out(outputs[1]);
    Value present = cmp(ICmpPredicate::ne, LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), lse), constI64(b, loc, 0));
    Value logarithm = mulF(b, loc, addF(b, loc, lg2(b, loc, sum), top), constF32(b, loc, llvm::numbers::ln2f));
    storeGlobal4If(b, loc, bitAnd(present, cmp(ICmpPredicate::eq, lane, i32(0))),
                   globalElement(b, loc, lse, f32, place), bitsOf(b, loc, logarithm));
  }

  KernelOp kernel;
  Parameters params;
  LLVM::LLVMFuncOp function;
  const Schedule &schedule;
  Value lane, rows, pair, row, sequence, head; ///< of `pair`, counted from the first that has a tile in parts
};
} // namespace

void fovea::codegen::emitCombine(KernelOp kernel, const Schedule &schedule, OpBuilder &b) { Combine(kernel, schedule, b).emit(); }
