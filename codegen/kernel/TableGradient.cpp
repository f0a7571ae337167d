// codegen/kernel/TableGradient.cpp - adds up the gradient of a rotary table.
//
// A thread does two neighbouring pairs of a row: 4 columns of x and g, 2 sines and 2 cosines. It walks over the tensors, and
// over the heads of each, in their order; a row per position also over the sequences of its part.
#include "codegen/kernel/TableGradient.h"
#include "codegen/common/GlobalAccess.h"
#include "codegen/common/Kernel.h"
#include "codegen/common/Sreg.h"
#include "codegen/kernel/ScalarBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using LLVM::ICmpPredicate;

namespace {
constexpr int64_t kThreads = 256;
int64_t threadsPerRow(const TableGradient &g) { return g.cols / 4; }
int64_t rowsPerCta(const TableGradient &g) { return kThreads / threadsPerRow(g); }

// Parts of a batch: about as many threads as fill a chip, and no more than there are sequences.
constexpr int64_t kEnoughThreads = 1 << 17, kMostParts = 64;
Expr partsOf(const TableGradient &g) {
  Expr one = maximum(Expr(g.output + ".shape.0") * Expr(threadsPerRow(g)), Expr(1));
  Expr fill = minimum(floorDiv(Expr(kEnoughThreads), one), Expr(kMostParts));
  return maximum(minimum(fill, Expr("batch")), Expr(1));
}

Parameters parametersOf(const TableGradient &g, bool sum) {
  std::vector<std::pair<std::string, ParamSpec>> list;
  auto add = [&](const std::string &key, ParamSpec::Kind kind, const std::string &tensor, Expr value) {
    ParamSpec p;
    p.kind = kind;
    kind == ParamSpec::Kind::Scratch ? p.name = tensor : p.tensor = tensor;
    kind == ParamSpec::Kind::Scratch ? p.bytes = value : p.value = value;
    list.push_back({key, p});
  };
  auto strided = [&](const std::string &tensor, bool heads) {
    add("pointer:" + tensor, ParamSpec::Kind::Pointer, tensor, Expr(0));
    add("row_stride:" + tensor, ParamSpec::Kind::I64, "", Expr(tensor + ".stride.0"));
    if (heads)
      add("head_stride:" + tensor, ParamSpec::Kind::I64, "", Expr(tensor + ".stride.1"));
  };
  const Expr rows(g.output + ".shape.0"), parts = partsOf(g);
  if (!sum) {
    for (const TableGradient::Source &s : g.sources) {
      strided(s.tensor, true);
      Expr elements = Expr(s.tensor + ".shape.0") * Expr(g.heads * g.cols);
      add("scratch:" + s.scratch, ParamSpec::Kind::Scratch, s.scratch, elements * Expr(4));
    }
    add("offsets:" + g.offsets, ParamSpec::Kind::Pointer, g.offsets, Expr(0));
    add("shift:" + g.offsets, ParamSpec::Kind::I32, "", floorDiv(Expr(g.offsets + ".itemsize"), Expr(4)) + Expr(1));
    add("batch", ParamSpec::Kind::I32, "", Expr("batch"));
  }
  add("rows", ParamSpec::Kind::I32, "", rows);
  if (!g.byPosition || sum)
    strided(g.output, false);
  if (g.byPosition) {
    add("parts", ParamSpec::Kind::I32, "", parts);
    add("each", ParamSpec::Kind::I32, "", ceilDiv(Expr("batch"), parts));
    add("partial", ParamSpec::Kind::Scratch, "partial_" + g.output, parts * rows * Expr(4 * g.cols));
  }
  return Parameters::of(list);
}

class TableSums : ScalarBuilder {
public:
  TableSums(const TableGradient &g, OpBuilder &b, Location loc) : ScalarBuilder(b, loc), g(g) {}

  void emit() {
    begin(/*sum=*/false);
    ifThen(inside(), [&] { g.byPosition ? storePart(overSequences()) : ifThen(owned(), [&] { storeRow(addRow(row, zeros())); }); });
    LLVM::ReturnOp::create(b, loc, ValueRange());
    if (!g.byPosition)
      return;
    b.setInsertionPointAfter(function);
    begin(/*sum=*/true);
    ifThen(inside(), [&] { storeRow(overParts()); });
    LLVM::ReturnOp::create(b, loc, ValueRange());
  }

private:
  using Sums = SmallVector<Value>; ///< sine, sine, cosine, cosine: f32

