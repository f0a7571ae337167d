// Every op of `tile` prints what it parses.
// RUN: %fovea-opt %s | %fovea-opt | FileCheck %s

#fused = {aliases = {}, block = 16 : i64, ctas_per_sm = 2 : i64, depths = {K = 2 : i64}, groups = [], p_in_tmem = false, persistent = true, tile_rows = 64 : i64}

// CHECK-LABEL: tile.kernel @roles target("sm_100a") schedule {
tile.kernel @roles target("sm_100a") schedule #fused {
  // CHECK: tile.tensor @k "input" heads 4 cols 64 : bf16
  tile.tensor @k "input" heads 4 cols 64 : bf16
  tile.tensor @o "output" heads 4 cols 64 : bf16
  tile.tensor @lse "output" heads 4 cols 1 : f32
  // CHECK: tile.table @slope dims 1 : f32
  tile.table @slope dims 1 : f32
  tile.table @rel dims 2 : i32
  // CHECK: tile.tensor @grouped "input" heads 4 cols 64 batched tile_heads(2) : bf16
  tile.tensor @grouped "input" heads 4 cols 64 batched tile_heads(2) : bf16
  // CHECK: tile.tensor @dk "output" heads 4 cols 64 : bf16 of "dz" column 256 packed(64)
  tile.tensor @dk "output" heads 4 cols 64 : bf16 of "dz" column 256 packed(64)
  // CHECK: tile.tensor @rotary "shared" heads 1 cols 64 : f32 of "angles" column 0
  tile.tensor @rotary "shared" heads 1 cols 64 : f32 of "angles" column 0
  // CHECK: tile.channel @K depth(2) stations ["load", "use"] : !tile.slot<64x64xbf16, smem>
  tile.channel @K depth(2) stations ["load", "use"] : !tile.slot<64x64xbf16, smem>
  // CHECK: tile.channel @S depth(1) stations ["use", "use"] : !tile.slot<64x16xf32, tmem>
  tile.channel @S depth(1) stations ["use", "use"] : !tile.slot<64x16xf32, tmem>
  // CHECK: tile.channel @Out depth(2) stations ["use", "use"] alias(@K) : !tile.slot<64x16xbf16, smem> {offset = 1024 : i64, slot_size = 8192 : i64}
  tile.channel @Out depth(2) stations ["use", "use"] alias(@K) : !tile.slot<64x16xbf16, smem> {offset = 1024 : i64, slot_size = 8192 : i64}
  tile.channel @Rotary depth(2) stations ["load", "use"] : !tile.slot<64x64xf32, smem>
  // CHECK: tile.role @load {
  tile.role @load {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // CHECK: %[[K:.*]] = tile.take @K[0] for tma : <64x64xbf16, smem>
    %k = tile.take @K[0] for tma : <64x64xbf16, smem>
    // CHECK: tile.load @k[%{{.*}}, %{{.*}}, %{{.*}}] into %[[K]] : <64x64xbf16, smem>
    tile.load @k[%row, %rows, %head] into %k : <64x64xbf16, smem>
    // CHECK: tile.pass %[[K]] : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
    // CHECK: %[[P:.*]] = tile.position
    %position = tile.position
    %a = tile.take @Rotary[0] for tma : <64x64xf32, smem>
    // CHECK: tile.load @rotary[%[[P]], %{{.*}}, %{{.*}}] into
    tile.load @rotary[%position, %rows, %head] into %a : <64x64xf32, smem>
    tile.pass %a : <64x64xf32, smem>
  }
  tile.role @use {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %k = tile.take @K[1] for threads : <64x64xbf16, smem>
    // CHECK: tile.rotate %{{.*}} by %{{.*}} interleaved, %{{.*}} : <64x64xbf16, smem>, <64x64xf32, smem>
    %a = tile.take @Rotary[1] for threads : <64x64xf32, smem>
    tile.rotate %k by %a interleaved, %rows : <64x64xbf16, smem>, <64x64xf32, smem>
    // CHECK: tile.copy %{{.*}} into %{{.*}} unrotated by %{{.*}} halves : <64x64xbf16, smem>, <64x64xbf16, smem>, !tile.slot<64x64xf32, smem>
    tile.copy %k into %k unrotated by %a halves : <64x64xbf16, smem>, <64x64xbf16, smem>, !tile.slot<64x64xf32, smem>
    tile.pass %a : <64x64xf32, smem>
    // CHECK: tile.clear_tail %{{.*}}, %{{.*}} : <64x64xbf16, smem>
    tile.clear_tail %k, %rows : <64x64xbf16, smem>
    %s = tile.take @S[0] for tensor : <64x16xf32, tmem>
    // CHECK: tile.mma %{{.*}} = %{{.*}} * %{{.*}} transposed diagonal(16) : <64x16xf32, tmem>, <64x64xbf16, smem>, <64x64xbf16, smem>
    tile.mma %s = %k * %k transposed diagonal(16) : <64x16xf32, tmem>, <64x64xbf16, smem>, <64x64xbf16, smem>
    tile.pass %s : <64x16xf32, tmem>
    // CHECK: tile.map_elements %[[K1:[0-9]+]], %[[K1]] into %[[K1]] : !tile.slot<64x64xbf16, smem>, !tile.slot<64x64xbf16, smem> into !tile.slot<64x64xbf16, smem> {
    // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: i32, %{{.*}}: i32):
    // CHECK: tile.lookup @slope[%{{.*}}] : f32
    // CHECK: tile.yield %{{.*}} : f32
    tile.map_elements %k, %k into %k : !tile.slot<64x64xbf16, smem>, !tile.slot<64x64xbf16, smem> into !tile.slot<64x64xbf16, smem> {
    ^bb0(%x: f32, %y: f32, %r: i32, %d: i32):
      %w = tile.lookup @slope[%head] : f32
      %z = arith.mulf %x, %w : f32
      tile.yield %z : f32
    }
    %s1 = tile.take @S[1] for threads : <64x16xf32, tmem>
    // CHECK: %[[T:.*]] = tile.read %{{.*}} : <64x16xf32, tmem> -> tensor<64x16xf32, #tile.regs<fragment>>
    %t = tile.read %s1 : <64x16xf32, tmem> -> tensor<64x16xf32, #tile.regs<fragment>>
    // CHECK: %[[M:.*]] = tile.mask_tail %[[T]], %{{.*}} block(16) : tensor<64x16xf32, #tile.regs<fragment>>
    %m = tile.mask_tail %t, %rows block(16) : tensor<64x16xf32, #tile.regs<fragment>>
    // CHECK: tile.mask_keys %[[T]] keys(%[[ROW:.*]]) queries(%[[ROWS:.*]]) lower[%[[ROW]] + i] upper[%[[ROWS]], %[[ROW]] | %[[ROW]] + block(64)] : tensor<64x16xf32, #tile.regs<fragment>>
    %mk = tile.mask_keys %t keys(%row) queries(%rows) lower[%row + i] upper[%rows, %row | %row + block(64)] : tensor<64x16xf32, #tile.regs<fragment>>
    // CHECK: tile.mask_keys %{{.*}} keys(%{{.*}}) queries(%{{.*}}) lower[] upper[] : tensor<64x16xf32, #tile.regs<fragment>>
    %all = tile.mask_keys %t keys(%row) queries(%rows) lower[] upper[] : tensor<64x16xf32, #tile.regs<fragment>>
    // CHECK: tile.map_pairs %[[T]] queries(%[[ROW]]) keys(%[[ROWS]]) heads(%{{.*}}) : tensor
    %mh = tile.map_pairs %t queries(%row) keys(%rows) heads(%head) : tensor<64x16xf32, #tile.regs<fragment>> -> tensor<64x16xf32, #tile.regs<fragment>> {
    ^bb0(%x: f32, %i: i32, %j: i32, %h: i32):
      tile.result %x : f32
    }
    // CHECK: tile.map_pairs %[[T]] queries(%[[ROW]]) keys(%[[ROWS]]) when(%{{.*}}) : tensor
    %some = arith.constant true
    %mw = tile.map_pairs %t queries(%row) keys(%rows) when(%some) : tensor<64x16xf32, #tile.regs<fragment>> -> tensor<64x16xf32, #tile.regs<fragment>> {
    ^bb0(%x: f32, %i: i32, %j: i32):
      tile.result %x : f32
    }
    // CHECK: tile.map_pairs %[[T]] queries(%[[ROW]]) keys(%[[ROWS]]) : tensor<64x16xf32, #tile.regs<fragment>> -> tensor<64x16xf32, #tile.regs<fragment>> {
    %mp = tile.map_pairs %t queries(%row) keys(%rows) : tensor<64x16xf32, #tile.regs<fragment>> -> tensor<64x16xf32, #tile.regs<fragment>> {
    ^bb0(%x: f32, %i: i32, %j: i32):
      // CHECK: tile.lookup @slope[%{{.*}}] : f32
      %slope = tile.lookup @slope[%head] : f32
      // CHECK: tile.lookup @rel[%{{.*}}, %{{.*}}] : i32
      %rel = tile.lookup @rel[%head, %i] : i32
      %y = arith.mulf %x, %slope : f32
      // CHECK: tile.result %{{.*}} : f32
      tile.result %y : f32
    }
    // CHECK: %[[R:.*]] = tile.row_reduce max %[[M]] : tensor<64x16xf32, #tile.regs<fragment>> -> tensor<64xf32, #tile.regs<fragment>>
    %r = tile.row_reduce max %m : tensor<64x16xf32, #tile.regs<fragment>> -> tensor<64xf32, #tile.regs<fragment>>
    // CHECK: tile.lookup_rows @slope[%{{.*}}] : tensor<64xf32, #tile.regs<fragment>>
    %lr = tile.lookup_rows @slope[%head] : tensor<64xf32, #tile.regs<fragment>>
    // CHECK: tile.lookup_rows @slope[%{{.*}}] of_heads : tensor<64xf32, #tile.regs<fragment>>
    %lh = tile.lookup_rows @slope[%head] of_heads : tensor<64xf32, #tile.regs<fragment>>
    // CHECK: tile.broadcast %[[R]] : tensor<64xf32, #tile.regs<fragment>> -> tensor<64x16xf32, #tile.regs<fragment>>
    %b = tile.broadcast %r : tensor<64xf32, #tile.regs<fragment>> -> tensor<64x16xf32, #tile.regs<fragment>>
    // CHECK: tile.store_rows @lse[%{{.*}}, %{{.*}}, %{{.*}}] from %[[R]] : tensor<64xf32, #tile.regs<fragment>>
    tile.store_rows @lse[%row, %rows, %head] from %r : tensor<64xf32, #tile.regs<fragment>>
    %out = tile.take @Out[0] for threads : <64x16xbf16, smem>
    // CHECK: tile.write %{{.*}} into %{{.*}} : tensor<64x16xf32, #tile.regs<fragment>>, <64x16xbf16, smem>
    tile.write %b into %out : tensor<64x16xf32, #tile.regs<fragment>>, <64x16xbf16, smem>
    // CHECK: tile.store_scratch "turned_dq"[%{{.*}}, %{{.*}}, %{{.*}}] from %{{.*}} : <64x16xf32, tmem>
    tile.store_scratch "turned_dq"[%row, %rows, %head] from %s1 : <64x16xf32, tmem>
    // CHECK: tile.copy %{{.*}} into %{{.*}} : <64x16xf32, tmem>, <64x16xbf16, smem>
    tile.copy %s1 into %out : <64x16xf32, tmem>, <64x16xbf16, smem>
    tile.pass %s1 : <64x16xf32, tmem>
    tile.pass %out : <64x16xbf16, smem>
    %out1 = tile.take @Out[1] for tma : <64x16xbf16, smem>
    // CHECK: tile.store @o[%{{.*}}, %{{.*}}, %{{.*}}] from %{{.*}} : <64x16xbf16, smem>
    tile.store @o[%row, %rows, %head] from %out1 : <64x16xbf16, smem>
    tile.pass %out1 : <64x16xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
  }
}

