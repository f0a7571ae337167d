// dialect/Tile/StructureOps.td - kernels, channels, roles, their loops over key blocks, and the two verbs.
#ifndef FOVEA_TILE_STRUCTURE_OPS
#define FOVEA_TILE_STRUCTURE_OPS

include "dialect/Tile/TileDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

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

#endif
