// codegen/common/RawPtx.cpp - the table of raw PTX strings and the inline-asm ops made from it.
#include "codegen/common/RawPtx.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace fovea::codegen {

// Keep the rows in the order of the enum. test/unit/codegen/RawPtxTest.cpp assembles every row.
static const RawPtxRow rows[] = {
    {RawPtx::MbarrierWaitParity, "mbarrier-wait-parity",
     "{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;\n"
     "@p bra DONE;\nbra WAIT;\nDONE:\n}",
     "r,r,~{memory}", false,
     "nvvm.mbarrier.try_wait.parity has no memory clobber, so nothing keeps later loads below it"},
    {RawPtx::MbarrierArrive, "mbarrier-arrive", "mbarrier.arrive.shared::cta.b64 _, [$0];",
     "r,~{memory}", false, "nvvm.mbarrier.arrive spends a 64-bit register on the phase token"},
    {RawPtx::MbarrierArriveIf, "mbarrier-arrive-if", "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];",
     "r,b,~{memory}", false, "nvvm.mbarrier.arrive takes no predicate"},
    {RawPtx::MbarrierArriveExpectTxIf, "mbarrier-arrive-expect-tx-if",
     "@$2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,b,~{memory}", false,
     "the predicate form of nvvm.mbarrier.arrive.expect_tx has no memory clobber"},
    {RawPtx::MbarrierArriveCluster, "mbarrier-arrive-cluster",
     "{\n.reg .b32 a;\nmapa.shared::cluster.u32 a, $0, $1;\n"
     "mbarrier.arrive.shared::cluster.b64 _, [a];\n}",
     "r,r,~{memory}", false,
     "nvvm.mbarrier.arrive at cluster scope prints .release.cluster: a GPU-wide membar, -25 %"},
    {RawPtx::BarArrive, "bar-arrive", "bar.arrive $0, $1;", "n,n,~{memory}", false,
     "nvvm.barrier.arrive passes the id in a register, and ptxas then reserves all 16 barriers"},
    {RawPtx::BulkReduceAddF32, "bulk-reduce-add-f32",
     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$0], [$1], $2;",
     "l,r,r,~{memory}", false, "NVVM has the tensor form of cp.reduce only"},
    {RawPtx::StoreGlobal16If, "store-global-16-if", "@$0 st.global.v4.b32 [$1], {$2, $3, $4, $5};",
     "b,l,r,r,r,r,~{memory}", false,
     "LLVM's store takes no predicate; a branch per store costs more than it guards"},
    {RawPtx::StoreGlobal4If, "store-global-4-if", "@$0 st.global.b32 [$1], $2;", "b,l,r,~{memory}",
     false, "LLVM's store takes no predicate"},
    {RawPtx::LoadGlobalNc16If, "load-global-nc-16-if",
     "{\nmov.b32 $0, 0;\nmov.b32 $1, 0;\nmov.b32 $2, 0;\nmov.b32 $3, 0;\n"
     "@$4 ld.global.nc.v4.b32 {$0, $1, $2, $3}, [$5];\n}",
     "=&r,=&r,=&r,=&r,b,l", false, "LLVM's load takes no predicate"},
    {RawPtx::LoadGlobalNc4If, "load-global-nc-4-if",
     "{\nmov.b32 $0, 0;\n@$1 ld.global.nc.b32 $0, [$2];\n}", "=&r,b,l", false,
     "LLVM's load takes no predicate"},
    {RawPtx::TanhApprox, "tanh-approx", "tanh.approx.f32 $0, $1;", "=f,f", true,
     "LLVM 22 has no intrinsic for it"},
    {RawPtx::TmemWaitLoad, "tmem-wait-load", "tcgen05.wait::ld.sync.aligned;", "", false,
     "nvvm.tcgen05.wait does not tie the loaded registers, so LLVM may use them above it"},
    {RawPtx::WgmmaFence, "wgmma-fence", "wgmma.fence.sync.aligned;", "", false,
     "inside a product's block, where no op fits"},
    {RawPtx::WgmmaMmaAsync, "wgmma-mma-async",
     "wgmma.mma_async.sync.aligned.m64n<N>k16.f32.<TYPE>.<TYPE> {<D>}, <A>, <B>, <P>, 1, 1<TRANS>;",
     "", false,
     "nvvm.wgmma.mma_async has no register A and one struct of accumulators per instruction"},
    {RawPtx::WgmmaCommit, "wgmma-commit", "wgmma.commit_group.sync.aligned;", "", false,
     "inside a product's block, where no op fits"},
    {RawPtx::WgmmaWait, "wgmma-wait", "wgmma.wait_group.sync.aligned <PENDING>;", "", false,
     "nvvm.wgmma.wait.group does not tie the accumulators, so LLVM may use them above it"},
};

