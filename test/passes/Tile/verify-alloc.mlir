// The post-condition of `alloc`: slots lie inside what is asked for, and share memory only when they cannot meet.
// RUN: %fovea-opt %s -split-input-file -verify-diagnostics --tile-verify-alloc

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{expected smem_bytes and tmem_columns after allocation}}
tile.kernel @unallocated target("sm_90a") schedule #s {
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{asks for 300000 bytes of shared memory, sm_90a gives a CTA 232448}}
tile.kernel @bytes target("sm_90a") schedule #s attributes {smem_bytes = 300000 : i64, tmem_columns = 0 : i64} {
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 3 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{asks for 256 columns of tensor memory in each of 3 CTAs: sm_100a gives powers of two from 32, 512 per SM in all}}
tile.kernel @columns target("sm_100a") schedule #s attributes {smem_bytes = 0 : i64, tmem_columns = 256 : i64} {
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @nowhere target("sm_90a") schedule #s attributes {smem_bytes = 8192 : i64, tmem_columns = 0 : i64} {
  tile.group @a warps(0, 4) registers(0) roles ["a"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
  }
  // expected-error @below {{has no place in memory}}
  tile.channel @K depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem>
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @small_slot target("sm_90a") schedule #s attributes {smem_bytes = 16384 : i64, tmem_columns = 0 : i64} {
  tile.group @a warps(0, 4) registers(0) roles ["a"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
  }
  // expected-error @below {{has slots of 4096 bytes for tiles of 8192}}
  tile.channel @K depth(2) stations ["a", "a"] : !tile.slot<64x64xbf16, smem> {offset = 0 : i64, slot_size = 4096 : i64}
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @beyond target("sm_90a") schedule #s attributes {smem_bytes = 8192 : i64, tmem_columns = 0 : i64} {
  tile.group @a warps(0, 4) registers(0) roles ["a"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
  }
  // expected-error @below {{ends at 9216 bytes, beyond the 8192 that the kernel asks for}}
  tile.channel @K depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem> {offset = 1024 : i64, slot_size = 8192 : i64}
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @overlap target("sm_90a") schedule #s attributes {smem_bytes = 16384 : i64, tmem_columns = 0 : i64} {
  tile.channel @K depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem> {offset = 0 : i64, slot_size = 8192 : i64}
  // expected-error @below {{overlaps 'K' in memory, but neither aliases the other}}
  tile.channel @V depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem> {offset = 4096 : i64, slot_size = 8192 : i64}
  tile.group @a warps(0, 4) registers(0) roles ["a"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for tma : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
    %k1 = tile.take @K[1] for threads : <64x64xbf16, smem>
    tile.pass %k1 : <64x64xbf16, smem>
    %v = tile.take @V[0] for tma : <64x64xbf16, smem>
    tile.pass %v : <64x64xbf16, smem>
    %v1 = tile.take @V[1] for threads : <64x64xbf16, smem>
    tile.pass %v1 : <64x64xbf16, smem>
  }
}

// -----

// V's slot is still alive when the one over it is taken.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @alive target("sm_90a") schedule #s attributes {smem_bytes = 8192 : i64, tmem_columns = 0 : i64} {
  tile.channel @V depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem> {offset = 0 : i64, slot_size = 8192 : i64}
  // expected-error @below {{shares memory with 'V', but nothing keeps a slot of one from being taken while one of the other is alive}}
  tile.channel @Out depth(1) stations ["a", "a"] alias(@V) : !tile.slot<64x64xbf16, smem> {offset = 0 : i64, slot_size = 8192 : i64}
  tile.group @a warps(0, 4) registers(0) roles ["a"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %v = tile.take @V[0] for tma : <64x64xbf16, smem>
    tile.pass %v : <64x64xbf16, smem>
    %v1 = tile.take @V[1] for threads : <64x64xbf16, smem>
    %out = tile.take @Out[0] for threads : <64x64xbf16, smem>
    tile.copy %v1 into %out : <64x64xbf16, smem>, <64x64xbf16, smem>
    tile.pass %v1 : <64x64xbf16, smem>
    tile.pass %out : <64x64xbf16, smem>
    %out1 = tile.take @Out[1] for tma : <64x64xbf16, smem>
    tile.pass %out1 : <64x64xbf16, smem>
  }
}
