// Copies of some columns of a slot.
// RUN: %fovea-opt %s -split-input-file -verify-diagnostics

#s = {}
tile.kernel @beyond target("sm_90a") schedule #s {
  tile.channel @X depth(1) stations ["a", "a"] : !tile.slot<64x128xf32, registers>
  tile.channel @T depth(1) stations ["a", "a"] : !tile.slot<64x64xbf16, smem>
  tile.role @a {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %x = tile.take @X[0] for threads : <64x128xf32, registers>
    %t = tile.take @T[0] for threads : <64x64xbf16, smem>
    tile.copy %x into %t : <64x128xf32, registers>, <64x64xbf16, smem> {column = 64 : i64}
    // expected-error @below {{expected a slot of 64 rows for columns of 128 from 96, and no table; found 64x64}}
    tile.copy %x into %t : <64x128xf32, registers>, <64x64xbf16, smem> {column = 96 : i64}
    tile.pass %x : <64x128xf32, registers>
    tile.pass %t : <64x64xbf16, smem>
    %x1 = tile.take @X[1] for threads : <64x128xf32, registers>
    tile.pass %x1 : <64x128xf32, registers>
    %t1 = tile.take @T[1] for threads : <64x64xbf16, smem>
    tile.pass %t1 : <64x64xbf16, smem>
  }
}