ArrayRef<RawPtxRow> rawPtxTable() { return rows; }

const RawPtxRow &rawPtxRow(RawPtx id) {
  const RawPtxRow &row = rows[static_cast<size_t>(id)];
  assert(row.id == id && "rows out of the order of the enum");
  return row;
}

char constraintLetter(Type type) {
  if (isa<LLVM::LLVMPointerType>(type))
    return 'l';
  if (type.isF32())
    return 'f';
  if (type.isInteger(64))
    return 'l';
  if (type.isInteger(16))
    return 'h';
  if (type.isInteger(1))
    return 'b';
  return 'r';
}

SmallVector<Value> emitInlineAsm(OpBuilder &b, Location loc, llvm::StringRef ptx,
                                 llvm::StringRef constraints, ValueRange operands,
                                 ArrayRef<Type> results, bool pure) {
  MLIRContext *ctx = b.getContext();
  Type type;
  if (results.size() == 1)
    type = results.front();
  else if (results.size() > 1)
    type = LLVM::LLVMStructType::getLiteral(ctx, results);
  else
    type = LLVM::LLVMVoidType::get(ctx);
  auto op = LLVM::InlineAsmOp::create(
      b, loc, TypeRange(results.empty() ? ArrayRef<Type>() : ArrayRef<Type>(type)), operands, ptx,
      constraints, /*has_side_effects=*/!pure, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(ctx, LLVM::AsmDialect::AD_ATT), /*operand_attrs=*/ArrayAttr());
  if (results.empty())
    return {};
  if (results.size() == 1)
    return {op.getResult(0)};
  SmallVector<Value> values;
  for (size_t i = 0; i < results.size(); ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, loc, op.getResult(0), i));
  return values;
}

SmallVector<Value> emitRawPtx(OpBuilder &b, Location loc, RawPtx id, ValueRange operands,
                              ArrayRef<Type> results) {
  const RawPtxRow &row = rawPtxRow(id);
  assert(*row.constraints && "a row with holes is filled by its emitter");
  return emitInlineAsm(b, loc, row.ptx, row.constraints, operands, results, row.pure);
}

SmallVector<Value> emitTiedPtx(OpBuilder &b, Location loc, llvm::StringRef ptx, ValueRange tied,
                               ValueRange inputs) {
  std::string constraints;
  auto add = [&](const std::string &c) { constraints += (constraints.empty() ? "" : ",") + c; };
  SmallVector<Type> types;
  for (Value v : tied) {
    add(std::string("=") + constraintLetter(v.getType()));
    types.push_back(v.getType());
  }
  for (size_t i = 0; i < tied.size(); ++i)
    add(std::to_string(i));
  for (Value v : inputs)
    add(std::string(1, constraintLetter(v.getType())));
  add("~{memory}");
  SmallVector<Value> operands(tied);
  llvm::append_range(operands, inputs);
  return emitInlineAsm(b, loc, ptx, constraints, operands, types);
}

} // namespace fovea::codegen
