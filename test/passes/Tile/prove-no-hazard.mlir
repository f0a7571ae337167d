// Explicit kernels with a mistake each: the message names both accesses, the memory, the items and what is missing.
// (test/unit/passes/HazardTest.cpp removes and moves every synchronising op of whole kernels.)
// RUN: %fovea-opt %s -split-input-file -verify-diagnostics --tile-prove-no-hazard

// Nothing orders the copy and its reader.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @unordered target("sm_90a") schedule #s {
  tile.tensor @k "input" heads 4 cols 64 : bf16
  tile.channel @K depth(1) stations ["load", "use"] : !tile.slot<64x64xbf16, smem> {offset = 0 : i64, slot_size = 8192 : i64}
  tile.barrier @K_full count(1) depth(1) {offset = 8192 : i64}
  tile.group @all warps(0, 4) registers(0) roles ["load", "use"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for tma : <64x64xbf16, smem>
    tile.arrive @K_full from tma expect(128 * %rows)
    tile.load @k[%row, %rows, %head] into %k signals @K_full : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
    %k1 = tile.take @K[1] for threads : <64x64xbf16, smem>
    // expected-error @below {{hazard: TMA of group 'all' writing 'K' (tile.load, item 0, shared bytes [0, 8192)) and threads of group 'all' writing 'K' (tile.clear_tail, item 0, shared bytes [0, 8192)) are not ordered: no chain of arrivals and waits leads from one to the other}}
    tile.clear_tail %k1, %rows : <64x64xbf16, smem>
    tile.pass %k1 : <64x64xbf16, smem>
  }
}

// -----

// Ordered by the group's barrier, but the tensor core does not see what the threads wrote.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @unfenced target("sm_90a") schedule #s {
  tile.channel @K depth(1) stations ["use", "mma"] : !tile.slot<64x64xbf16, smem> {offset = 0 : i64, slot_size = 8192 : i64}
  tile.channel @S depth(1) stations ["mma", "mma"] : !tile.slot<64x64xf32, registers>
  tile.group @all warps(0, 4) registers(0) roles ["use", "mma"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for threads : <64x64xbf16, smem>
    tile.clear_tail %k, %rows : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
    tile.sync
    %k1 = tile.take @K[1] for tensor : <64x64xbf16, smem>
    %s = tile.take @S[0] for tensor : <64x64xf32, registers>
    // expected-error @below {{are ordered, but lack the writer's fence async_proxy before it hands over}}
    tile.mma %s = %k1 * %k1 transposed : <64x64xf32, registers>, <64x64xbf16, smem>, <64x64xbf16, smem>
    tile.pass %k1 : <64x64xbf16, smem>
    tile.pass %s : <64x64xf32, registers>
  }
}

// -----

