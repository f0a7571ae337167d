// Which ops make up a derived backward, and which of the forward's values does it read?
// RUN: %fovea-opt %s --attn-derive-backward | FileCheck %s
// RUN: %fovea-opt %s --attn-derive-backward="row-statistic=do-o" | FileCheck %s --check-prefix=OUTPUT
// RUN: %fovea-opt %s --attn-derive-backward="saved=always" | FileCheck %s --check-prefix=SAVED
// RUN: %fovea-opt %s --attn-derive-backward="wrt=v" | FileCheck %s --check-prefix=ONLY-V

!T = !attn.tensor<jagged("offsets") x heads(4) x 64 x bf16>
!M = !attn.mask<jagged("offsets") x jagged("offsets")>
!S = !attn.pairs<jagged("offsets") x jagged("offsets") x heads(4) x f32>
!L = !attn.tensor<jagged("offsets") x heads(4) x f32>

// Five products; D from the pairs, since a tile sees the whole row; nothing of the forward is read back.
// CHECK-LABEL: attn.spec @diagonal_backward(q = %q: {{.*}}, k = %k: {{.*}}, v = %v: {{.*}}, dout = %dout: !attn.tensor<jagged("offsets") x heads(4) x 64 x bf16>)
// CHECK-SAME: attributes {gradient_of = @diagonal, schedule = {sm_90a = {stages = 1 : i64}}}
// CHECK: %[[M:.*]] = attn.pattern #attn.block_diagonal<64>
// CHECK: %[[S:.*]] = attn.dots %q, %k where %[[M]]
// CHECK: %[[T:.*]] = attn.map_pairs %[[S]]
// CHECK: %[[P:.*]], %{{.*}} = attn.softmax %[[T]]
// CHECK: %[[DP:.*]] = attn.dots %dout, %v where %[[M]]
// CHECK: %[[DV:.*]] = attn.combine_queries %[[P]], %dout {{.*}} -> !attn.tensor<jagged("offsets") x heads(4) x 64 x bf16>
// CHECK: %[[D:.*]] = attn.row_dot %[[P]], %[[DP]]
// CHECK: %[[DT:.*]] = attn.softmax_grad %[[P]], %[[DP]], %[[D]]
// The scale's derivative needs the gradient alone.
// CHECK: %[[DS:.*]] = attn.map_pairs %[[DT]] :
// CHECK: arith.mulf %x, %{{.*}} : f32
// CHECK: %[[DQ:.*]] = attn.combine %[[DS]], %k
// CHECK: %[[DK:.*]] = attn.combine_queries %[[DS]], %q
// CHECK-NOT: attn.combine
// CHECK: attn.yield dq = %[[DQ]], dk = %[[DK]], dv = %[[DV]]

// OUTPUT-LABEL: attn.spec @diagonal_backward
// OUTPUT: %[[O:.*]] = attn.combine %p, %v
// OUTPUT: attn.row_dot %dout, %[[O]]

// SAVED-LABEL: attn.spec @diagonal_backward
// SAVED-SAME: o = %o: {{.*}}, lse = %lse: !attn.tensor<jagged("offsets") x heads(4) x f32>
// SAVED-NOT: attn.softmax %
// SAVED: attn.softmax_given %{{.*}}, %lse
// SAVED: attn.row_dot %dout, %o

// ONLY-V-LABEL: attn.spec @diagonal_backward(q = %q: {{.*}}, k = %k: {{.*}}, dout = %dout: {{[^,]*}})
// ONLY-V-COUNT-1: attn.dots
// ONLY-V-NOT: attn.dots
// ONLY-V: attn.yield dv = %{{.*}}
attn.spec @diagonal(q = %q : !T, k = %k : !T, v = %v : !T)
    attributes {emit = #attn.emit<forward, backward>, schedule = {sm_90a = {stages = 1 : i64}}} {
  %m = attn.pattern #attn.block_diagonal<64> -> !M
  %s = attn.dots %q, %k where %m : (!T, !T, !M) -> !S
  %t = attn.map_pairs %s : (!S) -> !S {
  ^bb0(%x: f32, %i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
    %c = arith.constant 0.125 : f32
    %y = arith.mulf %x, %c : f32
    attn.result %y : f32
  }
  %p, %lse = attn.softmax %t : !S -> !S, !L
  %o = attn.combine %p, %v : (!S, !T) -> !T
  attn.yield o = %o, lse = %lse : !T, !L
}

// With lse emitted and rows longer than a tile, D is dO∘O and p comes from lse.
// CHECK-LABEL: attn.spec @full_backward
// CHECK-SAME: o = %o: {{.*}}, lse = %lse:
// CHECK: attn.softmax_given
// CHECK: attn.row_dot %dout, %o
attn.spec @full(q = %q : !T, k = %k : !T, v = %v : !T) attributes {emit = #attn.emit<forward, lse, backward>} {
  %m = attn.pattern #attn.full -> !M
  %s = attn.dots %q, %k where %m : (!T, !T, !M) -> !S
  %p, %lse = attn.softmax %s : !S -> !S, !L
  %o = attn.combine %p, %v : (!S, !T) -> !T
  attn.yield o = %o, lse = %lse : !T, !L
}

// A spec that does not ask for it gets none.
// CHECK-NOT: @forward_only_backward
attn.spec @forward_only(q = %q : !T) attributes {emit = #attn.emit<forward>} {
  attn.yield o = %q : !T
}
