// Is a gradient that cannot be derived refused, at its op and with the reason?
// RUN: %fovea-opt %s --attn-derive-backward=all --split-input-file --verify-diagnostics

!X = !attn.tensor<dense("s") x heads(2) x 64 x f8E4M3FN>
// expected-error @+1 {{no gradient by 'q': expected bf16, f16 or f32 elements, found 'f8E4M3FN', whose derivative by what was quantised is 0 almost everywhere}}
attn.spec @quantised(q = %q : !X) {
  attn.yield o = %q : !X
}

// -----
!S = !attn.pairs<dense("s") x dense("s") x heads(2) x f32>
!P = !attn.pairs<dense("s") x dense("s") x heads(2) x f8E4M3FN>
!Q = !attn.tensor<dense("s") x heads(2) x 64 x bf16>
attn.spec @quantised(q = %q : !Q) {
  %m = attn.pattern #attn.full -> !attn.mask<dense("s") x dense("s")>
  %s = attn.dots %q, %q where %m : (!Q, !Q, !attn.mask<dense("s") x dense("s")>) -> !S
  // expected-error @+1 {{no gradient: attn.quantize makes quantised values}}
  %p = attn.quantize %s : !S -> !P
  %o = attn.combine %p, %q : (!P, !Q) -> !Q
  attn.yield o = %o : !Q
}

// -----
!Q = !attn.tensor<dense("s") x heads(2) x 64 x bf16>
// expected-error @+1 {{no gradient: expected a result 'o'}}
attn.spec @nothing(q = %q : !Q) {
  attn.yield y = %q : !Q
}

// -----
!Q = !attn.tensor<dense("s") x heads(2) x 64 x bf16>
// expected-error @+1 {{no gradient: expected no input or offsets named 'dout', which the backward needs for itself}}
attn.spec @taken(dout = %q : !Q) {
  attn.yield o = %q : !Q
}

// -----
!Q = !attn.tensor<jagged("lse") x heads(2) x 64 x bf16>
// expected-error @+1 {{no gradient: expected no input or offsets named 'lse', which the backward needs for itself}}
attn.spec @taken(q = %q : !Q) {
  attn.yield o = %q : !Q
}

// -----
!Q = !attn.tensor<dense("s") x heads(2) x 64 x bf16>
// expected-error @+1 {{no gradient by 'k': the output does not depend on it}}
attn.spec @unused(q = %q : !Q, k = %k : !Q) {
  attn.yield o = %q : !Q
}

// -----
!Q = !attn.tensor<fixed(4) x heads(2) x 64 x bf16>
!R = !attn.tensor<broadcast(4) x heads(2) x 64 x bf16>
attn.spec @norule(q = %q : !Q) {
  // expected-error @+1 {{no gradient: no rule for attn.sum_sequences}}
  %o = attn.sum_sequences %q : !Q -> !R
  attn.yield o = %o : !R
}