// The next item's copy overwrites what the threads of this one still read: the ring has no way back.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = true, tile_rows = 64 : i64}
tile.kernel @no_way_back target("sm_90a") schedule #s {
  tile.tensor @k "input" heads 4 cols 64 : bf16
  tile.channel @K depth(2) stations ["load", "use"] : !tile.slot<64x64xbf16, smem> {offset = 0 : i64, slot_size = 8192 : i64}
  tile.barrier @K_full count(1) depth(2) {offset = 16384 : i64}
  tile.group @load warps(4, 4) registers(0) roles ["load"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for tma : <64x64xbf16, smem>
    tile.arrive @K_full from tma expect(128 * %rows)
    // expected-error @below {{hazard: TMA of group 'load' writing 'K' (tile.load, item 0, shared bytes [0, 8192)) and TMA of group 'load' writing 'K' (tile.load, item 2, shared bytes [0, 8192)) are not ordered}}
    tile.load @k[%row, %rows, %head] into %k signals @K_full : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
  }
  tile.group @use warps(0, 4) registers(0) roles ["use"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    tile.wait @K_full for threads
    %k = tile.take @K[1] for threads : <64x64xbf16, smem>
    tile.clear_tail %k, %rows : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @count target("sm_90a") schedule #s {
  // expected-error @below {{expects 8 arrivals a phase, but its programs make 4 per item: the phases do not match the items}}
  tile.barrier @B count(8) depth(1) {offset = 0 : i64}
  tile.group @all warps(0, 4) registers(0) roles [] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    tile.arrive @B from threads
    tile.wait @B for threads
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @bytes target("sm_90a") schedule #s {
  tile.tensor @k "input" heads 4 cols 64 : bf16
  tile.channel @K depth(1) stations ["load", "use"] : !tile.slot<64x64xbf16, smem> {offset = 0 : i64, slot_size = 8192 : i64}
  // expected-error @below {{expects 64 bytes per row, but its loads bring 128: the phase completes too early or never}}
  tile.barrier @K_full count(1) depth(1) {offset = 8192 : i64}
  tile.group @all warps(0, 4) registers(0) roles ["load", "use"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for tma : <64x64xbf16, smem>
    tile.arrive @K_full from tma expect(64 * %rows)
    tile.load @k[%row, %rows, %head] into %k signals @K_full : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @silent_load target("sm_90a") schedule #s {
  tile.tensor @k "input" heads 4 cols 64 : bf16
  tile.channel @K depth(1) stations ["load", "use"] : !tile.slot<64x64xbf16, smem> {offset = 0 : i64, slot_size = 8192 : i64}
  tile.group @all warps(0, 4) registers(0) roles ["load", "use"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for tma : <64x64xbf16, smem>
    // expected-error @below {{signals no barrier: nobody can know when its copy is complete}}
    tile.load @k[%row, %rows, %head] into %k : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @unknown_barrier target("sm_90a") schedule #s {
  tile.group @all warps(0, 4) registers(0) roles [] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // expected-error @below {{expected a barrier of this kernel, found 'B'}}
    tile.wait @B for threads
  }
}

// -----

// Both groups wait before they arrive.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @cycle target("sm_90a") schedule #s {
  tile.barrier @A count(4) depth(1) {offset = 0 : i64}
  tile.barrier @B count(4) depth(1) {offset = 8 : i64}
  tile.group @x warps(0, 4) registers(0) roles [] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // expected-error @below {{in group 'x' never returns: in item 0 the arrivals it waits for wait for it}}
    tile.wait @A for threads
    tile.arrive @B from threads
  }
  tile.group @y warps(4, 4) registers(0) roles [] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    tile.wait @B for threads
    tile.arrive @A from threads
  }
}

// -----

// Group y may fall two phases behind x, and then takes the third phase for the first.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = true, tile_rows = 64 : i64}
tile.kernel @parity target("sm_90a") schedule #s {
  tile.barrier @A count(1) depth(1) {offset = 0 : i64}
  tile.group @x warps(0, 4) registers(0) roles [] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    tile.arrive @A from tma
    tile.wait @A for tma
  }
  tile.group @y warps(4, 4) registers(0) roles [] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // expected-error @below {{in group 'y', item 0: may still wait when the phase after the awaited one is over, and its parity then holds it back}}
    tile.wait @A for threads
  }
}

// -----

// Nobody waits for the phase of item 0 before item 1 arrives: both arrivals may fall into one phase.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = true, tile_rows = 64 : i64}
tile.kernel @over_arrival target("sm_90a") schedule #s {
  tile.barrier @A count(4) depth(1) {offset = 0 : i64}
  tile.group @x warps(0, 4) registers(0) roles [] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // expected-error @below {{in group 'x', item 1: may arrive on 'A' before the phase of item 0 is over}}
    tile.arrive @A from threads
  }
}

// -----

// Columns of P inside those of O: a product may not write what it reads.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = false, tile_rows = 64 : i64}
tile.kernel @in_place target("sm_100a") schedule #s {
  tile.channel @P depth(1) stations ["mma", "mma"] : !tile.slot<64x64xbf16, tmem> {offset = 0 : i64, slot_size = 32 : i64}
  tile.channel @V depth(1) stations ["mma", "mma"] : !tile.slot<64x64xbf16, smem> {offset = 0 : i64, slot_size = 8192 : i64}
  tile.channel @O depth(1) stations ["mma", "mma"] : !tile.slot<64x64xf32, tmem> {offset = 0 : i64, slot_size = 64 : i64}
  tile.group @mma warps(0, 4) registers(0) roles ["mma"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %p = tile.take @P[1] for tensor : <64x64xbf16, tmem>
    %v = tile.take @V[1] for tensor : <64x64xbf16, smem>
    %o = tile.take @O[0] for tensor : <64x64xf32, tmem>
    // expected-error @below {{are one product: it may not write what it reads}}
    tile.mma %o = %p * %v : <64x64xf32, tmem>, <64x64xbf16, tmem>, <64x64xbf16, smem>
    tile.pass %o : <64x64xf32, tmem>
    tile.pass %p : <64x64xbf16, tmem>
    tile.pass %v : <64x64xbf16, smem>
  }
}

// -----

