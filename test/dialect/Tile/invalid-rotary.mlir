// What turns tiles by a table refuses tiles and tables that do not fit.
// RUN: %fovea-opt %s -split-input-file -verify-diagnostics

#s = {}
tile.kernel @rotate_registers target("sm_90a") schedule #s {
  tile.channel @X depth(1) stations ["a", "a"] : !tile.slot<64x64xf32, registers>
  tile.channel @T depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem>
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %x = tile.take @X[0] for threads : <64x64xf32, registers>
    %t = tile.take @T[0] for threads : <64x64xbf16, smem>
    // expected-error @below {{expected a slot of 16-bit elements in smem, found '!tile.slot<64x64xf32, registers>'}}
    tile.rotate %x by %t halves, %rows : <64x64xf32, registers>, <64x64xbf16, smem>
    tile.pass %x : <64x64xf32, registers>
    tile.pass %t : <64x64xbf16, smem>
    %x1 = tile.take @X[1] for threads : <64x64xf32, registers>
    tile.pass %x1 : <64x64xf32, registers>
    %t1 = tile.take @T[1] for threads : <64x64xbf16, smem>
    tile.pass %t1 : <64x64xbf16, smem>
  }
}

// -----

#s = {}
tile.kernel @rotate_type target("sm_90a") schedule #s {
  tile.channel @X depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem>
  tile.channel @T depth(1) stations ["a", "a"] : !tile.slot<64x64xf16, smem>
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %x = tile.take @X[0] for threads : <64x64xbf16, smem>
    %t = tile.take @T[0] for threads : <64x64xf16, smem>
    // expected-error @below {{expected a table of bf16 or f32 in smem, found '!tile.slot<64x64xf16, smem>' [tile.rotate-C1]}}
    tile.rotate %x by %t halves, %rows : <64x64xbf16, smem>, <64x64xf16, smem>
    tile.pass %x : <64x64xbf16, smem>
    tile.pass %t : <64x64xf16, smem>
    %x1 = tile.take @X[1] for threads : <64x64xbf16, smem>
    tile.pass %x1 : <64x64xbf16, smem>
    %t1 = tile.take @T[1] for threads : <64x64xf16, smem>
    tile.pass %t1 : <64x64xf16, smem>
  }
}

// -----

#s = {}
tile.kernel @rotate_shape target("sm_90a") schedule #s {
  tile.channel @X depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem>
  tile.channel @T depth(1) stations ["a", "a"] : !tile.slot<64x32xbf16, smem>
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %x = tile.take @X[0] for threads : <64x64xbf16, smem>
    %t = tile.take @T[0] for threads : <64x32xbf16, smem>
    // expected-error @below {{expected a table of 64x64, the shape of the tile, found 64x32 [tile.rotate-C1]}}
    tile.rotate %x by %t halves, %rows : <64x64xbf16, smem>, <64x32xbf16, smem>
    tile.pass %x : <64x64xbf16, smem>
    tile.pass %t : <64x32xbf16, smem>
    %x1 = tile.take @X[1] for threads : <64x64xbf16, smem>
    tile.pass %x1 : <64x64xbf16, smem>
    %t1 = tile.take @T[1] for threads : <64x32xbf16, smem>
    tile.pass %t1 : <64x32xbf16, smem>
  }
}

// -----

#s = {}
tile.kernel @rotate_columns target("sm_90a") schedule #s {
  tile.channel @X depth(1) stations ["a", "a"] : !tile.slot<64x48xbf16, smem>
  tile.channel @T depth(1) stations ["a", "a"] : !tile.slot<64x48xbf16, smem>
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %x = tile.take @X[0] for threads : <64x48xbf16, smem>
    %t = tile.take @T[0] for threads : <64x48xbf16, smem>
    // expected-error @below {{expected a multiple of 32 columns to turn, found 48 [tile.rotate-C1]}}
    tile.rotate %x by %t halves, %rows : <64x48xbf16, smem>, <64x48xbf16, smem>
    tile.pass %x : <64x48xbf16, smem>
    tile.pass %t : <64x48xbf16, smem>
    %x1 = tile.take @X[1] for threads : <64x48xbf16, smem>
    tile.pass %x1 : <64x48xbf16, smem>
    %t1 = tile.take @T[1] for threads : <64x48xbf16, smem>
    tile.pass %t1 : <64x48xbf16, smem>
  }
}

// -----

#s = {}
tile.kernel @copy_shape target("sm_90a") schedule #s {
  tile.channel @X depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem>
  tile.channel @T depth(1) stations ["a", "a"] : !tile.slot<64x32xbf16, smem>
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %x = tile.take @X[0] for threads : <64x64xbf16, smem>
    %t = tile.take @T[0] for threads : <64x32xbf16, smem>
    // expected-error @below {{expected two slots of one shape, found 64x64 and 64x32}}
    tile.copy %x into %t : <64x64xbf16, smem>, <64x32xbf16, smem>
    tile.pass %x : <64x64xbf16, smem>
    tile.pass %t : <64x32xbf16, smem>
    %x1 = tile.take @X[1] for threads : <64x64xbf16, smem>
    tile.pass %x1 : <64x64xbf16, smem>
    %t1 = tile.take @T[1] for threads : <64x32xbf16, smem>
    tile.pass %t1 : <64x32xbf16, smem>
  }
}

// -----

#s = {}
tile.kernel @copy_table target("sm_90a") schedule #s {
  tile.channel @X depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem>
  tile.channel @T depth(1) stations ["a", "a"] : !tile.slot<64x32xbf16, smem>
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %x = tile.take @X[0] for threads : <64x64xbf16, smem>
    %t = tile.take @T[0] for threads : <64x32xbf16, smem>
    // expected-error @below {{expected a table of 64x64, the shape of the tile, found 64x32 [tile.rotate-C1]}}
    tile.copy %x into %x unrotated by %t halves : <64x64xbf16, smem>, <64x64xbf16, smem>, !tile.slot<64x32xbf16, smem>
    tile.pass %x : <64x64xbf16, smem>
    tile.pass %t : <64x32xbf16, smem>
    %x1 = tile.take @X[1] for threads : <64x64xbf16, smem>
    tile.pass %x1 : <64x64xbf16, smem>
    %t1 = tile.take @T[1] for threads : <64x32xbf16, smem>
    tile.pass %t1 : <64x32xbf16, smem>
  }
}
