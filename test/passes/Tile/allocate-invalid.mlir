// What does not fit, or cannot share memory, is refused with the numbers.
// RUN: %fovea-opt %s -split-input-file -verify-diagnostics --tile-allocate

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{unknown target 'sm_80'}}
tile.kernel @target target("sm_80") schedule #s {
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = false, tile_rows = 64 : i64}
tile.kernel @layout target("sm_100a") schedule #s {
  tile.group @a warps(0, 4) registers(0) roles ["a"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
  }
  // expected-error @below {{cannot lie in shared memory: }}
  tile.channel @K depth(1) stations ["a", "a"] : !tile.slot<60x7xbf16, smem>
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = false, tile_rows = 64 : i64}
tile.kernel @host target("sm_100a") schedule #s {
  tile.group @a warps(0, 4) registers(0) roles ["a"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
  }
  tile.channel @R depth(1) stations ["a", "a"] : !tile.slot<64x64xf32, registers>
  // expected-error @below {{aliases 'R', which has no memory of its own}}
  tile.channel @P depth(1) stations ["a", "a"] alias(@R) : !tile.slot<64x64xbf16, tmem>
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = false, tile_rows = 64 : i64}
tile.kernel @depths target("sm_100a") schedule #s {
  tile.group @a warps(0, 4) registers(0) roles ["a"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
  }
  tile.channel @S depth(2) stations ["a", "a"] : !tile.slot<64x64xf32, tmem>
  // expected-error @below {{aliases 'S', whose space or depth differs}}
  tile.channel @P depth(1) stations ["a", "a"] alias(@S) : !tile.slot<64x64xbf16, tmem>
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = false, tile_rows = 64 : i64}
tile.kernel @size target("sm_100a") schedule #s {
  tile.group @a warps(0, 4) registers(0) roles ["a"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
  }
  tile.channel @S depth(1) stations ["a", "a"] : !tile.slot<64x64xf32, tmem>
  // expected-error @below {{needs 128 but aliases 'S', whose slot has 64}}
  tile.channel @O depth(1) stations ["a", "a"] alias(@S) : !tile.slot<64x128xf32, tmem>
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{needs 768 columns of tensor memory, sm_100a has 512}}
tile.kernel @columns target("sm_100a") schedule #s {
  tile.group @a warps(0, 4) registers(0) roles ["a"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
  }
  tile.channel @S depth(3) stations ["a", "a"] : !tile.slot<64x256xf32, tmem>
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 3 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{schedule asks for 3 CTAs per SM of 256 columns of tensor memory each, sm_100a has 512: ask for fewer CTAs, or for P in shared memory}}
tile.kernel @ctas target("sm_100a") schedule #s {
  tile.group @a warps(0, 4) registers(0) roles ["a"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
  }
  tile.channel @S depth(1) stations ["a", "a"] : !tile.slot<64x256xf32, tmem>
}
