// What threads wrote reaches products of two groups on sm_100a: a commit tells the second group of the first one's products
// alone, so that an arrival hands on what was written before them.
// RUN: %fovea-opt %s --tile-allocate --tile-synchronise --tile-prove-no-hazard | FileCheck %s

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = true, tile_rows = 64 : i64}

// CHECK-DAG: tile.barrier @K_full2 count(2) depth(1)
// CHECK-DAG: tile.barrier @K_empty count(1) depth(1)
tile.kernel @handed_on target("sm_100a") schedule #s {
  tile.tensor @k "input" heads 4 cols 64 : bf16
  tile.channel @K depth(1) stations ["load", "clear", "scores", "keys"] : !tile.slot<64x64xbf16, smem>
  tile.channel @S depth(1) stations ["scores", "read"] : !tile.slot<64x64xf32, tmem>
  tile.channel @DK depth(1) stations ["keys", "read"] : !tile.slot<64x64xf32, tmem>
  tile.group @load warps(4, 1) registers(0) roles ["load"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for tma : <64x64xbf16, smem>
    tile.load @k[%row, %rows, %head] into %k : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
  }
  // CHECK-LABEL: tile.group @first
  tile.group @first warps(5, 1) registers(0) roles ["clear", "scores"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[1] for threads : <64x64xbf16, smem>
    tile.clear_tail %k, %rows : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
    // CHECK: tile.mma
    // CHECK: tile.commit @K_full2
    // CHECK-NEXT: tile.arrive @K_full2 from threads
    // CHECK-NEXT: tile.pass
    %k1 = tile.take @K[2] for tensor : <64x64xbf16, smem>
    %s = tile.take @S[0] for tensor : <64x64xf32, tmem>
    tile.mma %s = %k1 * %k1 transposed : <64x64xf32, tmem>, <64x64xbf16, smem>, <64x64xbf16, smem>
    tile.pass %s : <64x64xf32, tmem>
    tile.pass %k1 : <64x64xbf16, smem>
  }
  // CHECK-LABEL: tile.group @second
  tile.group @second warps(6, 1) registers(0) roles ["keys"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // CHECK: tile.wait @K_full2 for tensor
    %k = tile.take @K[3] for tensor : <64x64xbf16, smem>
    %d = tile.take @DK[0] for tensor : <64x64xf32, tmem>
    tile.mma %d = %k * %k : <64x64xf32, tmem>, <64x64xbf16, smem>, <64x64xbf16, smem>
    tile.pass %d : <64x64xf32, tmem>
    tile.pass %k : <64x64xbf16, smem>
  }
  tile.group @read warps(0, 4) registers(0) roles ["read"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %s = tile.take @S[1] for threads : <64x64xf32, tmem>
    %t = tile.read %s : <64x64xf32, tmem> -> tensor<64x64xf32, #tile.regs<fragment>>
    tile.pass %s : <64x64xf32, tmem>
    %d = tile.take @DK[1] for threads : <64x64xf32, tmem>
    %u = tile.read %d : <64x64xf32, tmem> -> tensor<64x64xf32, #tile.regs<fragment>>
    tile.pass %d : <64x64xf32, tmem>
  }
}