// Threads read a product's result behind its wait, but without the tcgen05 fence.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = false, tile_rows = 64 : i64}
tile.kernel @tensor_after target("sm_100a") schedule #s {
  tile.channel @V depth(1) stations ["mma", "mma"] : !tile.slot<64x64xbf16, smem> {offset = 0 : i64, slot_size = 8192 : i64}
  tile.channel @O depth(1) stations ["mma", "mma"] : !tile.slot<64x64xf32, tmem> {offset = 0 : i64, slot_size = 64 : i64}
  tile.barrier @O_full count(1) depth(1) {offset = 8192 : i64}
  tile.group @mma warps(0, 4) registers(0) roles ["mma"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %v = tile.take @V[1] for tensor : <64x64xbf16, smem>
    %o = tile.take @O[0] for tensor : <64x64xf32, tmem>
    tile.mma %o = %v * %v : <64x64xf32, tmem>, <64x64xbf16, smem>, <64x64xbf16, smem>
    tile.commit @O_full
    tile.pass %o : <64x64xf32, tmem>
    tile.pass %v : <64x64xbf16, smem>
    tile.wait @O_full for threads
    %o1 = tile.take @O[1] for threads : <64x64xf32, tmem>
    // expected-error @below {{are ordered, but lack a fence tensor_after between the wait and the later one}}
    %t = tile.read %o1 : <64x64xf32, tmem> -> tensor<64x64xf32, #tile.regs<fragment>>
    tile.pass %o1 : <64x64xf32, tmem>
  }
}

// -----

// Threads write P, and the tensor core reads it: without wait::st, then without the fence before the hand-over.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = false, tile_rows = 64 : i64}
tile.kernel @tmem_stores target("sm_100a") schedule #s {
  tile.channel @P depth(1) stations ["mma", "mma"] : !tile.slot<64x64xbf16, tmem> {offset = 0 : i64, slot_size = 32 : i64}
  tile.channel @V depth(1) stations ["mma", "mma"] : !tile.slot<64x64xbf16, smem> {offset = 0 : i64, slot_size = 8192 : i64}
  tile.channel @O depth(1) stations ["mma", "mma"] : !tile.slot<64x64xf32, tmem> {offset = 64 : i64, slot_size = 64 : i64}
  tile.group @mma warps(0, 4) registers(0) roles ["mma"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %c = arith.constant dense<1.0> : tensor<64x64xf32, #tile.regs<fragment>>
    %p = tile.take @P[0] for threads : <64x64xbf16, tmem>
    tile.write %c into %p : tensor<64x64xf32, #tile.regs<fragment>>, <64x64xbf16, tmem>
    tile.pass %p : <64x64xbf16, tmem>
    tile.sync
    %p1 = tile.take @P[1] for tensor : <64x64xbf16, tmem>
    %v = tile.take @V[1] for tensor : <64x64xbf16, smem>
    %o = tile.take @O[0] for tensor : <64x64xf32, tmem>
    // expected-error @below {{are ordered, but lack the writer's fence tmem_stores before it hands over}}
    tile.mma %o = %p1 * %v : <64x64xf32, tmem>, <64x64xbf16, tmem>, <64x64xbf16, smem>
    tile.pass %o : <64x64xf32, tmem>
    tile.pass %p1 : <64x64xbf16, tmem>
    tile.pass %v : <64x64xbf16, smem>
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = false, tile_rows = 64 : i64}
tile.kernel @tensor_before target("sm_100a") schedule #s {
  tile.channel @P depth(1) stations ["mma", "mma"] : !tile.slot<64x64xbf16, tmem> {offset = 0 : i64, slot_size = 32 : i64}
  tile.channel @V depth(1) stations ["mma", "mma"] : !tile.slot<64x64xbf16, smem> {offset = 0 : i64, slot_size = 8192 : i64}
  tile.channel @O depth(1) stations ["mma", "mma"] : !tile.slot<64x64xf32, tmem> {offset = 64 : i64, slot_size = 64 : i64}
  tile.group @mma warps(0, 4) registers(0) roles ["mma"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %c = arith.constant dense<1.0> : tensor<64x64xf32, #tile.regs<fragment>>
    %p = tile.take @P[0] for threads : <64x64xbf16, tmem>
    tile.write %c into %p : tensor<64x64xf32, #tile.regs<fragment>>, <64x64xbf16, tmem>
    tile.fence tmem_stores for threads
    tile.pass %p : <64x64xbf16, tmem>
    tile.sync
    tile.fence tensor_after for tensor
    %p1 = tile.take @P[1] for tensor : <64x64xbf16, tmem>
    %v = tile.take @V[1] for tensor : <64x64xbf16, smem>
    %o = tile.take @O[0] for tensor : <64x64xf32, tmem>
    // expected-error @below {{are ordered, but lack the first one's fence tensor_before before it hands over}}
    tile.mma %o = %p1 * %v : <64x64xf32, tmem>, <64x64xbf16, tmem>, <64x64xbf16, smem>
    tile.pass %o : <64x64xf32, tmem>
    tile.pass %p1 : <64x64xbf16, tmem>
    tile.pass %v : <64x64xbf16, smem>
  }
}

