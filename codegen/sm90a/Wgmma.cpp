// codegen/sm90a/Wgmma.cpp - a warpgroup product as one inline-asm block.
#include "codegen/sm90a/Wgmma.h"

#include "codegen/common/RawPtx.h"

using namespace mlir;

namespace fovea::codegen::sm90a {

using layout::encodeAddress;
using layout::Major;
using layout::MatrixOperand;

namespace {

/// Fills the holes of a table row.
std::string fill(RawPtx id, ArrayRef<std::pair<StringRef, std::string>> holes) {
  std::string text = rawPtxRow(id).ptx;
  for (auto &[hole, value] : holes)
    for (size_t at; (at = text.find(hole.str())) != std::string::npos;)
      text.replace(at, hole.size(), value);
  return text;
}

std::string operandList(size_t first, size_t count) {
  std::string list;
  for (size_t i = 0; i < count; ++i)
    list += (i ? ", $" : "$") + std::to_string(first + i);
  return list;
}

/// The text and operands of one block. Operand numbers: results, then tied accumulators, then
/// inputs.
struct Block {
  std::string text = "{\n.reg .pred p;\n.reg .b64 da, db;\n";
  SmallVector<Value> inputs;
  size_t firstInput;

  std::string input(Value v) {
    inputs.push_back(v);
    return "$" + std::to_string(firstInput + inputs.size() - 1);
  }
};

} // namespace

// `stepA(k)` appends what step k needs to the block and returns the text of operand A.
static SmallVector<Value> product(OpBuilder &b, Location loc, Value bDesc,
                                  const MatrixOperand &bOperand, ValueRange accumulators,
                                  const WgmmaOptions &options, StringRef transA,
                                  llvm::function_ref<std::string(Block &, size_t)> stepA) {
  uint32_t n = bOperand.mn, count = n / 2;
  assert(n % 8 == 0 && n >= 8 && n <= 256 && "N of a warpgroup product");
  assert((accumulators.empty() || accumulators.size() == count) && "n/2 accumulators");
  assert((!options.accumulate || !accumulators.empty()) && "nothing to accumulate on");

  Block block;
  block.firstInput = count + accumulators.size();
  if (options.fence)
    block.text += std::string(rawPtxRow(RawPtx::WgmmaFence).ptx) + "\n";
  std::string type = options.type == Half::BF16 ? "bf16" : "f16";
  std::string transB = bOperand.major == Major::MN ? ", 1" : ", 0";
  std::string bBase = block.input(bDesc);
  // The predicate scale-d of the first step: D = A·B without accumulators, or the caller's choice.
  std::string first = accumulators.empty() ? "setp.ne.b32 p, 0, 0;\n"
                      : options.accumulate
                          ? "mov.pred p, " + block.input(options.accumulate) + ";\n"
                          : "setp.eq.b32 p, 0, 0;\n";
  for (auto [k, offset] : llvm::enumerate(bOperand.stepOffsets)) {
    if (k < 2)
      block.text += k == 0 ? first : "setp.eq.b32 p, 0, 0;\n";
    std::string a = stepA(block, k);
    block.text += "add.s64 db, " + bBase + ", " + std::to_string(encodeAddress(offset)) + ";\n";
    block.text += fill(RawPtx::WgmmaMmaAsync, {{"<N>", std::to_string(n)},
                                               {"<TYPE>", type},
                                               {"<D>", operandList(0, count)},
                                               {"<A>", a},
                                               {"<B>", "db"},
                                               {"<P>", "p"},
                                               {"<TRANS>", transA.str() + transB}}) +
                  "\n";
  }
  if (options.commit)
    block.text += std::string(rawPtxRow(RawPtx::WgmmaCommit).ptx) + "\n";
  block.text += "}";

  if (!accumulators.empty())
    return emitTiedPtx(b, loc, block.text, accumulators, block.inputs);
  std::string constraints;
  for (uint32_t i = 0; i < count; ++i)
    constraints += "=f,";
  for (Value v : block.inputs)
    constraints += std::string(1, constraintLetter(v.getType())) + ",";
  constraints += "~{memory}";
  return emitInlineAsm(b, loc, block.text, constraints, block.inputs,
                       SmallVector<Type>(count, b.getF32Type()));
}

SmallVector<Value> wgmmaSS(OpBuilder &b, Location loc, Value aDesc, const MatrixOperand &a,
                           Value bDesc, const MatrixOperand &bOperand, ValueRange accumulators,
                           const WgmmaOptions &options) {
  assert(a.mn == 64 && a.k == bOperand.k && "shape of a warpgroup product");
  std::string aBase;
  return product(b, loc, bDesc, bOperand, accumulators, options,
                 a.major == Major::MN ? ", 1" : ", 0", [&](Block &block, size_t k) -> std::string {
                   if (k == 0)
                     aBase = block.input(aDesc);
                   block.text += "add.s64 da, " + aBase + ", " +
                                 std::to_string(encodeAddress(a.stepOffsets[k])) + ";\n";
                   return "da";
                 });
}

SmallVector<Value> wgmmaRS(OpBuilder &b, Location loc, ValueRange aRegisters, Value bDesc,
                           const MatrixOperand &bOperand, ValueRange accumulators,
                           const WgmmaOptions &options) {
  assert(aRegisters.size() == 4 * bOperand.stepOffsets.size() && "4 registers for each K step");
  return product(b, loc, bDesc, bOperand, accumulators, options, "",
                 [&](Block &block, size_t k) -> std::string {
                   std::string list = "{";
                   for (size_t i = 0; i < 4; ++i)
                     list += (i ? ", " : "") + block.input(aRegisters[4 * k + i]);
                   return list + "}";
                 });
}

SmallVector<Value> wgmmaWait(OpBuilder &b, Location loc, uint32_t pending, ValueRange values) {
  return emitTiedPtx(b, loc, fill(RawPtx::WgmmaWait, {{"<PENDING>", std::to_string(pending)}}),
                     values);
}

SmallVector<Value> packOperandA(OpBuilder &b, Location loc, Half type, ValueRange accumulators) {
  SmallVector<Value> registers;
  for (size_t step = 0; step < accumulators.size() / 8; ++step)
    for (uint32_t reg = 0; reg < 4; ++reg) {
      uint32_t first = layout::accumulatorPairOf(step, reg);
      registers.push_back(packHalf2(b, loc, type, accumulators[first], accumulators[first + 1]));
    }
  return registers;
}

} // namespace fovea::codegen::sm90a
