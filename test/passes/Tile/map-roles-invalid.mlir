// A schedule that does not fit the kernel's roles is refused.
// RUN: %fovea-opt %s -split-input-file -verify-diagnostics --tile-map-roles

#g = [{first_warp = 0 : i64, name = "all", registers = 0 : i64, roles = [], warps = 4 : i64}]
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = #g, p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{role 'use' is mapped to no group}}
tile.kernel @unmapped target("sm_90a") schedule #s {
  tile.role @use {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    tile.sync
  }
}

// -----

#g = [{first_warp = 0 : i64, name = "all", registers = 0 : i64, roles = ["pv"], warps = 4 : i64}]
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = #g, p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{group 'all' asks for role 'pv', which this kernel does not have or another group runs}}
tile.kernel @unknown target("sm_90a") schedule #s {
  tile.role @use {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    tile.sync
  }
}

// -----

#g = [{first_warp = 0 : i64, name = "a", registers = 0 : i64, roles = [], warps = 4 : i64},
      {first_warp = 3 : i64, name = "b", registers = 0 : i64, roles = [], warps = 4 : i64}]
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = #g, p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{group 'b' starts at warp 3, but warps below 4 belong to another group}}
tile.kernel @overlap target("sm_90a") schedule #s {
}

// -----

// expected-error @below {{schedule key 'tile_rows' is missing}}
tile.kernel @missing target("sm_90a") schedule {} {
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64, speed = 9 : i64}
// expected-error @below {{schedule key 'speed' is unknown}}
tile.kernel @unknown_key target("sm_90a") schedule #s {
}

// -----

#s = {aliases = {}, block = "wide", ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{schedule key 'block' has the wrong kind of value}}
tile.kernel @wrong_kind target("sm_90a") schedule #s {
}

// -----

#g = [{first_warp = 0 : i64, name = "all", registers = 0 : i64, roles = ["use"], warps = 4 : i64}]
#s = {aliases = {}, block = 0 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = #g, key_rows = 64 : i64, lags = {use = 2 : i64}, max_free = false, out_in_q = false, p_in_tmem = false, persistent = true, tile_rows = 64 : i64}
tile.kernel @lag_of_two target("sm_90a") schedule #s attributes {key_blocks} {
  // expected-error @below {{role 'use' can lag by 0 or 1 key blocks, and by 0 if its first block differs}}
  tile.role @use {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    tile.blocks %keys inits() : () -> () first {
    } body {
    ^bb0(%t: i32):
      tile.yield
    }
  }
}

// -----

#g = [{first_warp = 0 : i64, name = "all", registers = 0 : i64, roles = ["use"], warps = 4 : i64}]
#s = {aliases = {}, block = 0 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = #g, key_rows = 64 : i64, lags = {use = 1 : i64}, max_free = false, out_in_q = false, p_in_tmem = false, persistent = true, tile_rows = 64 : i64}
tile.kernel @lag_with_first target("sm_90a") schedule #s attributes {key_blocks} {
  // expected-error @below {{role 'use' can lag by 0 or 1 key blocks, and by 0 if its first block differs}}
  tile.role @use {
  ^bb0(%row: i32, %rows: i32, %head: i32, %batch: i32, %query: i32, %queries: i32, %key: i32, %keys: i32):
    tile.blocks %keys inits() : () -> () first {
    ^bb0(%t: i32):
      tile.yield
    } body {
    ^bb0(%t: i32):
      tile.yield
    }
  }
}
