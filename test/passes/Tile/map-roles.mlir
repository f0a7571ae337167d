// Roles are merged onto the groups of the schedule, in its order; every op remembers its role.
// RUN: %fovea-opt %s --tile-map-roles | FileCheck %s

#groups = [{first_warp = 0 : i64, name = "all", registers = 0 : i64, roles = ["load", "use"], warps = 4 : i64},
           {first_warp = 4 : i64, name = "spare", registers = 24 : i64, roles = [], warps = 1 : i64}]
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = #groups, p_in_tmem = false, persistent = false, tile_rows = 64 : i64}

// CHECK-LABEL: tile.kernel @merged
// CHECK-NOT: tile.role @
// CHECK: tile.group @all warps(0, 4) registers(0) roles ["load", "use"] {
// CHECK-NEXT: ^bb0(%[[ROW:.*]]: i32, %[[ROWS:.*]]: i32, %[[HEAD:.*]]: i32):
// CHECK-NEXT: %[[K:.*]] = tile.take @K[0] for tma : <64x64xbf16, smem> {tile.role = "load"}
// CHECK-NEXT: tile.load @k[%[[ROW]], %[[ROWS]], %[[HEAD]]] into %[[K]] : <64x64xbf16, smem> {tile.role = "load"}
// CHECK-NEXT: tile.pass %[[K]] : <64x64xbf16, smem> {tile.role = "load"}
// CHECK-NEXT: %[[U:.*]] = tile.take @K[1] for threads : <64x64xbf16, smem> {tile.role = "use"}
// CHECK-NEXT: tile.clear_tail %[[U]], %[[ROWS]] : <64x64xbf16, smem> {tile.role = "use"}
// CHECK-NEXT: tile.pass %[[U]] : <64x64xbf16, smem> {tile.role = "use"}
// CHECK-NEXT: }
// CHECK-NEXT: tile.group @spare warps(4, 1) registers(24) roles [] {
tile.kernel @merged target("sm_90a") schedule #s {
  tile.tensor @k "input" heads 4 cols 64 : bf16
  tile.channel @K depth(1) stations ["load", "use"] : !tile.slot<64x64xbf16, smem>
  tile.role @use {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[1] for threads : <64x64xbf16, smem>
    tile.clear_tail %k, %rows : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
  }
  tile.role @load {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for tma : <64x64xbf16, smem>
    tile.load @k[%row, %rows, %head] into %k : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
  }
}
