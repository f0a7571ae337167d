// A given lse holds the sink already; a gradient by the sink itself wants the softmax again.
// RUN: %fovea-opt %s --attn-derive-backward | FileCheck %s
// RUN: %fovea-opt %s --attn-derive-backward="saved=never" | FileCheck %s --check-prefix=AGAIN
// RUN: %fovea-opt %s --attn-derive-backward="wrt=q,sink" | FileCheck %s --check-prefix=SINK

// CHECK: attn.spec @a_backward({{.*}}lse = %lse{{.*}})
// CHECK-NOT: sink
// CHECK: %[[P:.*]] = attn.softmax_given %{{.*}}, %lse
// CHECK: attn.softmax_grad %[[P]]
// CHECK: attn.yield dq = %{{.*}}, dk = %{{.*}}, dv = %{{.*}} :

// AGAIN: attn.spec @a_backward({{.*}}sink = %sink
// AGAIN: attn.softmax %{{.*}} sink(%sink
// AGAIN-NOT: sink_grad

// SINK: attn.spec @a_backward(
// SINK: %p, %[[LSE:.*]] = attn.softmax %{{.*}} sink(%sink
// SINK: %[[D:.*]] = attn.row_dot %dout, %o
// SINK: %[[DSINK:.*]] = attn.sink_grad %sink, %[[LSE]], %[[D]]
// SINK: attn.yield dq = %{{.*}}, dsink = %[[DSINK]] :

!Q = !attn.tensor<dense("s") x heads(2) x 64 x bf16>
!M = !attn.mask<dense("s") x dense("s")>
!S = !attn.pairs<dense("s") x dense("s") x heads(2) x f32>
!L = !attn.tensor<dense("s") x heads(2) x f32>
!H = !attn.tensor<heads(2) x f32>
attn.spec @a(q = %q : !Q, k = %k : !Q, v = %v : !Q, sink = %sink : !H) attributes {emit = #attn.emit<forward, lse, backward>} {
  %m = attn.pattern #attn.full -> !M
  %s = attn.dots %q, %k where %m : (!Q, !Q, !M) -> !S
  %p, %lse = attn.softmax %s sink(%sink : !H) : !S -> !S, !L
  %o = attn.combine %p, %v : (!S, !Q) -> !Q
  attn.yield o = %o, lse = %lse : !Q, !L
}
