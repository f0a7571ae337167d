// Does every op print what parses to itself?
// RUN: %fovea-opt %s | %fovea-opt | FileCheck %s
// RUN: %fovea-opt %s --mlir-print-op-generic | %fovea-opt | FileCheck %s

!Q = !attn.tensor<jagged("qs") x heads(4) x 64 x bf16>
!K = !attn.tensor<jagged("ks") x heads(2) x 64 x bf16>
!F = !attn.tensor<jagged("qs") x heads(4) x 64 x f32>
!M = !attn.mask<jagged("qs") x jagged("ks")>
!S = !attn.pairs<jagged("qs") x jagged("ks") x heads(4) x f32>
!L = !attn.tensor<jagged("qs") x heads(4) x f32>
!P = !attn.tensor<blocks(128, jagged("qs")) x heads(1) x ? x i32>
!C = !attn.tensor<heads(4) x f32>

// CHECK-LABEL: attn.spec @forward(q = %q: !attn.tensor<jagged("qs") x heads(4) x 64 x bf16>, k = %k: !attn.tensor<jagged("ks") x heads(2) x 64 x bf16>,
// CHECK-SAME: picks = %picks: !attn.tensor<blocks(128, jagged("qs")) x heads(1) x ? x i32>
// CHECK-SAME: attributes {emit = #attn.emit<forward, lse, backward, deterministic, packed "dz", tables ["angles", "u"]>, schedule = {sm_100a = {stages = 3 : i64}}}
attn.spec @forward(q = %q : !Q, k = %k : !K, v = %v : !K, picks = %picks : !P, slope = %slope : !C)
    attributes {emit = #attn.emit<forward, lse, backward, deterministic, packed "dz", tables ["angles", "u"]>,
                schedule = {sm_100a = {stages = 3 : i64}}} {
  // CHECK: attn.pattern #attn.full -> !attn.mask<jagged("qs") x jagged("ks")>
  %full = attn.pattern #attn.full -> !M
  // CHECK: attn.pattern #attn.causal<bottom_right>
  %causal = attn.pattern #attn.causal<bottom_right> -> !M
  // CHECK: attn.pattern #attn.causal<top_left>
  %corner = attn.pattern #attn.causal<top_left> -> !M
  // CHECK: attn.pattern #attn.window<left = 4096>
  %left = attn.pattern #attn.window<left = 4096> -> !M
  // CHECK: attn.pattern #attn.window<left = 8, right = 0>
  %both = attn.pattern #attn.window<left = 8, right = 0> -> !M
  // CHECK: attn.pattern #attn.block_diagonal<64>
  %blocks = attn.pattern #attn.block_diagonal<64> -> !M
  // CHECK: attn.pattern #attn.prefix<16>
  %prefix = attn.pattern #attn.prefix<16> -> !M
  // CHECK: attn.blocks %picks {key_block = 128 : i64, query_block = 128 : i64} : !attn.tensor<blocks(128, jagged("qs")) x heads(1) x ? x i32> -> !attn.mask
  %listed = attn.blocks %picks {key_block = 128 : i64, query_block = 128 : i64} : !P -> !M
  // CHECK: attn.mask_where : !attn.mask<jagged("qs") x jagged("ks")> {
  // CHECK-NEXT: ^bb0(%i: i64, %j: i64, %h: i64, %b: i64, %n_queries: i64, %n_keys: i64):
  %where = attn.mask_where : !M {
  ^bb0(%i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
    %c = arith.cmpi sle, %j, %i : i64
    attn.result %c : i1
  }
  // CHECK: attn.mask_and %{{.*}}, %{{.*}} : !attn.mask
  %m0 = attn.mask_and %causal, %left : !M
  // CHECK: attn.mask_or
  %m1 = attn.mask_or %m0, %where : !M
  // CHECK: attn.mask_not
  %m2 = attn.mask_not %m1 : !M
  // CHECK: attn.dots %q, %k where %{{.*}} : (
  %s = attn.dots %q, %k where %m2 : (!Q, !K, !M) -> !S
  // CHECK: attn.map_pairs %{{.*}} : (
  // CHECK-NEXT: ^bb0(%x: f32, %i: i64, %j: i64, %h: i64, %b: i64, %n_queries: i64, %n_keys: i64):
  // CHECK-NEXT: attn.lookup %slope[%h] : !attn.tensor<heads(4) x f32> -> f32
  %t = attn.map_pairs %s : (!S) -> !S {
  ^bb0(%x: f32, %i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
    %c = attn.lookup %slope[%h] : !C -> f32
    %y = arith.addf %x, %c : f32
    // CHECK: attn.result %{{.*}} : f32
    attn.result %y : f32
  }
  // CHECK: %p, %lse = attn.softmax %{{.*}} : !attn.pairs<{{.*}}> -> !attn.pairs<{{.*}}>, !attn.tensor<jagged("qs") x heads(4) x f32>
  %p, %lse = attn.softmax %t : !S -> !S, !L
  // CHECK: attn.softmax %{{.*}} sink(%slope : !attn.tensor<heads(4) x f32>) : !attn.pairs<{{.*}}> -> !attn.pairs<{{.*}}>, !attn.tensor
  %sunk:2 = attn.softmax %t sink(%slope : !C) : !S -> !S, !L
  // CHECK: attn.combine %p, %v : (
  %o = attn.combine %p, %v : (!S, !K) -> !F
  // CHECK: attn.map_elements %{{.*}} : (
  // CHECK-NEXT: ^bb0(%x: f32, %i: i64, %h: i64, %d: i64, %b: i64, %n: i64):
  %e = attn.map_elements %o : (!F) -> !Q {
  ^bb0(%x: f32, %i: i64, %h: i64, %d: i64, %b: i64, %n: i64):
    attn.result %x : f32
  }
  // CHECK: attn.yield o = %{{.*}}, lse = %lse : !attn.tensor
  attn.yield o = %e, lse = %lse : !Q, !L
}

// CHECK-LABEL: attn.spec @gradient
// CHECK-SAME: attributes {gradient_of = @forward}
attn.spec @gradient(q = %q : !Q, k = %k : !K, v = %v : !K, slope = %slope : !C, dout = %dout : !Q, lse = %lse : !L)
    attributes {gradient_of = @forward} {
  %m = attn.pattern #attn.full -> !M
  %s = attn.dots %q, %k where %m : (!Q, !K, !M) -> !S
  // CHECK: attn.softmax_given %{{.*}}, %lse : (
  %p = attn.softmax_given %s, %lse : (!S, !L) -> !S
  %dp = attn.dots %dout, %v where %m : (!Q, !K, !M) -> !S
  // CHECK: attn.row_dot %{{.*}}, %{{.*}} : (!attn.pairs
  %d = attn.row_dot %p, %dp : (!S, !S) -> !L
  // CHECK: attn.row_dot %dout, %q : (!attn.tensor
  %d2 = attn.row_dot %dout, %q : (!Q, !Q) -> !L
  // CHECK: attn.sink_grad %slope, %lse, %{{.*}} : (!attn.tensor<heads(4) x f32>, !attn.tensor
  %dsink = attn.sink_grad %slope, %lse, %d : (!C, !L, !L) -> !C
  // CHECK: attn.softmax_grad %{{.*}}, %{{.*}}, %{{.*}} : (
  %ds = attn.softmax_grad %p, %dp, %d : (!S, !S, !L) -> !S
  // CHECK: attn.add %{{.*}}, %{{.*}} : (!attn.pairs
  %two = attn.add %ds, %ds : (!S, !S) -> !S
  // CHECK: attn.combine_queries %{{.*}}, %q : (
  %dk = attn.combine_queries %two, %q : (!S, !Q) -> !K
  // CHECK: attn.scatter_add %{{.*}} like %slope : (
  %dslope = attn.scatter_add %ds like %slope : (!S, !C) -> !C {
  ^bb0(%x: f32, %i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
    // CHECK: attn.contribute %x at[%h] : f32
    attn.contribute %x at [%h] : f32
  }
  attn.yield dk = %dk, dslope = %dslope : !K, !C
}

!R = !attn.tensor<broadcast(16) x heads(?) x 64 x f16>
!E = !attn.tensor<fixed(16) x heads(?) x 64 x f32>
// CHECK-LABEL: attn.spec @shared
attn.spec @shared(q = %q : !R, x = %x : !E) {
  // CHECK: attn.sum_sequences %x : !attn.tensor<fixed(16) x heads(?) x 64 x f32> -> !attn.tensor<broadcast(16) x heads(?) x 64 x f16>
  %y = attn.sum_sequences %x : !E -> !R
  attn.yield dq = %y : !R
}

!T = !attn.tensor<? x 64 x f32>
!Z = !attn.tensor<jagged("qs") x 384 x bf16>
// CHECK-LABEL: attn.spec @rotated
attn.spec @rotated(q = %q : !Q, k = %k : !Q, table = %table : !T, own = %own : !attn.tensor<jagged("qs") x 64 x bf16>) {
  // CHECK: attn.rotary %q, %table interleaved applied : (
  %a = attn.rotary %q, %table interleaved applied : (!Q, !T) -> !Q
  // CHECK: attn.rotary_table_grad %q, %q like %table interleaved : (
  %g = attn.rotary_table_grad %q, %q like %table interleaved : (!Q, !Q, !T) -> !T
  // CHECK: attn.rotary %q, %own halves transpose : (
  %b = attn.rotary %q, %own halves transpose : (!Q, !attn.tensor<jagged("qs") x 64 x bf16>) -> !Q
  // CHECK: attn.pack %{{.*}}, %{{.*}} : (
  %z = attn.pack %a, %b : (!Q, !Q) -> !attn.tensor<jagged("qs") x 512 x bf16>
  attn.yield dz = %z : !attn.tensor<jagged("qs") x 512 x bf16>
}

!X = !attn.tensor<dense("seq") x heads(2) x 64 x f8E4M3FN>
!Y = !attn.tensor<dense("seq") x heads(2) x 64 x f32>
!D = !attn.pairs<dense("seq") x dense("seq") x heads(2) x f32>
// CHECK-LABEL: attn.spec @microscaled
attn.spec @microscaled(q = %q : !X, q_scale = %qs : !attn.tensor<dense("seq") x heads(2) x 2 x f8E8M0FNU>,
                       v = %v : !X, v_scale = %vs : !attn.tensor<blocks(32, dense("seq")) x heads(2) x 64 x f8E8M0FNU>) {
  // CHECK: attn.dequant %q, %q_scale : (
  %a = attn.dequant %q, %qs : (!X, !attn.tensor<dense("seq") x heads(2) x 2 x f8E8M0FNU>) -> !Y
  %b = attn.dequant %v, %vs : (!X, !attn.tensor<blocks(32, dense("seq")) x heads(2) x 64 x f8E8M0FNU>) -> !Y
  %m = attn.pattern #attn.full -> !attn.mask<dense("seq") x dense("seq")>
  %s = attn.dots %a, %a where %m : (!Y, !Y, !attn.mask<dense("seq") x dense("seq")>) -> !D
  // CHECK: attn.quantize %{{.*}} : !attn.pairs<dense("seq") x dense("seq") x heads(2) x f32> -> !attn.pairs<dense("seq") x dense("seq") x heads(2) x f8E4M3FN>
  %p = attn.quantize %s : !D -> !attn.pairs<dense("seq") x dense("seq") x heads(2) x f8E4M3FN>
  %o = attn.combine %p, %b : (!attn.pairs<dense("seq") x dense("seq") x heads(2) x f8E4M3FN>, !Y) -> !Y
  attn.yield o = %o : !Y
}
