// Are unknown inputs and options refused?
// RUN: not %fovea-opt %s --attn-derive-backward="all wrt=z" 2>&1 | FileCheck %s --check-prefix=WRT
// RUN: not %fovea-opt %s --attn-derive-backward="saved=sometimes" 2>&1 | FileCheck %s --check-prefix=VALUES
// RUN: not %fovea-opt %s --attn-derive-backward="row-statistic=o" 2>&1 | FileCheck %s --check-prefix=STATISTIC
// RUN: not %fovea-opt %s --attn-derive-backward="all wrt=applied" 2>&1 | FileCheck %s --check-prefix=TABLE
// WRT: error: no gradient by 'z': expected one of the inputs
// VALUES: error: saved: expected auto, always or never, found 'sometimes'
// STATISTIC: error: row-statistic: expected auto, p-dp or do-o, found 'o'
// TABLE: error: no gradient: the caller has applied this rotary table, and the tensor as it was before is not here; leave the table out of wrt, or rotate on load

!Q = !attn.tensor<dense("s") x heads(2) x 64 x bf16>
!T = !attn.tensor<? x 64 x f32>
attn.spec @a(q = %q : !Q, applied = %table : !T) {
  %o = attn.rotary %q, %table halves applied : (!Q, !T) -> !Q
  attn.yield o = %o : !Q
}
