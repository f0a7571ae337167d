// Hop by hop on sm_100a, persistent, a group a role: what the table in passes/Tile/Hops.cpp asks for, and the proof.
// RUN: %fovea-opt %s --tile-allocate --tile-synchronise --tile-verify-sync --tile-prove-no-hazard | FileCheck %s

#s = {aliases = {}, block = 64 : i64, ctas_per_sm = 1 : i64, depths = {}, groups = [], p_in_tmem = true, persistent = true, tile_rows = 64 : i64}

// A barrier counts the warps that arrive, or one commit, or one copy.
// CHECK-DAG: tile.barrier @V_full count(1) depth(2)
// CHECK-DAG: tile.barrier @V_full1 count(4) depth(2)
// CHECK-DAG: tile.barrier @V_empty count(1) depth(2)
// CHECK-DAG: tile.barrier @S_full count(1) depth(1)
// CHECK-DAG: tile.barrier @S_empty count(4) depth(1)
// CHECK-DAG: tile.barrier @P_full count(4) depth(1)
// CHECK-DAG: tile.barrier @P_empty count(1) depth(1)
tile.kernel @hops target("sm_100a") schedule #s {
  tile.tensor @v "input" heads 4 cols 64 : bf16
  tile.tensor @o "output" heads 4 cols 64 : bf16
  tile.channel @V depth(2) stations ["load", "softmax", "mma"] : !tile.slot<64x64xbf16, smem>
  tile.channel @S depth(1) stations ["mma", "softmax"] : !tile.slot<64x64xf32, tmem>
  tile.channel @P depth(1) stations ["softmax", "mma"] : !tile.slot<64x64xbf16, tmem>
  tile.channel @Out depth(1) stations ["softmax", "softmax"] : !tile.slot<64x64xbf16, smem>

  // TMA fills when the last reader, a product, has committed; the copy completes the phase with its bytes.
  // CHECK-LABEL: tile.group @load
  // CHECK: tile.wait @V_empty for tma empty
  // CHECK-NEXT: tile.take @V[0]
  // CHECK-NEXT: tile.arrive @V_full from tma expect(128 * %{{.*}})
  // CHECK-NEXT: tile.load @v{{.*}} signals @V_full
  tile.group @load warps(8, 1) registers(0) roles ["load"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %v = tile.take @V[0] for tma : <64x64xbf16, smem>
    tile.load @v[%row, %rows, %head] into %v : <64x64xbf16, smem>
    tile.pass %v : <64x64xbf16, smem>
  }

  // CHECK-LABEL: tile.group @softmax
  tile.group @softmax warps(0, 4) registers(0) roles ["softmax"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    // TMA -> threads: wait. Threads -> tensor core in shared memory: fence, arrive.
    // CHECK: tile.wait @V_full for threads
    // CHECK-NEXT: tile.take @V[1]
    // CHECK-NEXT: tile.clear_tail
    // CHECK-NEXT: tile.fence async_proxy for threads
    // CHECK-NEXT: tile.arrive @V_full1 from threads
    // CHECK-NEXT: tile.pass
    %v = tile.take @V[1] for threads : <64x64xbf16, smem>
    tile.clear_tail %v, %rows : <64x64xbf16, smem>
    tile.pass %v : <64x64xbf16, smem>
    // Tensor core -> threads in tensor memory: wait, fence; back empty: loads done, fence, arrive.
    // CHECK: tile.wait @S_full for threads
    // CHECK-NEXT: tile.fence tensor_after for threads
    // CHECK-NEXT: tile.take @S[1]
    // CHECK-NEXT: tile.read
    // CHECK: tile.fence tensor_before for threads
    // CHECK-NEXT: tile.arrive @S_empty from threads
    // CHECK-NEXT: tile.pass
    %s = tile.take @S[1] for threads : <64x64xf32, tmem>
    %t = tile.read %s : <64x64xf32, tmem> -> tensor<64x64xf32, #tile.regs<fragment>>
    tile.pass %s : <64x64xf32, tmem>
    // Threads -> tensor core in tensor memory: stores done, fence, arrive; empty: commit.
    // CHECK: tile.wait @P_empty for threads empty
    // CHECK-NEXT: tile.fence tensor_after for threads
    // CHECK-NEXT: tile.take @P[0]
    // CHECK-NEXT: tile.write
    // CHECK-NEXT: tile.fence tmem_stores for threads
    // CHECK-NEXT: tile.fence tensor_before for threads
    // CHECK-NEXT: tile.arrive @P_full from threads
    %p = tile.take @P[0] for threads : <64x64xbf16, tmem>
    tile.write %t into %p : tensor<64x64xf32, #tile.regs<fragment>>, <64x64xbf16, tmem>
    tile.pass %p : <64x64xbf16, tmem>
    // Threads -> TMA of the same group: fence, the group's barrier; empty: the issuer drains, then all meet.
    // CHECK: tile.store_wait 0
    // CHECK-NEXT: tile.sync
    // CHECK-NEXT: tile.take @Out[0]
    // CHECK-NEXT: tile.write
    // CHECK-NEXT: tile.fence async_proxy for threads
    // CHECK-NEXT: tile.pass
    // CHECK-NEXT: tile.sync
    // CHECK-NEXT: tile.take @Out[1]
    %out = tile.take @Out[0] for threads : <64x64xbf16, smem>
    tile.write %t into %out : tensor<64x64xf32, #tile.regs<fragment>>, <64x64xbf16, smem>
    tile.pass %out : <64x64xbf16, smem>
    %out1 = tile.take @Out[1] for tma : <64x64xbf16, smem>
    tile.store @o[%row, %rows, %head] from %out1 : <64x64xbf16, smem>
    tile.pass %out1 : <64x64xbf16, smem>
  }

  // The leader waits for both operands and for the accumulator, and commits once for each slot that it passes.
  // CHECK-LABEL: tile.group @mma
  // CHECK: tile.wait @V_full1 for tensor
  // CHECK: tile.wait @S_empty for tensor empty
  // CHECK-NEXT: tile.fence tensor_after for tensor
  // CHECK: tile.mma
  // CHECK-NEXT: tile.commit @S_full
  // Nothing is done with P, so that it takes no fence.
  // CHECK: tile.wait @P_full for tensor
  // CHECK-NEXT: tile.take @P[1]
  // CHECK-NEXT: tile.commit @P_empty
  // CHECK: tile.commit @V_empty
  tile.group @mma warps(9, 1) registers(0) roles ["mma"] {
  ^bb0(%row: i32, %rows: i32, %head: i32):
    %v = tile.take @V[2] for tensor : <64x64xbf16, smem>
    %s = tile.take @S[0] for tensor : <64x64xf32, tmem>
    tile.mma %s = %v * %v transposed : <64x64xf32, tmem>, <64x64xbf16, smem>, <64x64xbf16, smem>
    tile.pass %s : <64x64xf32, tmem>
    %p = tile.take @P[1] for tensor : <64x64xbf16, tmem>
    tile.pass %p : <64x64xbf16, tmem>
    tile.pass %v : <64x64xbf16, smem>
  }
}