// CHECK-LABEL: tile.kernel @groups
tile.kernel @groups target("sm_90a") schedule #fused {
  tile.tensor @k "input" heads 4 cols 64 : bf16
  tile.channel @K depth(2) stations ["load", "use"] : !tile.slot<64x64xbf16, smem>
  tile.channel @S depth(1) stations ["use", "use"] : !tile.slot<64x64xf32, registers>
  // CHECK: tile.barrier @K_full count(1) depth(2) {offset = 16384 : i64}
  tile.barrier @K_full count(1) depth(2) {offset = 16384 : i64}
  tile.barrier @K_empty count(4) depth(2)
  // CHECK: tile.group @load warps(4, 4) registers(40) roles ["load"] {
  tile.group @load warps(4, 4) registers(40) roles ["load"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // CHECK: tile.wait @K_empty for tma empty
    tile.wait @K_empty for tma empty
    %k = tile.take @K[0] for tma : <64x64xbf16, smem>
    // CHECK: tile.arrive @K_full from tma expect(128 * %{{.*}})
    tile.arrive @K_full from tma expect(128 * %rows)
    // CHECK: tile.load @k[%{{.*}}, %{{.*}}, %{{.*}}] into %{{.*}} signals @K_full : <64x64xbf16, smem>
    tile.load @k[%row, %rows, %head] into %k signals @K_full : <64x64xbf16, smem>
    tile.pass %k : <64x64xbf16, smem>
  }
  // CHECK: tile.group @use warps(0, 4) registers(0) roles ["use"] {
  tile.group @use warps(0, 4) registers(0) roles ["use"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // CHECK: tile.wait @K_full for tensor
    tile.wait @K_full for tensor
    %k = tile.take @K[1] for tensor : <64x64xbf16, smem>
    %s = tile.take @S[0] for tensor : <64x64xf32, registers>
    // CHECK: tile.mma %{{.*}} = %{{.*}} transposed * %{{.*}} : <64x64xf32, registers>, <64x64xbf16, smem>, <64x64xbf16, smem>
    tile.mma %s = %k transposed * %k : <64x64xf32, registers>, <64x64xbf16, smem>, <64x64xbf16, smem>
    tile.pass %s : <64x64xf32, registers>
    %s1 = tile.take @S[1] for threads : <64x64xf32, registers>
    // CHECK: tile.product_wait %{{.*}} : <64x64xf32, registers>
    tile.product_wait %s1 : <64x64xf32, registers>
    tile.pass %s1 : <64x64xf32, registers>
    // CHECK: tile.fence async_proxy for threads
    tile.fence async_proxy for threads
    // CHECK: tile.fence tensor_before for threads
    tile.fence tensor_before for threads
    // CHECK: tile.fence tensor_after for tensor
    tile.fence tensor_after for tensor
    // CHECK: tile.fence tmem_loads for threads
    tile.fence tmem_loads for threads
    // CHECK: tile.fence tmem_stores for threads
    tile.fence tmem_stores for threads
    // CHECK: tile.commit @K_empty
    tile.commit @K_empty
    // CHECK: tile.arrive @K_empty from threads
    tile.arrive @K_empty from threads
    // CHECK: tile.store_wait 1
    tile.store_wait 1
    // CHECK: tile.sync
    tile.sync
    tile.pass %k : <64x64xbf16, smem>
  }
}