// -----

// An op that the analysis does not know cannot be proved harmless.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @unknown_op target("sm_90a") schedule #s {
  tile.channel @K depth(1) stations ["use", "use"] : !tile.slot<64x64xbf16, smem> {offset = 0 : i64, slot_size = 8192 : i64}
  tile.group @all warps(0, 4) registers(0) roles ["use"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for threads : <64x64xbf16, smem>
    // expected-error @below {{works on a slot in a way that the hazard analysis does not know}}
    %x = builtin.unrealized_conversion_cast %k : !tile.slot<64x64xbf16, smem> to i32
    tile.pass %k : <64x64xbf16, smem>
  }
}

// -----

// Teams meet each for itself: rows of one that another reads are not ordered by that.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 128 : i64}
tile.kernel @across_teams target("sm_90a") schedule #s {
  tile.channel @K depth(1) stations ["use", "again"] : !tile.slot<128x64xbf16, smem> {offset = 0 : i64, slot_size = 16384 : i64}
  tile.group @all warps(0, 8) registers(0) roles ["use", "again"] teams(2) {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for threads : <128x64xbf16, smem>
    tile.clear_tail %k, %rows : <128x64xbf16, smem>
    tile.pass %k : <128x64xbf16, smem>
    tile.sync
    %k1 = tile.take @K[1] for threads : <128x64xbf16, smem>
    // expected-error @below {{are not ordered: no chain of arrivals and waits leads from one to the other}}
    %t = tile.read %k1 : <128x64xbf16, smem> -> tensor<128x64xf32, #tile.regs<fragment>>
    tile.pass %k1 : <128x64xbf16, smem>
  }
}

// -----

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 128 : i64}
tile.kernel @load_in_teams target("sm_90a") schedule #s {
  tile.tensor @k "input" heads 4 cols 64 : bf16
  tile.channel @K depth(1) stations ["load", "use"] : !tile.slot<128x64xbf16, smem> {offset = 0 : i64, slot_size = 16384 : i64}
  tile.barrier @K_full count(1) depth(1) {offset = 16384 : i64}
  tile.group @all warps(0, 8) registers(0) roles ["load", "use"] teams(2) {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for tma : <128x64xbf16, smem>
    // expected-error @below {{in group 'all' would be issued by each of its teams}}
    tile.load @k[%row, %rows, %head] into %k signals @K_full : <128x64xbf16, smem>
    tile.pass %k : <128x64xbf16, smem>
    %k1 = tile.take @K[1] for threads : <128x64xbf16, smem>
    tile.clear_tail %k1, %rows : <128x64xbf16, smem>
    tile.pass %k1 : <128x64xbf16, smem>
  }
}

// -----

