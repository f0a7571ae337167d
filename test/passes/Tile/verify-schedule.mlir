// The post-conditions of each phase refuse IR that breaks a promise.
// RUN: %fovea-opt %s -split-input-file -verify-diagnostics --tile-verify-schedule

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{unknown target 'sm_70', known are sm_100a, sm_90a}}
tile.kernel @target target("sm_70") schedule #s {
}

// -----

// expected-error @below {{schedule key 'tile_rows' is missing}}
tile.kernel @malformed target("sm_90a") schedule {} {
}

// -----

#g = [{first_warp = 0 : i64, name = "a", registers = 0 : i64, roles = [], warps = 4 : i64},
      {first_warp = 2 : i64, name = "b", registers = 0 : i64, roles = [], warps = 4 : i64}]
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = #g, p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{schedule gives group 'b' 4 warps from 2: groups own at least one warp each, in ascending order, and warps below 4 are taken}}
tile.kernel @warps target("sm_90a") schedule #s {
}

// -----

#g = [{first_warp = 0 : i64, name = "a", registers = 30 : i64, roles = [], warps = 4 : i64}]
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = #g, p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{schedule gives group 'a' 30 registers a thread: expected 24 to 256 in steps of 8}}
tile.kernel @setmaxnreg target("sm_90a") schedule #s {
}

// -----

#g = [{first_warp = 0 : i64, name = "a", registers = 240 : i64, roles = [], warps = 12 : i64}]
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = #g, p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{schedule gives its groups 92160 registers in each of 1 CTAs per SM: a CTA of 384 threads begins with 64512 of the 65536 of sm_90a, 168 a thread, and setmaxnreg would wait for more forever}}
tile.kernel @registers target("sm_90a") schedule #s {
}

// -----

// Less than the SM has, but more than the CTA begins with.
#g = [{first_warp = 0 : i64, name = "a", registers = 240 : i64, roles = [], warps = 8 : i64},
      {first_warp = 8 : i64, name = "b", registers = 32 : i64, roles = [], warps = 4 : i64}]
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = #g, p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{schedule gives its groups 65536 registers in each of 1 CTAs per SM: a CTA of 384 threads begins with 64512 of the 65536 of sm_90a}}
tile.kernel @pool target("sm_90a") schedule #s {
}

// -----

#g = [{first_warp = 30 : i64, name = "a", registers = 0 : i64, roles = [], warps = 4 : i64}]
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = #g, p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{schedule uses 34 warps: a CTA has at most 32}}
tile.kernel @many_warps target("sm_90a") schedule #s {
}

// -----

#g = [{first_warp = 0 : i64, name = "a", registers = 0 : i64, roles = ["x"], warps = 4 : i64},
      {first_warp = 4 : i64, name = "b", registers = 0 : i64, roles = ["x"], warps = 4 : i64}]
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = #g, p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{schedule maps role 'x' to two groups}}
tile.kernel @twice target("sm_90a") schedule #s {
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{schedule maps role 'x' to no group}}
tile.kernel @nowhere target("sm_90a") schedule #s {
  tile.role @x {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    tile.sync
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {K = 2 : i64}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{schedule gives a depth to 'K', which is no channel of the kernel}}
tile.kernel @depth target("sm_90a") schedule #s {
}

// -----

#s = {aliases = {P = "S"}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{schedule lays 'P' over 'S', and one of them is no channel of the kernel}}
tile.kernel @alias target("sm_90a") schedule #s {
}
