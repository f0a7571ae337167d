// Slots get bytes of shared memory from 1024-byte boundaries and columns of tensor memory; an alias gets its host's.
// RUN: %fovea-opt %s --tile-allocate --tile-verify-alloc | FileCheck %s

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 2 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = false, tile_rows = 64 : i64}

// CHECK-LABEL: tile.kernel @maps
// CHECK-SAME: smem_bytes = 20480 : i64, tmem_columns = 256 : i64
// CHECK: tile.channel @K depth(2) {{.*}} {offset = 0 : i64, slot_size = 8192 : i64}
// CHECK: tile.channel @N depth(1) {{.*}} {offset = 16384 : i64, slot_size = 4096 : i64}
// CHECK: tile.channel @S depth(2) {{.*}} {offset = 0 : i64, slot_size = 64 : i64}
// CHECK: tile.channel @P depth(2) {{.*}} {offset = 0 : i64, slot_size = 64 : i64}
// CHECK: tile.channel @O depth(1) {{.*}} {offset = 128 : i64, slot_size = 32 : i64}
// CHECK: tile.channel @R depth(1) stations ["a", "a"] : !tile.slot<64x64xf32, registers>{{$}}
tile.kernel @maps target("sm_100a") schedule #s {
  tile.channel @K depth(2) stations ["a", "a"] : !tile.slot<64x64xbf16, smem>
  tile.channel @N depth(1) stations ["a", "a"] : !tile.slot<64x32xbf16, smem>
  tile.channel @S depth(2) stations ["a", "a"] : !tile.slot<64x64xf32, tmem>
  tile.channel @P depth(2) stations ["a", "a"] alias(@S) : !tile.slot<64x64xbf16, tmem>
  tile.channel @O depth(1) stations ["a", "a"] : !tile.slot<64x32xf32, tmem>
  tile.channel @R depth(1) stations ["a", "a"] : !tile.slot<64x64xf32, registers>
  tile.group @a warps(0, 4) registers(0) roles ["a"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for tma : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
    %k1 = tile.take @K[1] for threads : <64x64xbf16, smem>
    tile.pass %k1 : <64x64xbf16, smem>
    %n = tile.take @N[0] for tma : <64x32xbf16, smem>
    tile.pass %n : <64x32xbf16, smem>
    %n1 = tile.take @N[1] for threads : <64x32xbf16, smem>
    tile.pass %n1 : <64x32xbf16, smem>
    %s = tile.take @S[0] for tensor : <64x64xf32, tmem>
    tile.pass %s : <64x64xf32, tmem>
    %s1 = tile.take @S[1] for threads : <64x64xf32, tmem>
    tile.pass %s1 : <64x64xf32, tmem>
    %p = tile.take @P[0] for threads : <64x64xbf16, tmem>
    tile.pass %p : <64x64xbf16, tmem>
    %p1 = tile.take @P[1] for tensor : <64x64xbf16, tmem>
    tile.pass %p1 : <64x64xbf16, tmem>
    %o = tile.take @O[0] for tensor : <64x32xf32, tmem>
    tile.pass %o : <64x32xf32, tmem>
    %o1 = tile.take @O[1] for threads : <64x32xf32, tmem>
    tile.pass %o1 : <64x32xf32, tmem>
    %r = tile.take @R[0] for tensor : <64x64xf32, registers>
    tile.pass %r : <64x64xf32, registers>
    %r1 = tile.take @R[1] for threads : <64x64xf32, registers>
    tile.pass %r1 : <64x64xf32, registers>
  }
}
