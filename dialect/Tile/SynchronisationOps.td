// dialect/Tile/SynchronisationOps.td - barriers, waits and fences, which tile-synchronise derives: no lowering writes one.
#ifndef FOVEA_TILE_SYNCHRONISATION_OPS
#define FOVEA_TILE_SYNCHRONISATION_OPS

include "dialect/Tile/TileDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

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

#endif
