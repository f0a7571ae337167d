// What has no rule, or no room for its barriers, is refused.
// RUN: %fovea-opt %s -split-input-file -verify-diagnostics --tile-allocate --tile-synchronise

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = true, tile_rows = 64 : i64}
tile.kernel @registers target("sm_90a") schedule #s {
  // expected-error @below {{no rule for a hop from tensor to threads in registers}}
  tile.channel @S depth(1) stations ["a", "b"] : !tile.slot<64x64xf32, registers>
  tile.group @x warps(0, 4) registers(0) roles ["a"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %s = tile.take @S[0] for tensor : <64x64xf32, registers>
    tile.pass %s : <64x64xf32, registers>
  }
  tile.group @y warps(4, 4) registers(0) roles ["b"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %s = tile.take @S[1] for threads : <64x64xf32, registers>
    tile.pass %s : <64x64xf32, registers>
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = true, tile_rows = 64 : i64}
tile.kernel @untaken target("sm_90a") schedule #s {
  // expected-error @below {{no role takes station 1}}
  tile.channel @K depth(1) stations ["a", "b"] : !tile.slot<64x64xbf16, smem>
  tile.group @x warps(0, 4) registers(0) roles ["a", "b"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for threads : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = true, tile_rows = 64 : i64}
// expected-error @below {{bytes of shared memory, sm_90a gives a CTA 232448: ask for fewer stages or smaller tiles}}
tile.kernel @shared target("sm_90a") schedule #s {
  tile.channel @K depth(40) stations ["a", "b"] : !tile.slot<64x64xbf16, smem>
  tile.group @x warps(0, 4) registers(0) roles ["a", "b"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for threads : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
    %k1 = tile.take @K[1] for threads : <64x64xbf16, smem>
    tile.pass %k1 : <64x64xbf16, smem>
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 4 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = true, tile_rows = 64 : i64}
// expected-error @below {{schedule asks for 4 CTAs per SM of}}
tile.kernel @ctas target("sm_90a") schedule #s {
  tile.channel @K depth(8) stations ["a", "b"] : !tile.slot<64x64xbf16, smem>
  tile.group @x warps(0, 4) registers(0) roles ["a", "b"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for threads : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
    %k1 = tile.take @K[1] for threads : <64x64xbf16, smem>
    tile.pass %k1 : <64x64xbf16, smem>
  }
}
