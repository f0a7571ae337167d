// dialect/Tile/ItemOps.td - what a program asks about its work item and its team.
#ifndef FOVEA_TILE_ITEM_OPS
#define FOVEA_TILE_ITEM_OPS

include "dialect/Tile/TileDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

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

#endif
