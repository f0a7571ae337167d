// dialect/Tile/ThreadOps.td - work of threads on slots and register tiles.
#ifndef FOVEA_TILE_THREAD_OPS
#define FOVEA_TILE_THREAD_OPS

include "dialect/Tile/TileDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_ReadOp : Tile_Op<"read"> {
  let summary = "a slot's contents as a register tile";
  let arguments = (ins Tile_Slot:$slot);
  let results = (outs Tile_RegTile:$tile);
  let assemblyFormat = "$slot `:` type($slot) `->` type($tile) attr-dict";
}

def Tile_WriteOp : Tile_Op<"write"> {
  let summary = "a register tile into a slot, converted to the slot's element type (round to nearest even)";
  let description = [{
    A slot with more columns than the tile has takes each row at the columns of the row's own block of keys.
  }];
  let arguments = (ins Tile_RegTile:$tile, Tile_Slot:$slot);
  let assemblyFormat = "$tile `into` $slot `:` type($tile) `,` type($slot) attr-dict";
}

def Tile_CopyOp : Tile_Op<"copy", [AttrSizedOperandSegments]> {
  let summary = "a slot's contents into another, through registers a few columns at a time, converted (round to nearest even)";
  let description = [{
    `unrotated by` a table (see `tile.rotate`): pairs are turned by minus their angle in f32 before the conversion, so that
    the gradient of a rotated tensor leaves as that of the tensor before the rotation, with one rounding. `scaled by`:
    each row is multiplied by its value first. `column`: the first of the columns of `from` that are copied, as many as `to` has.

    Constraint `tile.copy-C1`: `to` has the rows of `from`, and its columns but for a `column`, which goes without a table.
  }];
  let arguments = (ins Tile_Slot:$from, Tile_Slot:$to, Optional<Tile_Slot>:$table, Optional<Tile_RegTile>:$factor,
                       OptionalAttr<Tile_Pairing>:$pairing, OptionalAttr<I64Attr>:$column);
  let assemblyFormat = [{
    $from `into` $to (`unrotated` `by` $table^ $pairing)? (`scaled` `by` $factor^ `:` type($factor))?
    `:` type($from) `,` type($to) (`,` type($table)^)? attr-dict }];
  let builders = [OpBuilder<(ins "mlir::Value":$from, "mlir::Value":$to, "mlir::Value":$table, "PairingAttr":$pairing),
    [{ build($_builder, $_state, from, to, table, mlir::Value(), pairing, mlir::IntegerAttr()); }]>];
  let hasVerifier = 1;
}

def Tile_RotateOp : Tile_Op<"rotate"> {
  let summary = "rotary position embedding of the valid rows of an SMEM slot, in place";
  let description = [{
    Row r of the table holds the cols/2 sines, then the cols/2 cosines of the angles of the tile's row r. Pair m is columns
    (2m, 2m + 1) when `interleaved`, (m, m + cols/2) when `halves`: y0 = x0 cos - x1 sin, y1 = x1 cos + x0 sin, in f32, then
    rounded to the slot's element type. Rows >= `rows` keep what was there. Each thread turns whole pairs.

    Constraint `tile.rotate-C1` (also of `tile.copy`): the table lies in SMEM, is bf16 or f32, and has the rows and columns of
    the tile; columns are a multiple of 32.
  }];
  let arguments = (ins Tile_Slot:$slot, Tile_Slot:$table, I32:$rows, Tile_Pairing:$pairing);
  let assemblyFormat = "$slot `by` $table $pairing `,` $rows `:` type($slot) `,` type($table) attr-dict";
  let hasVerifier = 1;
}

def Tile_WarpProductOp : Tile_Op<"warp_product"> {
  let summary = "op(A) Bt of the warp's own rows by the warp alone, at once (PTX ISA: ldmatrix, mma.sync)";
  let description = "For cold paths: the operands are slots that the role still holds; nothing is issued asynchronously.";
  let arguments = (ins Tile_Slot:$a, Tile_Slot:$b);
  let results = (outs Tile_RegTile:$result);
  let assemblyFormat = "$a `,` $b `:` type($a) `,` type($b) `->` type($result) attr-dict";
}

def Tile_ScaleOp : Tile_Op<"scale"> {
  let summary = "multiplies each row of an f32 slot by a value";
  let arguments = (ins Tile_Slot:$slot, Tile_RegTile:$factor);
  let assemblyFormat = "$slot `by` $factor `:` type($slot) `,` type($factor) attr-dict";
}

