// Is each malformed op on pairs refused, with its constraint?
// RUN: %fovea-opt %s --split-input-file --verify-diagnostics

!Q = !attn.tensor<dense("s") x heads(4) x 64 x bf16>
!K = !attn.tensor<dense("s") x heads(4) x 32 x bf16>
!M = !attn.mask<dense("s") x dense("s")>
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
func.func @dots(%q: !Q, %k: !K, %m: !M) {
  // expected-error @+1 {{expected floating rows x heads x features with equal features, found '!attn.tensor<dense("s") x heads(4) x 64 x bf16>' and '!attn.tensor<dense("s") x heads(4) x 32 x bf16>' (attn.dots-C1)}}
  %s = attn.dots %q, %k where %m : (!Q, !K, !M) -> !S
  return
}

// -----
!Q = !attn.tensor<dense("s") x heads(4) x 64 x bf16>
!K = !attn.tensor<dense("s") x heads(3) x 64 x bf16>
!M = !attn.mask<dense("s") x dense("s")>
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
func.func @dots(%q: !Q, %k: !K, %m: !M) {
  // expected-error @+1 {{expected the keys' heads to divide the queries', found 3 and 4 (attn.dots-C2)}}
  %s = attn.dots %q, %k where %m : (!Q, !K, !M) -> !S
  return
}

// -----
!Q = !attn.tensor<dense("s") x heads(4) x 64 x bf16>
!M = !attn.mask<dense("s") x dense("t")>
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
func.func @dots(%q: !Q, %m: !M) {
  // expected-error @+1 {{expected mask and f32 result over the operands' rows and the queries' heads, found '!attn.mask<dense("s") x dense("t")>'}}
  %s = attn.dots %q, %q where %m : (!Q, !Q, !M) -> !S
  return
}

// -----
!V = !attn.tensor<dense("t") x heads(4) x 64 x bf16>
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
func.func @combine(%p: !S, %v: !V) {
  // expected-error @+1 {{(attn.combine-C1)}}
  %o = attn.combine %p, %v : (!S, !V) -> !V
  return
}

// -----
!V = !attn.tensor<dense("s") x heads(3) x 64 x bf16>
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
func.func @combine(%p: !S, %v: !V) {
  // expected-error @+1 {{expected the values' heads to divide the pairs', found 3 and 4 (attn.combine-C2)}}
  %o = attn.combine %p, %v : (!S, !V) -> !V
  return
}

