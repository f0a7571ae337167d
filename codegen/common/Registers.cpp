// codegen/common/Registers.cpp - arithmetic in registers, conversions and exchanges inside a warp.
#include "codegen/common/Registers.h"

#include "codegen/common/RawPtx.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace fovea::codegen {

static Value intrinsic(OpBuilder &b, Location loc, const char *name, Value x) {
  return LLVM::CallIntrinsicOp::create(b, loc, x.getType(), b.getStringAttr(name), x).getResult(0);
}

Value ex2(OpBuilder &b, Location loc, Value x) {
  return intrinsic(b, loc, "llvm.nvvm.ex2.approx.ftz.f32", x);
}
Value lg2(OpBuilder &b, Location loc, Value x) {
  return intrinsic(b, loc, "llvm.nvvm.lg2.approx.ftz.f", x);
}
Value rcp(OpBuilder &b, Location loc, Value x) {
  return NVVM::RcpApproxFtzF32Op::create(b, loc, b.getF32Type(), x);
}
Value tanhApprox(OpBuilder &b, Location loc, Value x) {
  return emitRawPtx(b, loc, RawPtx::TanhApprox, x, {x.getType()}).front();
}

Value fma(OpBuilder &b, Location loc, Value x, Value y, Value z) {
  return LLVM::FMAOp::create(b, loc, x, y, z);
}
Value addF(OpBuilder &b, Location loc, Value x, Value y) {
  return LLVM::FAddOp::create(b, loc, x, y);
}
Value subF(OpBuilder &b, Location loc, Value x, Value y) {
  return LLVM::FSubOp::create(b, loc, x, y);
}
Value mulF(OpBuilder &b, Location loc, Value x, Value y) {
  return LLVM::FMulOp::create(b, loc, x, y);
}
Value maxF(OpBuilder &b, Location loc, Value x, Value y) {
  return LLVM::MaxNumOp::create(b, loc, x, y);
}
Value minF(OpBuilder &b, Location loc, Value x, Value y) {
  return LLVM::MinNumOp::create(b, loc, x, y);
}
Value max3(OpBuilder &b, Location loc, Value x, Value y, Value z) {
  return maxF(b, loc, maxF(b, loc, x, y), z);
}

template <typename Combine> static Value tree(ValueRange values, Combine combine) {
  assert(!values.empty() && "nothing to reduce");
  SmallVector<Value> level(values);
  while (level.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < level.size(); i += 2)
      next.push_back(combine(level[i], level[i + 1]));
    if (level.size() % 2)
      next.push_back(level.back());
    level = std::move(next);
  }
  return level.front();
}

Value maxTree(OpBuilder &b, Location loc, ValueRange values) {
  return tree(values, [&](Value x, Value y) { return maxF(b, loc, x, y); });
}
Value addTree(OpBuilder &b, Location loc, ValueRange values) {
  return tree(values, [&](Value x, Value y) { return addF(b, loc, x, y); });
}

static Type halfType(OpBuilder &b, Half type) {
  return type == Half::BF16 ? Type(b.getBF16Type()) : Type(b.getF16Type());
}

Value packHalf2(OpBuilder &b, Location loc, Half type, Value lo, Value hi) {
  // One truncation of a pair is one instruction; two scalar truncations would be three.
  Value pair = LLVM::FPTruncOp::create(b, loc, VectorType::get({2}, halfType(b, type)),
                                       packVector(b, loc, {lo, hi}));
  return LLVM::BitcastOp::create(b, loc, b.getI32Type(), pair);
}

std::pair<Value, Value> unpackHalf2(OpBuilder &b, Location loc, Half type, Value packed) {
  if (type == Half::BF16) // a bf16 is the upper half of an f32: two integer operations
    return {floatOf(b, loc, LLVM::ShlOp::create(b, loc, packed, constI32(b, loc, 16))),
            floatOf(b, loc, LLVM::AndOp::create(b, loc, packed, constI32(b, loc, 0xFFFF0000u)))};
  Value pair = LLVM::BitcastOp::create(b, loc, VectorType::get({2}, b.getF16Type()), packed);
  SmallVector<Value> halves = unpackVector(b, loc, pair);
  return {LLVM::FPExtOp::create(b, loc, b.getF32Type(), halves[0]),
          LLVM::FPExtOp::create(b, loc, b.getF32Type(), halves[1])};
}

Value bitsOf(OpBuilder &b, Location loc, Value f) {
  return LLVM::BitcastOp::create(b, loc, b.getI32Type(), f);
}
Value floatOf(OpBuilder &b, Location loc, Value bits) {
  return LLVM::BitcastOp::create(b, loc, b.getF32Type(), bits);
}

static Value shuffle(OpBuilder &b, Location loc, Value v, Value operand, NVVM::ShflKind kind) {
  return NVVM::ShflOp::create(b, loc, v.getType(), constI32(b, loc, ~0u), v, operand,
                              constI32(b, loc, 31), kind, UnitAttr());
}
Value shuffleXor(OpBuilder &b, Location loc, Value v, uint32_t laneMask) {
  return shuffle(b, loc, v, constI32(b, loc, laneMask), NVVM::ShflKind::bfly);
}
Value shuffleIdx(OpBuilder &b, Location loc, Value v, Value lane) {
  return shuffle(b, loc, v, lane, NVVM::ShflKind::idx);
}

Value quadMax(OpBuilder &b, Location loc, Value v) {
  v = maxF(b, loc, v, shuffleXor(b, loc, v, 1));
  return maxF(b, loc, v, shuffleXor(b, loc, v, 2));
}
Value quadAdd(OpBuilder &b, Location loc, Value v) {
  v = addF(b, loc, v, shuffleXor(b, loc, v, 1));
  return addF(b, loc, v, shuffleXor(b, loc, v, 2));
}

static Value vote(OpBuilder &b, Location loc, Value predicate, NVVM::VoteSyncKind kind) {
  return NVVM::VoteSyncOp::create(b, loc, b.getI1Type(), constI32(b, loc, ~0u), predicate, kind);
}
Value voteAny(OpBuilder &b, Location loc, Value predicate) {
  return vote(b, loc, predicate, NVVM::VoteSyncKind::any);
}
Value voteAll(OpBuilder &b, Location loc, Value predicate) {
  return vote(b, loc, predicate, NVVM::VoteSyncKind::all);
}

Value select(OpBuilder &b, Location loc, Value condition, Value ifTrue, Value ifFalse) {
  return LLVM::SelectOp::create(b, loc, condition, ifTrue, ifFalse);
}

} // namespace fovea::codegen