// The second group waits for the first one's product. That product has seen what the first group's threads wrote; the
// second group has not been told.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @committed_alone target("sm_100a") schedule #s {
  tile.channel @K depth(1) stations ["clear", "scores", "keys"] : !tile.slot<64x64xbf16, smem> {offset = 0 : i64, slot_size = 8192 : i64}
  tile.channel @S depth(1) stations ["scores", "scores"] : !tile.slot<64x64xf32, tmem> {offset = 0 : i64, slot_size = 64 : i64}
  tile.channel @DK depth(1) stations ["keys", "keys"] : !tile.slot<64x64xf32, tmem> {offset = 64 : i64, slot_size = 64 : i64}
  tile.barrier @K_full1 count(1) depth(1) {offset = 8192 : i64}
  tile.group @first warps(0, 1) registers(0) roles ["clear", "scores"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[0] for threads : <64x64xbf16, smem>
    tile.clear_tail %k, %rows : <64x64xbf16, smem>
    tile.fence async_proxy for threads
    tile.pass %k : <64x64xbf16, smem>
    tile.sync
    %k1 = tile.take @K[1] for tensor : <64x64xbf16, smem>
    %s = tile.take @S[0] for tensor : <64x64xf32, tmem>
    tile.mma %s = %k1 * %k1 transposed : <64x64xf32, tmem>, <64x64xbf16, smem>, <64x64xbf16, smem>
    tile.pass %s : <64x64xf32, tmem>
    tile.commit @K_full1
    tile.pass %k1 : <64x64xbf16, smem>
  }
  tile.group @second warps(1, 1) registers(0) roles ["keys"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    tile.wait @K_full1 for tensor
    %k = tile.take @K[2] for tensor : <64x64xbf16, smem>
    %d = tile.take @DK[0] for tensor : <64x64xf32, tmem>
    // expected-error @below {{are ordered, but lack an arrival of the writer's threads: a commit tells of products alone}}
    tile.mma %d = %k * %k : <64x64xf32, tmem>, <64x64xbf16, smem>, <64x64xbf16, smem>
    tile.pass %d : <64x64xf32, tmem>
    tile.pass %k : <64x64xbf16, smem>
  }
}

// -----

// A chain over a third group: the writer's tensor_before and the reader's tensor_after stand at its ends, and who passes
// the news on needs no fence (PTX ISA, specialized inter-thread synchronization for tcgen05). No error.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @fenced_at_the_ends target("sm_100a") schedule #s {
  tile.channel @S depth(1) stations ["write", "read"] : !tile.slot<64x64xf32, tmem> {offset = 0 : i64, slot_size = 64 : i64}
  tile.barrier @A count(4) depth(1) {offset = 0 : i64}
  tile.barrier @B count(1) depth(1) {offset = 8 : i64}
  tile.group @writer warps(0, 4) registers(0) roles ["write"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %s = tile.take @S[0] for threads : <64x64xf32, tmem>
    %x = arith.constant dense<0.0> : tensor<64x64xf32, #tile.regs<fragment>>
    tile.write %x into %s : tensor<64x64xf32, #tile.regs<fragment>>, <64x64xf32, tmem>
    tile.fence tmem_stores for threads
    tile.fence tensor_before for threads
    tile.arrive @A from threads
    tile.pass %s : <64x64xf32, tmem>
  }
  tile.group @between warps(4, 1) registers(0) roles [] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    tile.wait @A for threads
    tile.arrive @B from threads
  }
  tile.group @reader warps(8, 4) registers(0) roles ["read"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    tile.wait @B for threads
    tile.fence tensor_after for threads
    %s = tile.take @S[1] for threads : <64x64xf32, tmem>
    %t = tile.read %s : <64x64xf32, tmem> -> tensor<64x64xf32, #tile.regs<fragment>>
    tile.pass %s : <64x64xf32, tmem>
  }
}

// -----

// Fences of the group between cannot stand in for the writer's own: its stores are not ordered before its arrival.
#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}
tile.kernel @fenced_between target("sm_100a") schedule #s {
  tile.channel @S depth(1) stations ["write", "read"] : !tile.slot<64x64xf32, tmem> {offset = 0 : i64, slot_size = 64 : i64}
  tile.barrier @A count(4) depth(1) {offset = 0 : i64}
  tile.barrier @B count(1) depth(1) {offset = 8 : i64}
  tile.group @writer warps(0, 4) registers(0) roles ["write"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %s = tile.take @S[0] for threads : <64x64xf32, tmem>
    %x = arith.constant dense<0.0> : tensor<64x64xf32, #tile.regs<fragment>>
    tile.write %x into %s : tensor<64x64xf32, #tile.regs<fragment>>, <64x64xf32, tmem>
    tile.fence tmem_stores for threads
    tile.arrive @A from threads
    tile.pass %s : <64x64xf32, tmem>
  }
  tile.group @between warps(4, 1) registers(0) roles [] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    tile.wait @A for threads
    tile.fence tensor_after for threads
    tile.fence tensor_before for threads
    tile.arrive @B from threads
  }
  tile.group @reader warps(8, 4) registers(0) roles ["read"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    tile.wait @B for threads
    tile.fence tensor_after for threads
    %s = tile.take @S[1] for threads : <64x64xf32, tmem>
    // expected-error @below {{are ordered, but lack the first one's fence tensor_before before it hands over}}
    %t = tile.read %s : <64x64xf32, tmem> -> tensor<64x64xf32, #tile.regs<fragment>>
    tile.pass %s : <64x64xf32, tmem>
  }
}