// -----
!V = !attn.tensor<dense("s") x heads(2) x 64 x bf16>
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
func.func @combine(%p: !S, %v: !V) {
  // expected-error @+1 {{expected the result to be '!attn.tensor<dense("s") x heads(4) x 64 x bf16>', found '!attn.tensor<dense("s") x heads(2) x 64 x bf16>' (attn.combine-C3)}}
  %o = attn.combine %p, %v : (!S, !V) -> !V
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(2) x 64 x bf16>
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
func.func @combine_queries(%p: !S, %x: !X) {
  // expected-error @+1 {{expected floating x, rows of the queries x the pairs' heads x features}}
  %o = attn.combine_queries %p, %x : (!S, !X) -> !X
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(4) x 64 x bf16>
!R = !attn.tensor<dense("s") x heads(3) x 64 x bf16>
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
func.func @combine_queries(%p: !S, %x: !X) {
  // expected-error @+1 {{expected the result's heads to divide the pairs', found 3 and 4 (attn.combine_queries-C2)}}
  %o = attn.combine_queries %p, %x : (!S, !X) -> !R
  return
}

// -----
!X = !attn.tensor<dense("s") x heads(4) x 64 x bf16>
!R = !attn.tensor<dense("s") x heads(2) x 32 x bf16>
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
func.func @combine_queries(%p: !S, %x: !X) {
  // expected-error @+1 {{(attn.combine_queries-C3)}}
  %o = attn.combine_queries %p, %x : (!S, !X) -> !R
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
!T = !attn.pairs<dense("s") x dense("s") x heads(2) x f32>
func.func @map(%s: !S) {
  // expected-error @+1 {{expected operands and result over the same rows and heads}}
  %t = attn.map_pairs %s : (!S) -> !T {
  ^bb0(%x: f32, %i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
    attn.result %x : f32
  }
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
func.func @map() {
  // expected-error @+1 {{expected at least one operand, which says the pairs that are present (attn.map_pairs-C1)}}
  %t = "attn.map_pairs"() ({
  ^bb0(%i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
    %x = arith.constant 0.0 : f32
    attn.result %x : f32
  }) : () -> !S
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
func.func @map(%s: !S) {
  // expected-error @+1 {{expected the block arguments to be 1 f32 (one per operand), then i64 i, j, h, b, n_queries, n_keys (attn.map_pairs-C2)}}
  %t = attn.map_pairs %s : (!S) -> !S {
  ^bb0(%x: f64, %i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
    %y = arith.truncf %x : f64 to f32
    attn.result %y : f32
  }
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
func.func @map(%s: !S) {
  // expected-error @+1 {{expected the block to end in attn.result of one 'f32' (attn.map_pairs-C3)}}
  %t = attn.map_pairs %s : (!S) -> !S {
  ^bb0(%x: f32, %i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
    %c = arith.cmpi eq, %i, %j : i64
    attn.result %c : i1
  }
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
func.func private @g(f32) -> f32
func.func @map(%s: !S) {
  // expected-error @+1 {{expected only arith and math ops and attn.lookup in the expression (attn.map_pairs-C4)}}
  %t = attn.map_pairs %s : (!S) -> !S {
  ^bb0(%x: f32, %i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
    // expected-note @+1 {{found func.call}}
    %y = func.call @g(%x) : (f32) -> f32
    attn.result %y : f32
  }
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
func.func @quantize(%s: !S) {
  // expected-error @+1 {{expected f32 pairs to become f8E4M3FN pairs of the same rows and heads}}
  %t = attn.quantize %s : !S -> !S
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
!L = !attn.tensor<dense("s") x heads(2) x f32>
func.func @softmax(%s: !S) {
  // expected-error @+1 {{and lse '!attn.tensor<dense("s") x heads(4) x f32>', found}}
  %p, %lse = attn.softmax %s : !S -> !S, !L
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
!L = !attn.tensor<dense("s") x heads(4) x f32>
func.func @softmax_sink(%s: !S, %sink: !attn.tensor<heads(2) x f32>) {
  // expected-error @+1 {{expected the sink to be '!attn.tensor<heads(4) x f32>', found '!attn.tensor<heads(2) x f32>' (attn.softmax-C2)}}
  %p, %lse = attn.softmax %s sink(%sink : !attn.tensor<heads(2) x f32>) : !S -> !S, !L
  return
}

// -----
!L = !attn.tensor<dense("s") x heads(4) x f32>
!H = !attn.tensor<heads(4) x bf16>
func.func @sink_grad(%sink: !H, %l: !L) {
  // expected-error @+1 {{expected lse and d of f32 rows x heads, and sink and result '!attn.tensor<heads(4) x f32>', found}}
  %d = attn.sink_grad %sink, %l, %l : (!H, !L, !L) -> !H
  return
}

// -----
!D = !attn.tensor<dense("s") x heads(4) x 8 x f32>
!H = !attn.tensor<heads(4) x f32>
func.func @sink_grad_rows(%sink: !H, %l: !D) {
  // expected-error @+1 {{(attn.sink_grad-C1)}}
  %d = attn.sink_grad %sink, %l, %l : (!H, !D, !D) -> !H
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
!L = !attn.tensor<dense("s") x heads(2) x f32>
func.func @softmax(%s: !S, %l: !L) {
  // expected-error @+1 {{(attn.softmax_given-C1)}}
  %p = attn.softmax_given %s, %l : (!S, !L) -> !S
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
!L = !attn.tensor<dense("s") x heads(4) x f32>
func.func @row_dot(%s: !S, %l: !L) {
  // expected-error @+1 {{expected two pairs or two floating rows x heads x features of one shape}}
  %d = attn.row_dot %s, %l : (!S, !L) -> !L
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
!L = !attn.tensor<dense("s") x heads(4) x bf16>
func.func @row_dot(%s: !S) {
  // expected-error @+1 {{expected the result to be '!attn.tensor<dense("s") x heads(4) x f32>', found '!attn.tensor<dense("s") x heads(4) x bf16>' (attn.row_dot-C2)}}
  %d = attn.row_dot %s, %s : (!S, !S) -> !L
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
!L = !attn.tensor<dense("s") x heads(2) x f32>
func.func @softmax_grad(%s: !S, %l: !L) {
  // expected-error @+1 {{(attn.softmax_grad-C1)}}
  %d = attn.softmax_grad %s, %s, %l : (!S, !S, !L) -> !S
  return
}

// -----
!Q = !attn.tensor<dense("s") x heads(4) x ? x bf16>
!M = !attn.mask<dense("s") x dense("s")>
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
func.func @dots(%q: !Q, %m: !M) {
  // expected-error @+1 {{(attn.dots-C1)}}
  %s = attn.dots %q, %q where %m : (!Q, !Q, !M) -> !S
  return
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(4) x f32>
!P = !attn.pairs<dense("s") x dense("s") x heads(4) x f8E4M3FN>
func.func @map(%s: !S) {
  // expected-error @+1 {{expected an f32 result, found '!attn.pairs<dense("s") x dense("s") x heads(4) x f8E4M3FN>' (attn.map_pairs-C1)}}
  %t = attn.map_pairs %s : (!S) -> !P {
  ^bb0(%x: f32, %i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
    attn.result %x : f32
  }
  return
}
