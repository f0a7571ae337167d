// codegen/common/RawPtx.h - the one table of raw PTX strings, for what no NVVM op says (or says
// well).
#pragma once

#include "codegen/common/Values.h"

#include "llvm/ADT/StringRef.h"

namespace fovea::codegen {

/// Rows of the table. Everything else in codegen/ is an NVVM or LLVM op.
enum class RawPtx {
  MbarrierWaitParity,
  MbarrierArrive,
  MbarrierArriveIf,
  MbarrierArriveExpectTxIf,
  MbarrierArriveCluster,
  BarArrive,
  BulkReduceAddF32,
  StoreGlobal16If,
  StoreGlobal4If,
  LoadGlobalNc16If,
  LoadGlobalNc4If,
  TanhApprox,
  TmemWaitLoad,
  WgmmaFence,
  WgmmaMmaAsync,
  WgmmaCommit,
  WgmmaWait,
};

/// One row. `ptx` is an LLVM inline-asm template ($0, $1, ... results first); rows used inside a
/// longer block (the wgmma ones) hold named holes in angle brackets instead, which their emitter
/// fills, and have no constraints.
struct RawPtxRow {
  RawPtx id;
  const char *name; ///< what FileCheck patterns and messages call it
  const char *ptx;
  const char *constraints; ///< LLVM constraint string; "" for rows with holes or with operands of
                           ///< varying number
  bool pure;               ///< no side effects: may be moved, merged or dropped
  const char *reason;      ///< why there is no op for it
};

ArrayRef<RawPtxRow> rawPtxTable();
const RawPtxRow &rawPtxRow(RawPtx id);

/// Creates the llvm.inline_asm of a row, always with side effects. Returns its results, a struct
/// taken apart.
SmallVector<Value> emitRawPtx(OpBuilder &b, Location loc, RawPtx id, ValueRange operands,
                              ArrayRef<Type> results = {});

/// Emits `ptx` (a filled row) once, with every value of `tied` passing through it in place:
/// whatever uses the returned values is ordered after it. The last `inputs` are read only.
/// Constraint letters follow the types.
SmallVector<Value> emitTiedPtx(OpBuilder &b, Location loc, llvm::StringRef ptx, ValueRange tied,
                               ValueRange inputs = {});

/// Creates an llvm.inline_asm and takes its results apart.
SmallVector<Value> emitInlineAsm(OpBuilder &b, Location loc, llvm::StringRef ptx,
                                 llvm::StringRef constraints, ValueRange operands,
                                 ArrayRef<Type> results, bool pure = false);

/// Constraint letter of a type: r (i32, packed 16-bit pairs), l (i64, pointers), f (f32), h (i16),
/// b (i1).
char constraintLetter(Type type);

} // namespace fovea::codegen
