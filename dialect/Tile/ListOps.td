// dialect/Tile/ListOps.td - lists of key blocks in memory: which blocks a tile of queries meets.
#ifndef FOVEA_TILE_LIST_OPS
#define FOVEA_TILE_LIST_OPS

include "dialect/Tile/TileDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_ListOp<string mnemonic> : Tile_Op<mnemonic, [Pure]> {
  let hasVerifier = 1;
}

def Tile_ListRowOp : Tile_ListOp<"list_row"> {
  let summary = "where the list of a block of queries begins: an element of the table, or -1 if the table has no such row";
  let description = [{
    A list is a row of an i32 table [blocks of all sequences, heads, entries] or [batch, blocks, heads, entries]: key blocks
    in ascending order, each once; the first negative entry ends it. `query`: position of the tile's first row, whose block
    of `query_block` rows holds the tile. In three dimensions the blocks of the sequences before the item's own are
    counted from the offsets of the kernel. All threads of a warp together.

    - `tile.list-C1`: the table is one of the kernel's, of i32, with 3 or 4 dimensions. `tile.list-C2`: as many places as
      limits.
  }];
  let arguments = (ins FlatSymbolRefAttr:$table, I64Attr:$query_block, I32:$sequence, I32:$query, I32:$head);
  let results = (outs I64:$row);
  let assemblyFormat = "$table `query_block` $query_block `[` $sequence `,` $query `,` $head `]` attr-dict";
}

def Tile_ListBelowOp : Tile_ListOp<"list_below"> {
  let summary = "how many of a list's tiles of keys lie below each limit";
  let description = [{
    A listed block is `tiles` tiles of keys; limits are numbers of tiles, not negative. All threads of a warp together.
  }];
  let arguments = (ins FlatSymbolRefAttr:$table, I64Attr:$tiles, I64:$row, Variadic<I32>:$limits);
  let results = (outs Variadic<I32>:$places);
  let assemblyFormat = "$table `tiles` $tiles `from` $row `below` `(` $limits `)` `:` type($places) attr-dict";
}

def Tile_ListTileOp : Tile_ListOp<"list_tile"> {
  let summary = "the tile of keys at a place of a list, which is not negative and below list_below";
  let description = "At most `most`, whatever is in memory; a place outside the table reads nothing.";
  let arguments = (ins FlatSymbolRefAttr:$table, I64Attr:$tiles, I64:$row, I32:$place, I32:$most);
  let results = (outs I32:$tile);
  let assemblyFormat = "$table `tiles` $tiles `from` $row `at` $place `most` $most attr-dict";
}

#endif
