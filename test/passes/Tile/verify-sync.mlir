// The post-condition of `sync`: barriers have memory of their own, are awaited, and match the rings they guard.
// RUN: %fovea-opt %s -split-input-file -verify-diagnostics --tile-verify-sync

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @alignment target("sm_90a") schedule #s attributes {smem_bytes = 64 : i64, tmem_slot = 32 : i64} {
  // expected-error @below {{expected an offset of a multiple of 8 bytes}}
  tile.barrier @B count(1) depth(1) {offset = 4 : i64}
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @count target("sm_90a") schedule #s attributes {smem_bytes = 64 : i64, tmem_slot = 32 : i64} {
  // expected-error @below {{expected at least one arrival a phase and one slot}}
  tile.barrier @B count(0) depth(1) {offset = 0 : i64}
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @beyond target("sm_90a") schedule #s attributes {smem_bytes = 64 : i64, tmem_slot = 32 : i64} {
  // expected-error @below {{ends at byte 72, beyond the 64 that the kernel asks for}}
  tile.barrier @B count(1) depth(2) {offset = 56 : i64}
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @tmem_word target("sm_90a") schedule #s attributes {smem_bytes = 64 : i64, tmem_slot = 32 : i64} {
  // expected-error @below {{overlaps the word that receives the address of tensor memory}}
  tile.barrier @B count(1) depth(1) {offset = 32 : i64}
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @overlap target("sm_90a") schedule #s attributes {smem_bytes = 64 : i64, tmem_slot = 32 : i64} {
  tile.barrier @A count(1) depth(2) {offset = 0 : i64}
  // expected-error @below {{overlaps 'A' in shared memory}}
  tile.barrier @B count(1) depth(1) {offset = 8 : i64}
  tile.group @a warps(0, 4) registers(0) roles [] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    tile.wait @A for threads
    tile.wait @B for threads
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @unawaited target("sm_90a") schedule #s attributes {smem_bytes = 64 : i64, tmem_slot = 32 : i64} {
  // expected-error @below {{is awaited by nobody}}
  tile.barrier @B count(1) depth(1) {offset = 0 : i64}
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @no_signal target("sm_90a") schedule #s attributes {smem_bytes = 9000 : i64, tmem_slot = 8992 : i64} {
  tile.tensor @k "input" heads 4 cols 64 : bf16
  tile.channel @K depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem> {offset = 0 : i64, slot_size = 8192 : i64}
  tile.group @a warps(0, 4) registers(0) roles ["a"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for tma : <64x64xbf16, smem>
    // expected-error @below {{signals no barrier of this kernel}}
    tile.load @k[%row, %rows, %head] into %k : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @depth target("sm_90a") schedule #s attributes {smem_bytes = 9000 : i64, tmem_slot = 8992 : i64} {
  tile.tensor @k "input" heads 4 cols 64 : bf16
  tile.channel @K depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem> {offset = 0 : i64, slot_size = 8192 : i64}
  tile.barrier @B count(1) depth(2) {offset = 8192 : i64}
  tile.group @a warps(0, 4) registers(0) roles ["a"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for tma : <64x64xbf16, smem>
    // expected-error @below {{signals 'B' of depth 2, but fills 'K' of depth 1}}
    tile.load @k[%row, %rows, %head] into %k signals @B : <64x64xbf16, smem>
    tile.wait @B for threads
    tile.pass %k : <64x64xbf16, smem>
  }
}
