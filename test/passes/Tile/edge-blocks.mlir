// Blocks at the edge of a mask get loops of their own around the plain one, with the same events.
// RUN: %fovea-opt %s -split-input-file -verify-diagnostics --tile-map-roles --tile-prove-live | FileCheck %s

#g = [{first_warp = 0 : i64, name = "load", registers = 0 : i64, roles = ["load"], warps = 1 : i64},
      {first_warp = 4 : i64, name = "use", registers = 0 : i64, roles = ["use"], teams = 2 : i64, warps = 8 : i64}]
#s = {aliases = {}, block = 0 : i64, ctas_per_sm = 1 : i64, depths = {K = 2 : i64}, groups = #g, key_rows = 64 : i64, lags = {}, max_free = false, out_in_q = false, p_in_tmem = false, persistent = true, tile_rows = 64 : i64}
// CHECK-LABEL: tile.kernel @edges
// CHECK: tile.group @use warps(4, 8) registers(0) roles ["use"] teams(2)
// CHECK: tile.take @K[1] for threads visit 0
// CHECK: tile.loop edge %{{.*}} to %[[FROM:arg[0-9]+]] inits
// CHECK: arith.muli
// CHECK: tile.loop %[[FROM]] to %[[TO:arg[0-9]+]] inits
// CHECK-NOT: arith.muli
// CHECK: tile.loop edge %[[TO]] to %{{.*}} inits
// CHECK: arith.muli
tile.kernel @edges target("sm_90a") schedule #s attributes {key_blocks} {
  tile.channel @K depth(2) stations ["load", "use"] : !tile.slot<64x64xbf16, smem>
  tile.role @load {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    tile.blocks %keys inits() : () -> () first {
    } body {
    ^bb0(%t: i32):
      %k = tile.take @K[0] for tma : <64x64xbf16, smem>
      tile.pass %k : <64x64xbf16, smem>
      tile.yield
    }
  }
  tile.role @use {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    tile.blocks %keys plain from %query plain to %queries inits() : () -> () first {
    ^bb0(%t: i32):
      %k = tile.take @K[1] for threads : <64x64xbf16, smem>
      tile.pass %k : <64x64xbf16, smem>
      tile.yield
    } body {
    ^bb0(%t: i32):
      %k = tile.take @K[1] for threads : <64x64xbf16, smem>
      tile.pass %k : <64x64xbf16, smem>
      tile.yield
    } edge {
    ^bb0(%t: i32):
      %k = tile.take @K[1] for threads : <64x64xbf16, smem>
      %twice = arith.muli %t, %t : i32
      tile.pass %k : <64x64xbf16, smem>
      tile.yield
    }
  }
}

// -----

// An edge with other events would leave the proofs without it.
#g = [{first_warp = 0 : i64, name = "load", registers = 0 : i64, roles = ["load"], warps = 1 : i64},
      {first_warp = 4 : i64, name = "use", registers = 0 : i64, roles = ["use"], warps = 4 : i64}]
#s = {aliases = {}, block = 0 : i64, ctas_per_sm = 1 : i64, depths = {K = 2 : i64}, groups = #g, key_rows = 64 : i64, lags = {}, max_free = false, out_in_q = false, p_in_tmem = false, persistent = true, tile_rows = 64 : i64}
// expected-error @below {{does not have the events of the plain loop of group 'use'}}
tile.kernel @other_events target("sm_90a") schedule #s attributes {key_blocks} {
  tile.channel @K depth(2) stations ["load", "use"] : !tile.slot<64x64xbf16, smem>
  tile.role @load {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    tile.blocks %keys inits() : () -> () first {
    } body {
    ^bb0(%t: i32):
      %k = tile.take @K[0] for tma : <64x64xbf16, smem>
      tile.pass %k : <64x64xbf16, smem>
      tile.yield
    }
  }
  tile.role @use {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    tile.blocks %keys plain from %query inits() : () -> () first {
    ^bb0(%t: i32):
      %k = tile.take @K[1] for threads : <64x64xbf16, smem>
      tile.pass %k : <64x64xbf16, smem>
      tile.yield
    } body {
    ^bb0(%t: i32):
      %k = tile.take @K[1] for threads : <64x64xbf16, smem>
      tile.pass %k : <64x64xbf16, smem>
      tile.yield
    } edge {
    ^bb0(%t: i32):
      %k = tile.take @K[1] for threads : <64x64xbf16, smem>
      tile.clear_tail %k, %t : <64x64xbf16, smem>
      tile.pass %k : <64x64xbf16, smem>
      tile.yield
    }
  }
}
