// dialect/Tile/TileOps.td - the ops of the dialect `tile`.
#ifndef FOVEA_TILE_OPS
#define FOVEA_TILE_OPS

include "dialect/Tile/TileDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<TileDialect, mnemonic, traits>;

def Tile_RegTile : Type<And<[CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
    CPred<"::llvm::isa_and_nonnull<::fovea::tile::RegsAttr>(::llvm::cast<::mlir::RankedTensorType>($_self).getEncoding())">]>,
    "register tile (tensor with a #tile.regs encoding)", "::mlir::RankedTensorType">;

//===-- structure -----------------------------------------------------------------------------------------------===//

def Tile_KernelOp : Tile_Op<"kernel", [Symbol, IsolatedFromAbove, SymbolTable, NoRegionArguments, SingleBlock,
                                       NoTerminator]> {
  let summary = "one kernel: tensors, channels, and roles (later: warp groups)";
  let description = [{
    `schedule` holds every decision (see Schedule.h); later passes obey it and decide nothing. Bodies of roles and
    groups receive the work item, all i32: `(row, rows, head)`, the first row of the tile in the tensor, the number of
    valid rows (1 … tile rows), the head; and, where the keys are not the tile's own rows (attribute `key_blocks`),
    `(batch, query, queries, key, keys)`: the sequence, the position of the tile's first row in it, its number of
    queries, the first row of its keys in their tensor, its number of keys. All roles walk the same items.
    Where the schedule packs P heads, P query heads of a group share a tile: `rows` are queries, `head` is the first of the
    heads, and row r of the tile is query `query` + r / P of head `head` + r % P. Loads, stores, masks and expressions of
    rows all count so.
    `notes`: sentences about the network for `fovea explain`. `heavy_first`: later tiles of a sequence have more key
    blocks, so that items begin with the last; its value is the bytes of a key and its value row.
    Attributes that passes add: `offsets` (the table that cuts rows into sequences), `smem_bytes`, `tmem_columns`,
    `tmem_slot` (byte offset of the word that tcgen05.alloc writes).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$target, DictionaryAttr:$schedule);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `target` `(` $target `)` `schedule` $schedule attr-dict-with-keyword $body";
}

def Tile_TensorOp : Tile_Op<"tensor", [Symbol, HasParent<"KernelOp">]> {
  let summary = "a tensor in global memory: rows x heads x cols, any row and head stride, innermost stride 1";
  let description = [{
    `role`: "input", "output", or "shared": an input of rows x cols that all heads share, one row for each token or position. `of NAME`: the
    launch passes the tensor NAME, and this is the part of it that starts at `column`: of each head, or with `packed(N)` of
    rows whose heads stand side by side, N elements apart. Without it the launch passes a tensor of this symbol's name.
    `batched`: batch x rows x heads x cols, where rows count from the sequence's start (else all sequences').
    `tile_heads`: a tile of it is rows of that many heads, row by row (tile.kernel).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$role, TypeAttr:$element_type, I64Attr:$heads, I64Attr:$cols,
                       OptionalAttr<StrAttr>:$of, OptionalAttr<I64Attr>:$column,
                       OptionalAttr<I64Attr>:$packed, UnitAttr:$batched, DefaultValuedOptionalAttr<I64Attr, "1">:$tile_heads);
  let assemblyFormat = [{
    $sym_name $role `heads` $heads `cols` $cols (`batched` $batched^)? (`tile_heads` `(` $tile_heads^ `)`)? `:` $element_type
    (`of` $of^ `column` $column)? (`packed` `(` $packed^ `)`)? attr-dict }];
  let extraClassDeclaration = [{
    /// The tensor that the launch passes.
    ::llvm::StringRef getPassedName() { return getOf().value_or(getSymName()); }
    bool isShared() { return getRole() == "shared"; }
  }];
}

def Tile_ChannelOp : Tile_Op<"channel", [Symbol, HasParent<"KernelOp">]> {
  let summary = "a ring of `depth` slots that travel through `stations` in order and return empty";
  let description = [{
    Constraints: `tile.channel-C1` depth >= 1. `C2` at least two stations, each the name of a role. `C3` a channel
    in registers has depth 1 and all its stations on one warp group (checked after mapping).
    After allocation `offset` is the byte offset in dynamic shared memory, or the first TMEM column, of slot 0, and
    `slot_size` the distance of two slots in bytes or columns.
    An `alias` that is no view lies over its host's slots, which so go on through its own stations: in a persistent
    kernel a slot of the host is empty again when the last stations of all that lie over it have passed it, and neither
    ring has an empty hop of its own (S becomes P in the columns of tensor memory that it lies in). That whoever takes it
    first comes behind the host's last station is for the network to see to, and for tile-prove-no-hazard to check.
    A `view` names the contents of its alias's slot at another rate or for another station: the accumulator of an item
    for its epilogue, while the blocks' products take it turn by turn. It owns no memory and keeps nobody out of it; the
    accesses through both names are checked like any others (tile-prove-no-hazard).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Tile_Slot>:$slot, I64Attr:$depth,
                       StrArrayAttr:$stations, OptionalAttr<FlatSymbolRefAttr>:$alias, UnitAttr:$view,
                       OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$slot_size);
  let assemblyFormat = [{
    $sym_name `depth` `(` $depth `)` `stations` $stations (`alias` `(` $alias^ `)`)? (`view` $view^)? `:` $slot attr-dict }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::fovea::tile::SlotType getSlotType() { return ::llvm::cast<SlotType>(getSlot()); }
  }];
}

def Tile_RoleOp : Tile_Op<"role", [Symbol, HasParent<"KernelOp">, SingleBlock, NoTerminator]> {
  let summary = "a sequential program over one work item";
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Tile_GroupOp : Tile_Op<"group", [Symbol, HasParent<"KernelOp">, SingleBlock, NoTerminator]> {
  let summary = "a warp group running the merged program of its roles";
  let description = [{
    `first_warp`, `warps`: the warps of the CTA it owns. `registers`: what setmaxnreg asks for, 0 = not asked.
    `roles`: names of the merged roles, in the order of the merged program. `teams`: that many parts of 4 warps each, which
    share no row of any tile that the group's threads write: each team meets and stores for itself.

    Constraint `tile.group-C1`: several teams have 4 warps each.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$first_warp, I64Attr:$warps, I64Attr:$registers,
                       StrArrayAttr:$roles, DefaultValuedOptionalAttr<I64Attr, "1">:$teams);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `warps` `(` $first_warp `,` $warps `)` `registers` `(` $registers `)` `roles` $roles
    (`teams` `(` $teams^ `)`)? attr-dict-with-keyword $body }];
  let hasVerifier = 1;
}

//===-- key blocks ----------------------------------------------------------------------------------------------===//

def Tile_BlocksOp : Tile_Op<"blocks", [HasParent<"RoleOp">, AttrSizedOperandSegments]> {
  let summary = "what a role does for each key block t = 0 … count - 1 of its item, at least one";
  let description = [{
    `first`, if not empty, is the program of block 0 (argument t) and yields the values that the others carry; else
    `inits` are those. `body` receives t and the carried values and yields them. All roles of a kernel count alike.
    `edge`, if not empty, stands in for `body` in the blocks outside [plain_from, plain_to): the same events with more
    mathematics, a mask that the blocks between need no look at. 1 <= plain_from <= plain_to <= count; `plain_to` left
    out is count.
    Roles of one group become one loop (tile-map-roles), in which a role whose schedule has a lag of 1 does block t - 1
    while the others do block t.
  }];
  let arguments = (ins I32:$count, Optional<I32>:$plain_from, Optional<I32>:$plain_to, Variadic<AnyType>:$inits);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region MaxSizedRegion<1>:$first, SizedRegion<1>:$body, MaxSizedRegion<1>:$edge);
  let assemblyFormat = [{
    $count (`plain` `from` $plain_from^)? (`plain` `to` $plain_to^)? `inits` `(` $inits `)` `:`
    functional-type($inits, $results) `first` $first `body` $body (`edge` $edge^)? attr-dict }];
  let hasVerifier = 1;
}

