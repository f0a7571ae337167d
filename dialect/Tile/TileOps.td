// dialect/Tile/TileOps.td - every op of the dialect `tile`.
include "dialect/Tile/StructureOps.td"
include "dialect/Tile/ItemOps.td"
include "dialect/Tile/UnitOps.td"
include "dialect/Tile/ThreadOps.td"
include "dialect/Tile/SynchronisationOps.td"
include "dialect/Tile/PairOps.td"
include "dialect/Tile/ListOps.td"
