// Hop by hop on sm_90a with all roles on one group: only the waits for asynchronous units are left.
// RUN: %fovea-opt %s --tile-allocate --tile-synchronise --tile-verify-sync --tile-prove-no-hazard | FileCheck %s

#s = {aliases = {Out = "V"}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = false, persistent = false, tile_rows = 64 : i64}

// One item per CTA never meets an old slot: no empty barrier.
// CHECK-NOT: _empty
tile.kernel @fused target("sm_90a") schedule #s {
  tile.tensor @v "input" heads 4 cols 64 : bf16
  tile.tensor @o "output" heads 4 cols 64 : bf16
  tile.channel @V depth(1) stations ["load", "mma"] : !tile.slot<64x64xbf16, smem>
  tile.channel @S depth(1) stations ["mma", "epilogue"] : !tile.slot<64x64xf32, registers>
  tile.channel @Out depth(1) stations ["epilogue", "store"] alias(@V) : !tile.slot<64x64xbf16, smem>
  // CHECK-LABEL: tile.group @all
  tile.group @all warps(0, 4) registers(0) roles ["load", "mma", "epilogue", "store"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %v = tile.take @V[0] for tma : <64x64xbf16, smem> {tile.role = "load"}
    tile.load @v[%row, %rows, %head] into %v : <64x64xbf16, smem> {tile.role = "load"}
    tile.pass %v : <64x64xbf16, smem> {tile.role = "load"}
    // CHECK: tile.wait @V_full for tensor
    // CHECK-NEXT: tile.take @V[1]
    // CHECK-NEXT: tile.take @S[0]
    // CHECK-NEXT: tile.mma
    %v1 = tile.take @V[1] for tensor : <64x64xbf16, smem> {tile.role = "mma"}
    %s = tile.take @S[0] for tensor : <64x64xf32, registers> {tile.role = "mma"}
    tile.mma %s = %v1 * %v1 transposed : <64x64xf32, registers>, <64x64xbf16, smem>, <64x64xbf16, smem> {tile.role = "mma"}
    tile.pass %s : <64x64xf32, registers> {tile.role = "mma"}
    tile.pass %v1 : <64x64xbf16, smem> {tile.role = "mma"}
    // A product in registers is waited for; Out lies over V, which other warps may still be multiplying with.
    // CHECK: tile.take @S[1]
    // CHECK-NEXT: tile.product_wait
    // CHECK-NEXT: tile.sync
    // CHECK-NEXT: tile.take @Out[0]
    // CHECK-NEXT: tile.copy
    // CHECK: tile.fence async_proxy for threads
    // CHECK: tile.sync
    // CHECK-NEXT: tile.take @Out[1]
    // CHECK-NEXT: tile.store
    %s1 = tile.take @S[1] for threads : <64x64xf32, registers> {tile.role = "epilogue"}
    %out = tile.take @Out[0] for threads : <64x64xbf16, smem> {tile.role = "epilogue"}
    tile.copy %s1 into %out : <64x64xf32, registers>, <64x64xbf16, smem> {tile.role = "epilogue"}
    tile.pass %s1 : <64x64xf32, registers> {tile.role = "epilogue"}
    tile.pass %out : <64x64xbf16, smem> {tile.role = "epilogue"}
    %out1 = tile.take @Out[1] for tma : <64x64xbf16, smem> {tile.role = "store"}
    tile.store @o[%row, %rows, %head] from %out1 : <64x64xbf16, smem> {tile.role = "store"}
    tile.pass %out1 : <64x64xbf16, smem> {tile.role = "store"}
  }
}
