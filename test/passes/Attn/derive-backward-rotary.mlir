// The gradient of a rotary table: one sum for each tensor behind it, from the gradient of the turned tensor.
// RUN: %fovea-opt %s --attn-derive-backward | FileCheck %s

!Q = !attn.tensor<jagged("a") x heads(2) x 64 x bf16>
!M = !attn.mask<jagged("a") x jagged("a")>
!S = !attn.pairs<jagged("a") x jagged("a") x heads(2) x f32>
!T = !attn.tensor<? x 64 x bf16>
attn.spec @x(q = %q : !Q, k = %k : !Q, v = %v : !Q, t = %t : !T) attributes {emit = #attn.emit<forward, backward, tables ["t"]>} {
  %rq = attn.rotary %q, %t interleaved : (!Q, !T) -> !Q
  %rk = attn.rotary %k, %t halves : (!Q, !T) -> !Q
  %m = attn.pattern #attn.block_diagonal<64> -> !M
  %s = attn.dots %rq, %rk where %m : (!Q, !Q, !M) -> !S
  %p, %l = attn.softmax %s : !S -> !S, !attn.tensor<jagged("a") x heads(2) x f32>
  %o = attn.combine %p, %v : (!S, !Q) -> !Q
  attn.yield o = %o : !Q
}
// CHECK: attn.spec @x_backward
// CHECK-DAG: %[[DQ:.*]] = attn.combine
// CHECK-DAG: %[[BYQ:.*]] = attn.rotary_table_grad %q, %{{.*}} like %t interleaved : {{.*}} -> !attn.tensor<? x 64 x f32>
// CHECK-DAG: %[[BYK:.*]] = attn.rotary_table_grad %k, %{{.*}} like %t halves
// One rounding, of the sum.
// CHECK: %[[SUM:.*]] = attn.add %{{.*}}, %{{.*}} : (!attn.tensor<? x 64 x f32>, !attn.tensor<? x 64 x f32>) -> !attn.tensor<? x 64 x bf16>
// CHECK: attn.yield dq = {{.*}}, dt = %[[SUM]]