  void begin(bool sum) {
    params = parametersOf(g, sum);
    KernelLimits limits;
    limits.threads = kThreads;
    function = createKernel(b, loc, g.entry + (sum ? "_sum" : ""), params.types(b), limits);
    Value thread = threadId(b, loc), across = i32(threadsPerRow(g));
    rowOfCta = div(thread, across);
    quad = sub(thread, mul(rowOfCta, across));
    row = add(mul(blockId(b, loc), i32(rowsPerCta(g))), rowOfCta);
  }

  Value argument(const std::string &key) { return function.getArgument(params.scalar(key).index); }
  Sums zeros() { return Sums(4, constF32(b, loc, 0)); }
  Type floats(int64_t n) { return VectorType::get({n}, b.getF32Type()); }

  Sums ifElse(Value condition, const Sums &otherwise, llvm::function_ref<Sums()> body) {
    auto op = scf::IfOp::create(b, loc, ValueRange(otherwise).getTypes(), condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&op.getThenRegion().front());
    scf::YieldOp::create(b, loc, body());
    b.setInsertionPointToStart(&op.getElseRegion().front());
    scf::YieldOp::create(b, loc, otherwise);
    return Sums(op.getResults());
  }
  Sums forLoop(Value from, Value to, const Sums &first, llvm::function_ref<Sums(Value, Sums)> body) {
    auto loop = scf::ForOp::create(b, loc, from, to, i32(1), first);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b, loc, body(loop.getInductionVar(), Sums(loop.getRegionIterArgs())));
    return Sums(loop.getResults());
  }

  Value inside() {
    return bitAnd(cmp(ICmpPredicate::ult, rowOfCta, i32(rowsPerCta(g))), cmp(ICmpPredicate::ult, row, argument("rows")));
  }
  Value offset(Value i) {
    auto of = [&](const ParamRef &p) { return function.getArgument(p.index); };
    return loadOffset(b, loc, of(params.offsets(g.offsets)), of(params.offsetShift(g.offsets)), i);
  }
  Value owned() {
    return bitAnd(cmp(ICmpPredicate::sge, row, offset(i32(0))), cmp(ICmpPredicate::slt, row, offset(argument("batch"))));
  }

  // --- sums ---------------------------------------------------------------------------------------------------------

  // Of row `token` of x and g: the pairs 2 quad and 2 quad + 1.
  Sums addRow(Value token, Sums sums) {
    for (const TableGradient::Source &source : g.sources)
      sums = forLoop(i32(0), i32(g.heads), sums, [&](Value head, Sums sums) {
        Value ofRow = mul(wide(token), argument("row_stride:" + source.tensor));
        Value ofX = add(ofRow, mul(wide(head), argument("head_stride:" + source.tensor)));
        Value ofG = mul(add(mul(wide(token), constI64(b, loc, uint64_t(g.heads))), wide(head)), constI64(b, loc, uint64_t(g.cols)));
        auto x = [&](Value column, int64_t words) {
          Type type = words == 1 ? b.getI32Type() : Type(VectorType::get({words}, b.getI32Type()));
          Value at = globalElement(b, loc, argument("pointer:" + source.tensor), b.getI16Type(), add(ofX, wide(column)));
          Value loaded = loadGlobal(b, loc, type, at);
          SmallVector<Value> values;
          for (Value word : words == 1 ? SmallVector<Value>{loaded} : unpackVector(b, loc, loaded)) {
            auto [low, high] = unpackHalf2(b, loc, g.half, word);
            values.push_back(low), values.push_back(high);
          }
          return values;
        };
        auto gradient = [&](Value column, int64_t n) {
          Value at = globalElement(b, loc, argument("scratch:" + source.scratch), b.getF32Type(), add(ofG, wide(column)));
          return unpackVector(b, loc, loadGlobal(b, loc, floats(n), at));
        };
        SmallVector<Value> x0, x1, g0, g1;
        if (source.interleaved) {
          Value column = mul(quad, i32(4));
          SmallVector<Value> xs = x(column, 2), gs = gradient(column, 4);
          x0 = {xs[0], xs[2]}, x1 = {xs[1], xs[3]}, g0 = {gs[0], gs[2]}, g1 = {gs[1], gs[3]};
        } else {
          Value low = mul(quad, i32(2)), high = addI32(b, loc, low, uint32_t(g.cols / 2));
          x0 = x(low, 1), x1 = x(high, 1), g0 = gradient(low, 2), g1 = gradient(high, 2);
        }
        for (size_t k = 0; k < 2; ++k) {
          sums[k] = fma(b, loc, g1[k], x0[k], sums[k]);
          sums[k] = fma(b, loc, LLVM::FNegOp::create(b, loc, g0[k]), x1[k], sums[k]);
          sums[2 + k] = fma(b, loc, g0[k], x0[k], sums[2 + k]);
          sums[2 + k] = fma(b, loc, g1[k], x1[k], sums[2 + k]);
        }
        return sums;
      });
    return sums;
  }

