// A loop over key blocks that is live for an item of one block and deadlocks for one of two: the message says how many.
// RUN: %fovea-opt %s -split-input-file -verify-diagnostics --tile-map-roles --tile-prove-live

// `second` lags, so that the group holds the slot of a block while it takes the next one: two slots are enough.
#g = [{first_warp = 0 : i64, name = "load", registers = 0 : i64, roles = ["load"], warps = 1 : i64},
      {first_warp = 4 : i64, name = "use", registers = 0 : i64, roles = ["first", "second"], warps = 4 : i64}]
#two = {aliases = {}, block = 0 : i64, ctas_per_sm = 1 : i64, depths = {K = 2 : i64}, groups = #g, key_rows = 64 : i64, lags = {second = 1 : i64}, max_free = false, out_in_q = false, p_in_tmem = false, persistent = true, tile_rows = 64 : i64}
tile.kernel @two_slots target("sm_90a") schedule #two attributes {key_blocks} {
  tile.channel @K depth(2) stations ["load", "first", "second"] : !tile.slot<64x64xbf16, smem>
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
  tile.role @first {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    tile.blocks %keys inits() : () -> () first {
    } body {
    ^bb0(%t: i32):
      %k = tile.take @K[1] for threads : <64x64xbf16, smem>
      tile.pass %k : <64x64xbf16, smem>
      tile.yield
    }
  }
  tile.role @second {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    tile.blocks %keys inits() : () -> () first {
    } body {
    ^bb0(%t: i32):
      %k = tile.take @K[2] for threads : <64x64xbf16, smem>
      tile.pass %k : <64x64xbf16, smem>
      tile.yield
    }
  }
}

// -----

// With one slot, block 1 is awaited before block 0 has left.
#g = [{first_warp = 0 : i64, name = "load", registers = 0 : i64, roles = ["load"], warps = 1 : i64},
      {first_warp = 4 : i64, name = "use", registers = 0 : i64, roles = ["first", "second"], warps = 4 : i64}]
#one = {aliases = {}, block = 0 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = #g, key_rows = 64 : i64, lags = {second = 1 : i64}, max_free = false, out_in_q = false, p_in_tmem = false, persistent = true, tile_rows = 64 : i64}
// expected-error @below {{deadlocks with 2 key blocks an item: }}
tile.kernel @one_slot target("sm_90a") schedule #one attributes {key_blocks} {
  tile.channel @K depth(1) stations ["load", "first", "second"] : !tile.slot<64x64xbf16, smem>
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
  tile.role @first {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    tile.blocks %keys inits() : () -> () first {
    } body {
    ^bb0(%t: i32):
      %k = tile.take @K[1] for threads : <64x64xbf16, smem>
      tile.pass %k : <64x64xbf16, smem>
      tile.yield
    }
  }
  tile.role @second {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    tile.blocks %keys inits() : () -> () first {
    } body {
    ^bb0(%t: i32):
      %k = tile.take @K[2] for threads : <64x64xbf16, smem>
      tile.pass %k : <64x64xbf16, smem>
      tile.yield
    }
  }
}
