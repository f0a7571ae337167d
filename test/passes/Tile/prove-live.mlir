// A network that can deadlock is refused with the cycle of waits; one that is out of balance, with the counts.
// RUN: %fovea-opt %s -split-input-file -verify-diagnostics --tile-prove-live

// Two groups that hand a tile to and fro are live.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = true, tile_rows = 64 : i64}
tile.kernel @live target("sm_100a") schedule #s {
  tile.channel @S depth(1) stations ["qk", "softmax"] : !tile.slot<64x64xf32, tmem>
  tile.channel @P depth(1) stations ["softmax", "pv"] : !tile.slot<64x64xbf16, tmem>
  tile.group @mma warps(0, 1) registers(0) roles ["qk", "pv"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %s = tile.take @S[0] for tensor : <64x64xf32, tmem> {tile.role = "qk"}
    tile.pass %s : <64x64xf32, tmem> {tile.role = "qk"}
    %p = tile.take @P[1] for tensor : <64x64xbf16, tmem> {tile.role = "pv"}
    tile.pass %p : <64x64xbf16, tmem> {tile.role = "pv"}
  }
  tile.group @softmax warps(4, 4) registers(0) roles ["softmax"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %s = tile.take @S[1] for threads : <64x64xf32, tmem> {tile.role = "softmax"}
    tile.pass %s : <64x64xf32, tmem> {tile.role = "softmax"}
    %p = tile.take @P[0] for threads : <64x64xbf16, tmem> {tile.role = "softmax"}
    tile.pass %p : <64x64xbf16, tmem> {tile.role = "softmax"}
  }
}

// -----

// The same with pv before qk: each waits for the other.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = true, tile_rows = 64 : i64}
// expected-error @below {{deadlocks: group 'mma' (role 'pv') waits to take 'P' until group 'softmax' (role 'softmax') passes it on, which first waits to take 'S' until group 'mma' (role 'qk') passes it on, which it does only after that take of 'P'}}
tile.kernel @deadlock target("sm_100a") schedule #s {
  tile.channel @S depth(1) stations ["qk", "softmax"] : !tile.slot<64x64xf32, tmem>
  tile.channel @P depth(1) stations ["softmax", "pv"] : !tile.slot<64x64xbf16, tmem>
  tile.group @mma warps(0, 1) registers(0) roles ["pv", "qk"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %p = tile.take @P[1] for tensor : <64x64xbf16, tmem> {tile.role = "pv"}
    tile.pass %p : <64x64xbf16, tmem> {tile.role = "pv"}
    %s = tile.take @S[0] for tensor : <64x64xf32, tmem> {tile.role = "qk"}
    tile.pass %s : <64x64xf32, tmem> {tile.role = "qk"}
  }
  tile.group @softmax warps(4, 4) registers(0) roles ["softmax"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %s = tile.take @S[1] for threads : <64x64xf32, tmem> {tile.role = "softmax"}
    tile.pass %s : <64x64xf32, tmem> {tile.role = "softmax"}
    %p = tile.take @P[0] for threads : <64x64xbf16, tmem> {tile.role = "softmax"}
    tile.pass %p : <64x64xbf16, tmem> {tile.role = "softmax"}
  }
}

// -----

// Roles of one group in an order that the item's own dependences forbid.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = false, tile_rows = 64 : i64}
// expected-error @below {{deadlocks: group 'all' (role 'use') waits to take 'K' until group 'all' (role 'load') passes it on, which it does only after that take of 'K'}}
tile.kernel @order target("sm_90a") schedule #s {
  tile.channel @K depth(1) stations ["load", "use"] : !tile.slot<64x64xbf16, smem>
  tile.group @all warps(0, 4) registers(0) roles ["use", "load"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %u = tile.take @K[1] for threads : <64x64xbf16, smem> {tile.role = "use"}
    tile.pass %u : <64x64xbf16, smem> {tile.role = "use"}
    %k = tile.take @K[0] for tma : <64x64xbf16, smem> {tile.role = "load"}
    tile.pass %k : <64x64xbf16, smem> {tile.role = "load"}
  }
}

// -----

// Two tiles of an item in a ring of one: the second take waits for a slot that its own group still holds.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = true, tile_rows = 64 : i64}
// expected-error @below {{deadlocks: group 'load' (role 'load') waits to take 'K', of depth 1, empty until group 'use' (role 'use') passes it back}}
tile.kernel @shallow target("sm_90a") schedule #s {
  tile.channel @K depth(1) stations ["load", "use"] : !tile.slot<64x64xbf16, smem>
  tile.group @load warps(4, 4) registers(0) roles ["load"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %a = tile.take @K[0] for tma : <64x64xbf16, smem> {tile.role = "load"}
    %b = tile.take @K[0] for tma : <64x64xbf16, smem> {tile.role = "load"}
    tile.pass %a : <64x64xbf16, smem> {tile.role = "load"}
    tile.pass %b : <64x64xbf16, smem> {tile.role = "load"}
  }
  tile.group @use warps(0, 4) registers(0) roles ["use"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %a = tile.take @K[1] for threads : <64x64xbf16, smem> {tile.role = "use"}
    tile.pass %a : <64x64xbf16, smem> {tile.role = "use"}
    %b = tile.take @K[1] for threads : <64x64xbf16, smem> {tile.role = "use"}
    tile.pass %b : <64x64xbf16, smem> {tile.role = "use"}
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = true, tile_rows = 64 : i64}
tile.kernel @balance target("sm_90a") schedule #s {
  // expected-error @below {{is out of balance: per item 'use' takes 0 and passes 0 slots, 'load' takes 1: every station must take and pass equally often, at least once}}
  tile.channel @K depth(1) stations ["load", "use"] : !tile.slot<64x64xbf16, smem>
  tile.group @load warps(4, 4) registers(0) roles ["load", "use"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %a = tile.take @K[0] for tma : <64x64xbf16, smem> {tile.role = "load"}
    tile.pass %a : <64x64xbf16, smem> {tile.role = "load"}
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = true, tile_rows = 64 : i64}
tile.kernel @shared_station target("sm_90a") schedule #s {
  // expected-error @below {{station 'use' is shared by the groups 'a' and 'b': a wait could pass one phase early, so give each group its own channel}}
  tile.channel @K depth(2) stations ["load", "use"] : !tile.slot<64x64xbf16, smem>
  tile.group @a warps(0, 4) registers(0) roles ["use"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %a = tile.take @K[1] for threads : <64x64xbf16, smem> {tile.role = "use"}
    tile.pass %a : <64x64xbf16, smem> {tile.role = "use"}
  }
  tile.group @b warps(4, 4) registers(0) roles ["use"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %a = tile.take @K[1] for threads : <64x64xbf16, smem> {tile.role = "use"}
    tile.pass %a : <64x64xbf16, smem> {tile.role = "use"}
  }
  tile.group @load warps(8, 4) registers(0) roles ["load"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %a = tile.take @K[0] for tma : <64x64xbf16, smem> {tile.role = "load"}
    tile.pass %a : <64x64xbf16, smem> {tile.role = "load"}
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = true, tile_rows = 64 : i64}
tile.kernel @foreign_station target("sm_90a") schedule #s {
  tile.channel @K depth(2) stations ["load", "use"] : !tile.slot<64x64xbf16, smem>
  tile.group @a warps(0, 4) registers(0) roles ["load", "use"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // expected-error @below {{role 'load' takes station 1 of 'K', which belongs to 'use'}}
    %a = tile.take @K[1] for threads : <64x64xbf16, smem> {tile.role = "load"}
    tile.pass %a : <64x64xbf16, smem> {tile.role = "load"}
  }
}