def Tile_ClearTailOp : Tile_Op<"clear_tail"> {
  let summary = "zeroes rows >= `rows` of an SMEM slot, so that 0 x (a neighbour's NaN) cannot happen";
  let arguments = (ins Tile_Slot:$slot, I32:$rows);
  let assemblyFormat = "$slot `,` $rows `:` type($slot) attr-dict";
}

def Tile_MaskTailOp : Tile_Op<"mask_tail", [Pure, AllTypesMatch<["tile", "result"]>]> {
  let summary = "-inf where the key's row (block start of the row + column) is >= `rows`";
  let arguments = (ins Tile_RegTile:$tile, I32:$rows, I64Attr:$block);
  let results = (outs Tile_RegTile:$result);
  let assemblyFormat = "$tile `,` $rows `block` `(` $block `)` `:` type($tile) attr-dict";
}

def Tile_MaskKeysOp : Tile_Op<"mask_keys", [Pure, AttrSizedOperandSegments, AllTypesMatch<["tile", "result"]>]> {
  let summary = "-inf where the key of an element is outside [lower, upper) of its row";
  let description = [{
    Column c holds key `first_key` + c, row r query i = `first_query` + r, positions in the own sequence. `lower` is the greatest of its clauses and 0,
    `upper` the least of its clauses; a clause of several terms is the least of them in `lower`, the greatest in `upper`.
    A term is its operand, plus i or the start of i's block (i / N * N, not below 0):

    ```mlir
    %m = tile.mask_keys %s keys(%first_key) queries(%first_query) lower[%l + i] upper[%n_keys, %p | %u + block(64)]
       : tensor<64x64xf32, #tile.regs<fragment>>
    ```
    All are i32 and sums of a term must fit. A bound that no element of a warp is beyond costs its warps a vote; else
    each element costs a comparison with a constant and a selection.

    Constraints: `tile.mask_keys-C1`: the tile is f32, rows x keys. `tile.mask_keys-C2`: clauses are not empty and add up
    to the terms. `tile.mask_keys-C3`: blocks have 1 to 2^30 queries.
  }];
  let arguments = (ins Tile_RegTile:$tile, I32:$first_key, I32:$first_query, Variadic<I32>:$lower, Variadic<I32>:$upper,
                       DenseI64ArrayAttr:$lower_blocks, DenseI64ArrayAttr:$lower_clauses,
                       DenseI64ArrayAttr:$upper_blocks, DenseI64ArrayAttr:$upper_clauses);
  let results = (outs Tile_RegTile:$result);
  let assemblyFormat = [{
    $tile `keys` `(` $first_key `)` `queries` `(` $first_query `)`
    `lower` `` custom<KeyLimits>($lower, $lower_blocks, $lower_clauses)
    `upper` `` custom<KeyLimits>($upper, $upper_blocks, $upper_clauses) `:` type($tile) attr-dict }];
  let hasVerifier = 1;
}

def Tile_RowReduceOp : Tile_Op<"row_reduce", [Pure]> {
  let summary = "reduces each row to one value";
  let description = [{
    `partial`: each thread reduces the part of the row that it holds. Of a 1-D tile: what is left, the threads' parts.
  }];
  let arguments = (ins Tile_Reduction:$kind, Tile_RegTile:$tile, UnitAttr:$partial);
  let results = (outs Tile_RegTile:$result);
  let assemblyFormat = "$kind (`partial` $partial^)? $tile `:` type($tile) `->` type($result) attr-dict";
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "one value per row, or one scalar, to every element of a tile";
  let arguments = (ins AnyType:$value);
  let results = (outs Tile_RegTile:$result);
  let assemblyFormat = "$value `:` type($value) `->` type($result) attr-dict";
}

def Tile_ColumnsOp : Tile_Op<"columns", [Pure]> {
  let summary = "the columns of a register tile from `from` on, as many as the result has";
  let description = "Constraint `tile.columns-C1`: a row a thread, and columns of the tile.";
  let arguments = (ins Tile_RegTile:$tile, I64Attr:$from);
  let results = (outs Tile_RegTile:$result);
  let assemblyFormat = "$tile `from` $from `:` type($tile) `->` type($result) attr-dict";
  let hasVerifier = 1;
}

#endif