def Tile_LoopOp : Tile_Op<"loop", [HasParent<"GroupOp">]> {
  let summary = "the key blocks t = from … count - 1 of a group's merged program";
  let description = [{
    `edge`: a loop over further blocks with the events of the group's plain loop, of which it differs only in mathematics
    (checked by the event graph). A group has one plain loop, or none.
  }];
  let arguments = (ins I32:$from, I32:$count, Variadic<AnyType>:$inits, UnitAttr:$edge);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`edge` $edge^)? $from `to` $count `inits` `(` $inits `)` `:` functional-type($inits, $results) $body attr-dict }];
  let hasVerifier = 1;
}

def Tile_RareOp : Tile_Op<"rare"> {
  let summary = "warps that hold a value beyond `limit`, or one that is no number, run the region; the others keep `inits`";
  let description = [{
    The cold path of a loop: it stays inside its station and touches no channel, so that it changes durations, never the
    graph. The vote is the warp's; rows of other warps go on.
  }];
  let arguments = (ins Tile_RegTile:$values, F64Attr:$limit, Variadic<AnyType>:$inits);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $values `beyond` $limit `inits` `(` $inits `)` `:` type($values) `,` functional-type($inits, $results) $body attr-dict }];
  let hasVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Terminator, ParentOneOf<["BlocksOp", "LoopOp", "RareOp", "MapElementsOp"]>]> {
  let summary = "the carried values of the next block, the results of a cold path, or the values of an expression";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

//===-- the two verbs -------------------------------------------------------------------------------------------===//

def Tile_TakeOp : Tile_Op<"take"> {
  let summary = "takes the next slot of a channel at this role's station, waiting until it has arrived";
  let description = [{
    `visit`, set by tile-map-roles on the takes of a key block: 0 is the slot of the block that the loop is at, 1 that of
    the block before. Without it the slot is the item's.
  }];
  let arguments = (ins FlatSymbolRefAttr:$channel, I64Attr:$station, Tile_Unit:$unit, OptionalAttr<I64Attr>:$visit);
  let results = (outs Tile_Slot:$slot);
  let assemblyFormat = "$channel `[` $station `]` `for` $unit (`visit` $visit^)? `:` type($slot) attr-dict";
  let hasVerifier = 1;
}

def Tile_PassOp : Tile_Op<"pass"> {
  let summary = "passes a slot on to the next station (from the last: back to the first, empty)";
  let description = "Constraint `tile.pass-C1`: every slot taken is passed exactly once, after its last use.";
  let arguments = (ins Tile_Slot:$slot);
  let assemblyFormat = "$slot `:` type($slot) attr-dict";
  let hasVerifier = 1;
}

//===-- the item ------------------------------------------------------------------------------------------------===//

def Tile_PositionOp : Tile_Op<"position", [Pure]> {
  let summary = "position of the item's first row in its own sequence";
  let description = "A kernel that asks finds its tiles by a search over the offsets: a list of tiles does not tell.";
  let results = (outs I32:$position);
  let assemblyFormat = "attr-dict";
}

def Tile_SplitOp : Tile_Op<"split", [Pure]> {
  let summary = "which part of its keys the item visits, of how many (1 to 32, known at launch)";
  let description = [{
    Of a kernel with the attribute `splits`: tiles that would leave SMs idle, all of a launch or its last ones, are shared by
    several items, and each visits a part of the tile's key blocks. The other tiles have one part.
  }];
  let results = (outs I32:$part, I32:$count);
  let assemblyFormat = "attr-dict";
}

def Tile_TeamRowsOp : Tile_Op<"team_rows", [Pure]> {
  let summary = "of a tile's rows, those of the team that runs the program: the first one's position, and how many";
  let description = [{
    `first` and `rows` are the tile's (i32, at least one row). A team beyond the last row gets that row, so that what it
    sees is never nothing. See `tile.group` for teams.
  }];
  let arguments = (ins I32:$first, I32:$rows);
  let results = (outs I32:$team_first, I32:$team_rows);
  let assemblyFormat = "$first `,` $rows attr-dict";
  let hasVerifier = 1;
}

def Tile_SkipBlocksOp : Tile_Op<"skip_blocks"> {
  let summary = "key blocks of the item in front of those that a team visits, and behind them: passed on untouched";
  let description = [{
    The blocks of the program's loops are those that the team's rows see; other teams of the group see `before` more blocks
    (i32, at least 0) in front of them, and `behind` more. For each of these the team waits and arrives as for a block of
    its own, and does nothing else: `before` where the op stands, `behind` at the end of the program. Events of a block
    keep their order, and an arrival only comes sooner, so that what is proved of programs that visit every block holds
    here, too.
  }];
  let arguments = (ins I32:$before, I32:$behind);
  let assemblyFormat = "$before `,` $behind attr-dict";
  let hasVerifier = 1;
}

//===-- units ---------------------------------------------------------------------------------------------------===//

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

//===-- threads -------------------------------------------------------------------------------------------------===//

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

//===-- synchronisation, derived by tile-synchronise --------------------------------------------------------------===//

def Tile_BarrierOp : Tile_Op<"barrier", [Symbol, HasParent<"KernelOp">]> {
  let summary = "`depth` mbarriers (PTX ISA: mbarrier), one per slot of a channel's hop";
  let description = "`count`: arrivals per phase. `offset`: byte offset of the first in dynamic shared memory.";
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$count, I64Attr:$depth, OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = "$sym_name `count` `(` $count `)` `depth` `(` $depth `)` attr-dict";
}

def Tile_WaitOp : Tile_Op<"wait"> {
  let summary = "waits for the phase of item i: parity (i / depth) & 1, or its complement for an `empty` hop";
  let description = "`visit` as in tile.take: with it, i counts the group's key blocks of all items instead of items.";
  let arguments = (ins FlatSymbolRefAttr:$barrier, Tile_Unit:$unit, UnitAttr:$empty, OptionalAttr<I64Attr>:$visit);
  let assemblyFormat = "$barrier `for` $unit (`empty` $empty^)? (`visit` $visit^)? attr-dict";
}

def Tile_ArriveOp : Tile_Op<"arrive"> {
  let summary = "arrives on the barrier of item i: once per warp (threads), or by the elected thread with expected bytes (tma)";
  let description = [{
    `bytes_per_row`: arrive.expect_tx of `rows` rows, rounded up to fours (tile.load); `bytes`: of a whole load.
  }];
  let arguments = (ins FlatSymbolRefAttr:$barrier, Tile_Unit:$unit, OptionalAttr<I64Attr>:$bytes_per_row,
                       Optional<I32>:$rows, OptionalAttr<I64Attr>:$bytes, OptionalAttr<I64Attr>:$visit);
  let assemblyFormat = [{
    $barrier `from` $unit (`expect` `(` $bytes_per_row^ `*` $rows `)`)? (`expects` $bytes^)? (`visit` $visit^)? attr-dict }];
}

def Tile_CommitOp : Tile_Op<"commit"> {
  let summary = "the tensor core arrives once all products issued so far are done (tcgen05.commit)";
  let arguments = (ins FlatSymbolRefAttr:$barrier, OptionalAttr<I64Attr>:$visit);
  let assemblyFormat = "$barrier (`visit` $visit^)? attr-dict";
}

def Tile_ProductWaitOp : Tile_Op<"product_wait"> {
  let summary = "waits for the last product that writes or reads a register slot, and all before it (wgmma.wait_group)";
  let arguments = (ins Tile_Slot:$slot);
  let assemblyFormat = "$slot `:` type($slot) attr-dict";
}

def Tile_FenceOp : Tile_Op<"fence"> {
  let summary = "a fence or a completion wait of the executing threads";
  let arguments = (ins Tile_FenceKind:$kind, Tile_Unit:$unit);
  let assemblyFormat = "$kind `for` $unit attr-dict";
}

def Tile_StoreWaitOp : Tile_Op<"store_wait"> {
  let summary = "waits until at most `pending` of the TMA stores issued so far still read shared memory";
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Tile_SyncOp : Tile_Op<"sync"> {
  let summary = "all threads of the group, or of each of its teams, meet (bar.sync on a barrier of their own)";
  let assemblyFormat = "attr-dict";
}

//===-- expressions of pairs --------------------------------------------------------------------------------------===//

include "dialect/Tile/PairOps.td"

//===-- lists of key blocks ---------------------------------------------------------------------------------------===//

include "dialect/Tile/ListOps.td"

#endif
