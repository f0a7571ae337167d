// dialect/Tile/PairOps.td - scalar expressions for each (query, key) pair of a register tile, and tables in memory.
#ifndef FOVEA_TILE_PAIR_OPS
#define FOVEA_TILE_PAIR_OPS

include "dialect/Tile/TileDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_TableOp : Tile_Op<"table", [Symbol, HasParent<"KernelOp">]> {
  let summary = "a tensor in global memory that expressions look up";
  let description = [{
    `dims` dimensions of i32 or f32, innermost stride 1; the others' strides, the sizes and the address are parameters
    of the launch. The symbol of a table that the launch passes as NAME is `table.NAME` (`tableSymbol`), so that no user's
    name meets a channel's, a group's or a barrier's.

    - `tile.table-C1`: 1 to 4 dimensions. `tile.table-C2`: elements are i32 or f32.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$dims, TypeAttr:$element_type);
  let assemblyFormat = "$sym_name `dims` $dims `:` $element_type attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The name that the launch passes it by.
    llvm::StringRef getPassedName() {
      llvm::StringRef name = getSymName();
      name.consume_front("table.");
      return name;
    }
  }];
}

def Tile_MapPairsOp : Tile_Op<"map_pairs", [Pure, SingleBlock, AttrSizedOperandSegments]> {
  let summary = "a scalar expression for each element of f32 tiles, by its query and key";
  let description = [{
    The region sees the element of each tile, then i = `first_query` + row and j = `first_key` + column (i32, positions
    in the own sequence), with `heads` the head of the row (i32; where heads are packed, see tile.kernel), and any scalar of the
    program around it. It yields an f32, or, with one tile, an i1: the
    element stays where it is true and becomes -inf elsewhere. `when`: the tile is as it was where this is false. Rows and columns beyond the sequence are computed, too:
    mask them afterwards.

    ```mlir
    %t = tile.map_pairs %s queries(%first_query) keys(%first_key) : !T -> !T {
    ^bb0(%x: f32, %i: i32, %j: i32):
      %m = tile.lookup @slope[%head] : f32
      %d = arith.subi %j, %i : i32
      %e = arith.sitofp %d : i32 to f32
      %y = math.fma %m, %e, %x : f32
      tile.result %y : f32
    }
    ```
    What depends on the row alone, the column alone or neither is computed once for those that share it. exp, exp2, log,
    log2, tanh, erf, sqrt, rsqrt, sin and cos take the approximate units (a few units of 2^-22 beside what their argument
    loses when it is scaled); a division is a product with a reciprocal.

    Constraints: `tile.map_pairs-C1`: at least one tile; all are f32, rows x keys, of one type. `tile.map_pairs-C2`: the
    block has the arguments above. `tile.map_pairs-C3`: it ends in `tile.result` of f32, or of i1 with one tile.
    `tile.map_pairs-C4`: it holds only arith and math ops and `tile.lookup`. `tile.map_pairs-C5`: `when` goes with one
    tile.
  }];
  let arguments = (ins Variadic<Tile_RegTile>:$tiles, I32:$first_query, I32:$first_key,
                       Optional<I1>:$when, Optional<I32>:$first_head);
  let results = (outs Tile_RegTile:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $tiles `queries` `(` $first_query `)` `keys` `(` $first_key `)` (`heads` `(` $first_head^ `)`)? (`when` `(` $when^ `)`)? `:`
    type($tiles) `->` type($result) $body attr-dict }];
  let hasVerifier = 1;
}

def Tile_MapElementsOp : Tile_Op<"map_elements", [SingleBlock, AttrSizedOperandSegments]> {
  let summary = "scalar expressions for each element of slots, through registers a few columns at a time";
  let description = [{
    The region sees the element of each input as f32, then its row in the tile and its column (i32), and any scalar of the
    program around it; it yields one f32 for each output, which is converted to the output's element type (round to
    nearest even). An output that is an input, too, changes in place: an element is read before it is written. Rows
    beyond the sequence are computed, too, from whatever is there.

    ```mlir
    tile.map_elements %o, %gate into %out : !O, !G into !Out {
    ^bb0(%x: f32, %g: f32, %r: i32, %d: i32):
      %y = arith.mulf %x, %g : f32
      tile.yield %y : f32
    }
    ```
    Inputs are accumulators (f32 in tensor memory or registers) or 16-bit tiles in shared memory, outputs the latter. What
    is computed how: see `tile.map_pairs`.

    Constraints: `tile.map_elements-C1`: at least one input and one output, all of one shape, whose columns are a multiple
    of 32; outputs are 16-bit and in smem. `tile.map_elements-C2`: the block has the arguments above.
    `tile.map_elements-C3`: it yields an f32 for each output. `tile.map_elements-C4`: it holds only arith and math ops and
    `tile.lookup`.
  }];
  let arguments = (ins Variadic<Tile_Slot>:$inputs, Variadic<Tile_Slot>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$inputs `into` $outputs `:` type($inputs) `into` type($outputs) $body attr-dict";
  let hasVerifier = 1;
}

def Tile_LookupOp : Tile_Op<"lookup", [Pure, ParentOneOf<["MapPairsOp", "MapElementsOp"]>]> {
  let summary = "an element of a table, 0 outside it";
  let description = [{
    One index per dimension. An index outside its dimension reads no memory.

    - `tile.lookup-C1`: the table is one of the kernel's, with as many dimensions as indices and elements of the
      result's type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$table, Variadic<I32>:$indices);
  let results = (outs AnyTypeOf<[F32, I32]>:$value);
  let assemblyFormat = "$table `[` $indices `]` `:` type($value) attr-dict";
  let hasVerifier = 1;
}

def Tile_LookupRowsOp : Tile_Op<"lookup_rows", [Pure]> {
  let summary = "an element of a table for all rows of a register tile, 0 outside it";
  let description = [{
    As `tile.lookup`, of scalars of the program. `of_heads`: the last index is the item's first head, and each row looks up its
    own (where heads are packed, see tile.kernel).

    ```mlir
    %v = tile.lookup_rows @sink[%head] : !rows
    ```
    - `tile.lookup_rows-C1`: the table is one of the kernel's, of f32 and with as many dimensions as indices.
      `tile.lookup_rows-C2`: the result is one f32 for each row.
  }];
  let arguments = (ins FlatSymbolRefAttr:$table, Variadic<I32>:$indices, UnitAttr:$of_heads);
  let results = (outs Tile_RegTile:$result);
  let assemblyFormat = "$table `[` $indices `]` (`of_heads` $of_heads^)? `:` type($result) attr-dict";
  let hasVerifier = 1;
}

def Tile_ResultOp : Tile_Op<"result", [Pure, Terminator, HasParent<"MapPairsOp">]> {
  let summary = "the value of an expression";
  let arguments = (ins AnyTypeOf<[F32, I1]>:$value);
  let assemblyFormat = "$value `:` type($value) attr-dict";
}

#endif
