// The post-condition of `tile`: everything is mapped, and registers stay inside one group.
// RUN: %fovea-opt %s -split-input-file -verify-diagnostics --tile-verify-tile

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @role_left target("sm_90a") schedule #s {
  // expected-error @below {{role 'a' is left unmapped}}
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    tile.sync
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @ring target("sm_90a") schedule #s {
  // expected-error @below {{lies in registers and has depth 2: a ring of registers would be chosen at run time [tile.channel-C3]}}
  tile.channel @S depth(2) stations ["a", "a"] : !tile.slot<64x64xf32, registers>
  tile.group @x warps(0, 4) registers(0) roles ["a"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %s = tile.take @S[0] for tensor : <64x64xf32, registers>
    tile.pass %s : <64x64xf32, registers>
    %s1 = tile.take @S[1] for threads : <64x64xf32, registers>
    tile.pass %s1 : <64x64xf32, registers>
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @two_groups target("sm_90a") schedule #s {
  // expected-error @below {{lies in registers, but 'a' and 'b' run on different groups [tile.channel-C3]}}
  tile.channel @S depth(1) stations ["a", "b"] : !tile.slot<64x64xf32, registers>
  tile.group @x warps(0, 4) registers(0) roles ["a"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %s = tile.take @S[0] for tensor : <64x64xf32, registers>
    tile.pass %s : <64x64xf32, registers>
  }
  tile.group @y warps(4, 4) registers(0) roles ["b"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %s1 = tile.take @S[1] for threads : <64x64xf32, registers>
    tile.pass %s1 : <64x64xf32, registers>
  }
}
