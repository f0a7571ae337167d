// Stations where threads only read follow one another without a barrier; behind a write, and to another group, there is one,
// with the writer's own proxy fence, since what comes behind may be the tensor core.
// RUN: %fovea-opt %s -split-input-file --tile-allocate --tile-synchronise --tile-verify-sync --tile-prove-no-hazard | FileCheck %s

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}

// CHECK-LABEL: tile.kernel @readers
tile.kernel @readers target("sm_90a") schedule #s {
  tile.tensor @t "shared" heads 1 cols 64 : bf16
  tile.channel @T depth(1) stations ["load", "a", "b"] : !tile.slot<64x64xbf16, smem>
  tile.channel @X depth(1) stations ["a", "b"] : !tile.slot<64x64xf32, registers>
  tile.channel @A depth(1) stations ["a", "b"] : !tile.slot<64x64xbf16, smem>
  tile.channel @B depth(1) stations ["b", "b"] : !tile.slot<64x64xbf16, smem>
  tile.group @all warps(0, 4) registers(0) roles ["load", "a", "b"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %t = tile.take @T[0] for tma : <64x64xbf16, smem> {tile.role = "load"}
    tile.load @t[%row, %rows, %head] into %t : <64x64xbf16, smem> {tile.role = "load"}
    tile.pass %t : <64x64xbf16, smem> {tile.role = "load"}
    %x = tile.take @X[0] for threads : <64x64xf32, registers> {tile.role = "a"}
    %a = tile.take @A[0] for threads : <64x64xbf16, smem> {tile.role = "a"}
    // CHECK: tile.wait @T_full for threads
    // CHECK-NEXT: tile.take @T[1]
    // CHECK-NEXT: tile.copy
    // CHECK-NOT: tile.sync
    %t1 = tile.take @T[1] for threads : <64x64xbf16, smem> {tile.role = "a"}
    tile.copy %x into %a unrotated by %t1 halves : <64x64xf32, registers>, <64x64xbf16, smem>, !tile.slot<64x64xbf16, smem> {tile.role = "a"}
    tile.pass %t1 : <64x64xbf16, smem> {tile.role = "a"}
    tile.pass %x : <64x64xf32, registers> {tile.role = "a"}
    tile.pass %a : <64x64xbf16, smem> {tile.role = "a"}
    // CHECK: tile.take @T[2]
    // CHECK-NEXT: tile.copy
    // CHECK: tile.sync
    // CHECK-NEXT: tile.take @A[1]
    // CHECK-NEXT: tile.rotate
    %x1 = tile.take @X[1] for threads : <64x64xf32, registers> {tile.role = "b"}
    %b = tile.take @B[0] for threads : <64x64xbf16, smem> {tile.role = "b"}
    %t2 = tile.take @T[2] for threads : <64x64xbf16, smem> {tile.role = "b"}
    tile.copy %x1 into %b unrotated by %t2 interleaved : <64x64xf32, registers>, <64x64xbf16, smem>, !tile.slot<64x64xbf16, smem> {tile.role = "b"}
    %a1 = tile.take @A[1] for threads : <64x64xbf16, smem> {tile.role = "b"}
    tile.rotate %a1 by %t2 interleaved, %rows : <64x64xbf16, smem>, <64x64xbf16, smem> {tile.role = "b"}
    tile.pass %a1 : <64x64xbf16, smem> {tile.role = "b"}
    tile.pass %t2 : <64x64xbf16, smem> {tile.role = "b"}
    tile.pass %x1 : <64x64xf32, registers> {tile.role = "b"}
    tile.pass %b : <64x64xbf16, smem> {tile.role = "b"}
    %b1 = tile.take @B[1] for threads : <64x64xbf16, smem> {tile.role = "b"}
    tile.pass %b1 : <64x64xbf16, smem> {tile.role = "b"}
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}

// CHECK-LABEL: tile.kernel @groups
tile.kernel @groups target("sm_90a") schedule #s {
  tile.tensor @t "shared" heads 1 cols 64 : bf16
  tile.tensor @x "input" heads 1 cols 64 : bf16
  tile.channel @T depth(1) stations ["load", "turn"] : !tile.slot<64x64xbf16, smem>
  tile.channel @X depth(1) stations ["load", "turn", "clear"] : !tile.slot<64x64xbf16, smem>
  tile.group @turn warps(0, 4) registers(0) roles ["turn"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %t = tile.take @T[1] for threads : <64x64xbf16, smem> {tile.role = "turn"}
    %x = tile.take @X[1] for threads : <64x64xbf16, smem> {tile.role = "turn"}
    // CHECK: tile.rotate
    // CHECK-NEXT: tile.fence async_proxy for threads
    // CHECK-NEXT: tile.arrive @X_full1 from threads
    tile.rotate %x by %t halves, %rows : <64x64xbf16, smem>, <64x64xbf16, smem> {tile.role = "turn"}
    tile.pass %x : <64x64xbf16, smem> {tile.role = "turn"}
    tile.pass %t : <64x64xbf16, smem> {tile.role = "turn"}
  }
  tile.group @clear warps(4, 4) registers(0) roles ["clear"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // CHECK: tile.wait @X_full1 for threads
    %x = tile.take @X[2] for threads : <64x64xbf16, smem> {tile.role = "clear"}
    tile.clear_tail %x, %rows : <64x64xbf16, smem> {tile.role = "clear"}
    tile.pass %x : <64x64xbf16, smem> {tile.role = "clear"}
  }
  tile.group @load warps(8, 1) registers(0) roles ["load"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %t = tile.take @T[0] for tma : <64x64xbf16, smem> {tile.role = "load"}
    tile.load @t[%row, %rows, %head] into %t : <64x64xbf16, smem> {tile.role = "load"}
    tile.pass %t : <64x64xbf16, smem> {tile.role = "load"}
    %x = tile.take @X[0] for tma : <64x64xbf16, smem> {tile.role = "load"}
    tile.load @x[%row, %rows, %head] into %x : <64x64xbf16, smem> {tile.role = "load"}
    tile.pass %x : <64x64xbf16, smem> {tile.role = "load"}
  }
}
