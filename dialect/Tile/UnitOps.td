// dialect/Tile/UnitOps.td - work of the copy engine and the tensor core, and stores of results.
#ifndef FOVEA_TILE_UNIT_OPS
#define FOVEA_TILE_UNIT_OPS

include "dialect/Tile/TileDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_LoadOp : Tile_Op<"load"> {
  let summary = "TMA: rows [row, row + rows) of one head into an SMEM slot (PTX ISA: cp.async.bulk.tensor)";
  let description = [{
    Rows are moved by fours, as many as `rows` needs, so rows beyond the last four keep what was there, and rows
    beyond `rows` in the last four are a neighbour's: `clear_tail` before use as a key-side operand. `whole`: the slot's
    rows in one instruction, whatever `rows` is. Rows beyond the tensor (batched: the sequence) are zero. Of a shared
    tensor `head` means nothing.
  }];
  let arguments = (ins FlatSymbolRefAttr:$tensor, I32:$row, I32:$rows, I32:$head, Optional<I32>:$batch, Tile_Slot:$slot,
                       UnitAttr:$whole, OptionalAttr<FlatSymbolRefAttr>:$barrier);
  let assemblyFormat = [{
    $tensor `[` $row `,` $rows `,` $head (`,` $batch^)? `]` `into` $slot (`whole` $whole^)? (`signals` $barrier^)?
    `:` type($slot) attr-dict }];
  let builders = [OpBuilder<(ins "llvm::StringRef":$tensor, "mlir::Value":$row, "mlir::Value":$rows, "mlir::Value":$head,
                                "mlir::Value":$slot, CArg<"mlir::FlatSymbolRefAttr", "{}">:$barrier),
    [{ build($_builder, $_state, tensor, row, rows, head, mlir::Value(), slot, /*whole=*/false, barrier); }]>];
}

def Tile_StoreOp : Tile_Op<"store"> {
  let summary = "an SMEM slot to rows [row, row + rows) of one head: TMA when the tile is full, else 16-byte stores of valid rows";
  let description = [{
    A batched tensor ends where the sequence does, so that TMA drops the other rows itself. `column`: the slot holds columns
    [column, column + cols) of a head, whole panels.
  }];
  let arguments = (ins FlatSymbolRefAttr:$tensor, I32:$row, I32:$rows, I32:$head, Optional<I32>:$batch, Tile_Slot:$slot,
                       DefaultValuedOptionalAttr<I64Attr, "0">:$column);
  let assemblyFormat = "$tensor `[` $row `,` $rows `,` $head (`,` $batch^)? `]` `from` $slot `:` type($slot) attr-dict";
  let builders = [OpBuilder<(ins "llvm::StringRef":$tensor, "mlir::Value":$row, "mlir::Value":$rows, "mlir::Value":$head,
                                "mlir::Value":$slot),
    [{ build($_builder, $_state, tensor, row, rows, head, mlir::Value(), slot); }]>];
}

def Tile_StoreRowsOp : Tile_Op<"store_rows"> {
  let summary = "one value per valid row to a [rows, heads] tensor (LSE); nothing if the tensor is absent at launch";
  let arguments = (ins FlatSymbolRefAttr:$tensor, I32:$row, I32:$rows, I32:$head, Optional<I32>:$batch,
                       Tile_RegTile:$values);
  let assemblyFormat = "$tensor `[` $row `,` $rows `,` $head (`,` $batch^)? `]` `from` $values `:` type($values) attr-dict";
  let builders = [OpBuilder<(ins "llvm::StringRef":$tensor, "mlir::Value":$row, "mlir::Value":$rows, "mlir::Value":$head,
                                "mlir::Value":$values),
    [{ build($_builder, $_state, tensor, row, rows, head, mlir::Value(), values); }]>];
}

def Tile_StorePartialOp : Tile_Op<"store_partial", [AllTypesMatch<["top", "sum"]>]> {
  let summary = "an accumulator, the maxima and the sums of its valid rows to memory, in f32; nothing where the item has all keys";
  let description = [{
    Of a kernel with the attribute `splits`. `row`, `head` and `batch` as in tile.store_rows; `sum` is the whole row's. A second
    kernel adds up the parts in their order, so that equal launches give equal bits. Where a tile has parts, `tile.store` and
    `tile.store_rows` store nothing of it.
  }];
  let arguments = (ins I32:$row, I32:$rows, I32:$head, Optional<I32>:$batch, I32:$part, Tile_Slot:$slot, Tile_RegTile:$top,
                       Tile_RegTile:$sum);
  let assemblyFormat = [{
    `part` $part `[` $row `,` $rows `,` $head (`,` $batch^)? `]` `from` $slot `,` $top `,` $sum `:` type($slot) `,` type($top) attr-dict }];
}

def Tile_StoreScratchOp : Tile_Op<"store_scratch"> {
  let summary = "the valid rows of an accumulator to scratch memory of the launch, in f32, for a kernel that follows";
  let description = [{
    `scratch` is [rows of all sequences, heads, cols]; `row` counts rows of all sequences behind one another. Each element
    is written once, by the thread that holds it.
  }];
  let arguments = (ins StrAttr:$scratch, I32:$row, I32:$rows, I32:$head, Tile_Slot:$slot);
  let assemblyFormat = "$scratch `[` $row `,` $rows `,` $head `]` `from` $slot `:` type($slot) attr-dict";
}

def Tile_MmaOp : Tile_Op<"mma"> {
  let summary = "tensor core: D = op(A) op(B), f32 accumulation (PTX ISA: tcgen05.mma, wgmma, mma.sync)";
  let description = [{
    Operands are slots stored rows x columns; `a_transposed`/`b_transposed` give op. With `diagonal(N)` the product is
    block-diagonal: A's rows and B's rows come in blocks of N, and block c of D's rows is op(A)_c op(B)_c, so D of
    scores is M x N, not M x M; rows of other blocks never touch block c, not even as 0 x NaN. A's pairs lie compactly
    (rows x N) or in the columns of their keys (rows x rows). `accumulate`: where it is true, D += instead.
    `from`: of B the rows from this one on, as many as A has columns: one of several parts of a sum.
  }];
  let arguments = (ins Tile_Slot:$d, Tile_Slot:$a, Tile_Slot:$b, UnitAttr:$a_transposed, UnitAttr:$b_transposed,
                       OptionalAttr<I64Attr>:$diagonal, Optional<I1>:$accumulate, OptionalAttr<I64Attr>:$from);
  let assemblyFormat = [{
    $d `=` $a (`transposed` $a_transposed^)? `*` $b (`transposed` $b_transposed^)? (`diagonal` `(` $diagonal^ `)`)?
    (`from` $from^)? (`accumulate` $accumulate^)? `:` type($d) `,` type($a) `,` type($b) attr-dict }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "mlir::Value":$d, "mlir::Value":$a, "mlir::Value":$b, "bool":$aTransposed, "bool":$bTransposed,
                                "mlir::IntegerAttr":$diagonal, CArg<"mlir::Value", "{}">:$accumulate),
    [{ build($_builder, $_state, d, a, b, aTransposed, bTransposed, diagonal, accumulate, mlir::IntegerAttr()); }]>];
}

#endif
