// Key blocks of the roles of one group become one loop, pipelined by the lags of the schedule.
// RUN: %fovea-opt %s -split-input-file --tile-map-roles | FileCheck %s

// A lag: step 0 for the roles without one, a loop from 1, the last block of the lagged ones. A role without blocks that
// the schedule lists behind them comes behind the loop, one before them before it.
#g = [{first_warp = 0 : i64, name = "all", registers = 0 : i64, roles = ["before", "fill", "use", "behind"], warps = 4 : i64}]
#s = {aliases = {}, block = 0 : i64, ctas_per_sm = 1 : i64, depths = {V = 2 : i64}, groups = #g, key_rows = 64 : i64, lags = {use = 1 : i64}, max_free = false, out_in_q = false, p_in_tmem = false, persistent = true, tile_rows = 64 : i64}
// CHECK-LABEL: tile.kernel @lagged
// CHECK: tile.group @all
// CHECK: tile.fence async_proxy for threads {tile.role = "before"}
// CHECK-NEXT: %[[N:.*]] = arith.constant {tile.role = "fill"} 5 : i32
// CHECK-NEXT: arith.constant {tile.role = "use"} 5 : i32
// CHECK-NEXT: arith.constant 0 : i32
// CHECK-NEXT: %[[V:.*]] = tile.take @V[0] for threads visit 0 : {{.*}} {tile.role = "fill"}
// CHECK-NEXT: tile.pass %[[V]]
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-NEXT: tile.loop %[[ONE]] to %[[N]] inits() : () -> () {
// CHECK-NEXT: ^bb0(%[[T:.*]]: i32):
// CHECK-NEXT: arith.constant 1 : i32
// CHECK-NEXT: %[[BEFORE:.*]] = arith.subi %[[T]],
// CHECK-NEXT: tile.take @V[0] for threads visit 0 : {{.*}} {tile.role = "fill"}
// CHECK-NEXT: tile.pass
// CHECK-NEXT: %[[U:.*]] = tile.take @V[1] for threads visit 1 : {{.*}} {tile.role = "use"}
// CHECK-NEXT: tile.clear_tail %[[U]], %[[BEFORE]]
// CHECK-NEXT: tile.pass %[[U]]
// CHECK-NEXT: tile.yield
// CHECK-NEXT: }
// CHECK-NEXT: arith.constant 1 : i32
// CHECK-NEXT: %[[LAST:.*]] = arith.subi %[[N]],
// CHECK-NEXT: %[[U:.*]] = tile.take @V[1] for threads visit 1 : {{.*}} {tile.role = "use"}
// CHECK-NEXT: tile.clear_tail %[[U]], %[[LAST]]
// CHECK-NEXT: tile.pass %[[U]]
// CHECK-NEXT: tile.fence tensor_before for threads {tile.role = "behind"}
// CHECK-NEXT: }
tile.kernel @lagged target("sm_90a") schedule #s attributes {key_blocks} {
  tile.channel @V depth(2) stations ["fill", "use"] : !tile.slot<64x64xbf16, smem>
  tile.role @fill {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    %n = arith.constant 5 : i32
    tile.blocks %n inits() : () -> () first {
    } body {
    ^bb0(%t: i32):
      %v = tile.take @V[0] for threads : <64x64xbf16, smem>
      tile.pass %v : <64x64xbf16, smem>
      tile.yield
    }
  }
  tile.role @use {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    %n = arith.constant 5 : i32
    tile.blocks %n inits() : () -> () first {
    } body {
    ^bb0(%t: i32):
      %v = tile.take @V[1] for threads : <64x64xbf16, smem>
      tile.clear_tail %v, %t : <64x64xbf16, smem>
      tile.pass %v : <64x64xbf16, smem>
      tile.yield
    }
  }
  tile.role @before {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    tile.fence async_proxy for threads
  }
  tile.role @behind {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    tile.fence tensor_before for threads
  }
}

// -----

// A first block of its own is peeled and gives the loop its first values; what follows the blocks uses the last ones.
#g = [{first_warp = 0 : i64, name = "all", registers = 0 : i64, roles = ["state"], warps = 4 : i64}]
#s = {aliases = {}, block = 0 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = #g, key_rows = 64 : i64, lags = {}, max_free = false, out_in_q = false, p_in_tmem = false, persistent = true, tile_rows = 64 : i64}
// CHECK-LABEL: tile.kernel @first
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-NEXT: %[[INIT:.*]] = arith.addi %[[ZERO]], %{{.*}} {tile.role = "state"} : i32
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-NEXT: %[[R:.*]] = tile.loop %[[ONE]] to %{{.*}} inits(%[[INIT]]) : (i32) -> i32 {
// CHECK-NEXT: ^bb0(%[[T:.*]]: i32, %[[X:.*]]: i32):
// CHECK-NEXT: %[[Y:.*]] = arith.muli %[[T]], %[[X]] {tile.role = "state"} : i32
// CHECK-NEXT: tile.yield %[[Y]] : i32
// CHECK-NEXT: }
// CHECK-NEXT: arith.xori %[[R]], %[[R]] {tile.role = "state"} : i32
tile.kernel @first target("sm_90a") schedule #s attributes {key_blocks} {
  tile.role @state {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    %n = arith.constant 5 : i32
    %r = tile.blocks %n inits() : () -> i32 first {
    ^bb0(%t: i32):
      %x = arith.addi %t, %row : i32
      tile.yield %x : i32
    } body {
    ^bb0(%t: i32, %x: i32):
      %y = arith.muli %t, %x : i32
      tile.yield %y : i32
    }
    %z = arith.xori %r, %r : i32
  }
}

// -----

// Neither a lag nor a first block: nothing is peeled, the loop begins at 0.
#g = [{first_warp = 0 : i64, name = "all", registers = 0 : i64, roles = ["state"], warps = 4 : i64}]
#s = {aliases = {}, block = 0 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = #g, key_rows = 64 : i64, lags = {}, max_free = false, out_in_q = false, p_in_tmem = false, persistent = true, tile_rows = 64 : i64}
// CHECK-LABEL: tile.kernel @whole
// CHECK: %[[N:.*]] = arith.constant {tile.role = "state"} 5 : i32
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-NEXT: tile.loop %[[ZERO]] to %[[N]] inits(%{{.*}}) : (i32) -> i32 {
// CHECK-NOT: arith.muli
// CHECK: arith.muli
// CHECK-NOT: arith.muli
tile.kernel @whole target("sm_90a") schedule #s attributes {key_blocks} {
  tile.role @state {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    %n = arith.constant 5 : i32
    %r = tile.blocks %n inits(%row) : (i32) -> i32 first {
    } body {
    ^bb0(%t: i32, %x: i32):
      %y = arith.muli %t, %x : i32
      tile.yield %y : i32
    }
  }
}