  // Of the sequences of this CTA's part that reach the position `row`.
  Sums overSequences() {
    Value each = argument("each"), first = mul(blockId(b, loc, Dim::Y), each);
    Value last = LLVM::SMinOp::create(b, loc, add(first, each), argument("batch"));
    return forLoop(first, last, zeros(), [&](Value sequence, Sums sums) {
      Value token = add(offset(sequence), row);
      Value reached = cmp(ICmpPredicate::slt, token, offset(addI32(b, loc, sequence, 1)));
      return ifElse(reached, sums, [&] { return addRow(token, sums); });
    });
  }

  // Of part `part`: two sines, or two cosines.
  Value partial(Value part, int64_t column) {
    Value line = mul(add(mul(wide(part), wide(argument("rows"))), wide(row)), constI64(b, loc, uint64_t(g.cols)));
    Value at = addI32(b, loc, mul(quad, i32(2)), uint32_t(column));
    return globalElement(b, loc, argument("partial"), b.getF32Type(), add(line, wide(at)));
  }
  void storePart(const Sums &sums) {
    for (int64_t k : {0, 1})
      storeGlobal(b, loc, packVector(b, loc, ArrayRef(sums).slice(2 * k, 2)), partial(blockId(b, loc, Dim::Y), k * g.cols / 2));
  }
  Sums overParts() {
    return forLoop(i32(0), argument("parts"), zeros(), [&](Value part, Sums sums) {
      for (int64_t k : {0, 1}) {
        SmallVector<Value> values = unpackVector(b, loc, loadGlobal(b, loc, floats(2), partial(part, k * g.cols / 2)));
        for (int64_t n : {0, 1})
          sums[2 * k + n] = addF(b, loc, sums[2 * k + n], values[n]);
      }
      return sums;
    });
  }

  void storeRow(const Sums &sums) {
    Value line = mul(wide(row), argument("row_stride:" + g.output));
    for (int64_t k : {0, 1}) {
      Value column = addI32(b, loc, mul(quad, i32(2)), uint32_t(k * g.cols / 2));
      Type element = g.isF32 ? Type(b.getF32Type()) : Type(b.getI16Type());
      Value at = globalElement(b, loc, argument("pointer:" + g.output), element, add(line, wide(column)));
      Value x = sums[2 * k], y = sums[2 * k + 1];
      storeGlobal(b, loc, g.isF32 ? packVector(b, loc, {x, y}) : packHalf2(b, loc, Half::BF16, x, y), at);
    }
  }

  const TableGradient &g;
  Parameters params;
  LLVM::LLVMFuncOp function;
  Value rowOfCta, row, quad;
};
} // namespace

std::vector<KernelSpec> fovea::codegen::tableGradientSpecs(const TableGradient &g, llvm::StringRef operation) {
  std::vector<KernelSpec> kernels;
  for (bool sum : {false, true}) {
    if (sum && !g.byPosition)
      continue;
    KernelSpec spec;
    spec.name = operation.str();
    spec.entry = g.entry + (sum ? "_sum" : "");
    spec.block = {int(kThreads), 1, 1};
    spec.grid[0] = ceilDiv(Expr(g.output + ".shape.0"), Expr(rowsPerCta(g)));
    if (g.byPosition && !sum)
      spec.grid[1] = partsOf(g);
    spec.params = parametersOf(g, sum).specs();
    kernels.push_back(spec);
  }
  return kernels;
}

void fovea::codegen::emitTableGradient(const TableGradient &g, OpBuilder &b, Location loc) { TableSums(g, b, loc).emit(); }
