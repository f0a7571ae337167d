# test/device/probes/warp.py - exchange between the lanes of a warp, votes, special registers, CTA barriers
import numpy as np
from operands import integers
from probe import threads, slug


def lanes(name, form, body, words=2, block=64, narrow=False):
    """Two warps whose lanes hold %r10 (any bits, or one of four values) and %r11, %r12."""
    a = integers(name, count=128)[:block]
    if narrow:
        a = a % 4
    load = "  mul.wide.u32 %rd40, %r0, 4; add.s64 %rd40, %rd0, %rd40; ld.global.b32 %r10, [%rd40];\n  mov.u32 %r11, %laneid;\n"
    threads("warp", name, form, load + body, words, {"a": a}, block)


def build():
    for mode, lane in (("up", "3"), ("down", "5"), ("bfly", "6"), ("idx", "9")):
        for width, clamp in ((32, 0 if mode == "up" else 31), (8, (24 << 8) | (0 if mode == "up" else 7))):
            lanes(f"shfl_{mode}_{width}", f"shfl.sync.{mode}.b32", f"  shfl.sync.{mode}.b32 %r100|%p1, %r10, {lane}, {clamp}, -1; selp.b32 %r101, 1, 0, %p1;\n")
    lanes("shfl_idx_lane", "shfl.sync.idx.b32", "  and.b32 %r12, %r10, 63; shfl.sync.idx.b32 %r100|%p1, %r10, %r12, 31, -1; selp.b32 %r101, 1, 0, %p1;\n")
    lanes("shfl_partial", "shfl.sync.bfly.b32", "  mov.b32 %r100, 0; mov.b32 %r101, 0; setp.lt.u32 %p2, %r11, 16;\n  @%p2 shfl.sync.bfly.b32 %r100|%p1, %r10, 5, 31, 0xffff;\n"
          "  @%p2 selp.b32 %r101, 1, 0, %p1;\n")
    test = "  setp.gt.u32 %p2, %r10, 100;\n"
    lanes("vote_ballot", "vote.sync.ballot.b32", test + "  vote.sync.ballot.b32 %r100, %p2, -1;\n", 1)
    lanes("vote_ballot_not", "vote.sync.ballot.b32", test + "  vote.sync.ballot.b32 %r100, !%p2, -1;\n", 1)
    for mode in ("all", "any", "uni"):
        for name, condition in (("some", test), ("every", "  setp.lt.u32 %p2, %r11, 40;\n"), ("none", "  setp.gt.u32 %p2, %r11, 40;\n")):
            lanes(f"vote_{mode}_{name}", f"vote.sync.{mode}.pred", condition + f"  vote.sync.{mode}.pred %p3, %p2, -1; selp.b32 %r100, 1, 0, %p3;\n", 1)
    lanes("match_any_b32", "match.any.sync.b32", "  match.any.sync.b32 %r100, %r10, -1;\n", 1, narrow=True)
    lanes("match_any_b64", "match.any.sync.b64", "  mov.b64 %rd41, {%r10, %r10}; match.any.sync.b64 %r100, %rd41, -1;\n", 1, narrow=True)
    lanes("match_all_b32", "match.all.sync.b32", "  shr.u32 %r12, %r0, 5; and.b32 %r13, %r10, %r12; match.all.sync.b32 %r100|%p1, %r12, -1; selp.b32 %r101, 1, 0, %p1;\n", 2)
    lanes("match_all_not", "match.all.sync.b32", "  match.all.sync.b32 %r100|%p1, %r10, -1; selp.b32 %r101, 1, 0, %p1;\n", 2)
    for form in ("add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"):
        lanes(slug("redux_" + form), f"redux.sync.{form}", f"  redux.sync.{form} %r100, %r10, -1;\n", 1)
    lanes("redux_partial", "redux.sync.add.u32", "  mov.b32 %r100, 0; setp.lt.u32 %p2, %r11, 9;\n  @%p2 redux.sync.add.u32 %r100, %r10, 0x1ff;\n", 1)
    lanes("elect", "elect.sync", "  elect.sync %r12|%p1, -1; selp.b32 %r100, 1, 0, %p1;\n", 1)
    lanes("activemask", "activemask.b32", "  activemask.b32 %r100;\n", 1)
    for register in ("lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge", "laneid", "ntid.x", "nctaid.x", "ctaid.x", "cluster_ctarank", "cluster_nctarank"):
        lanes("sreg_" + register.replace(".", "_"), "mov.u32 %" + register, f"  mov.u32 %r100, %{register};\n", 1)
    for form in ("and", "or"):
        lanes(f"bar_red_{form}", f"barrier.cta.red.{form}.pred", test + f"  barrier.cta.red.{form}.pred %p3, 1, 64, %p2; selp.b32 %r100, 1, 0, %p3;\n", 1)
    lanes("bar_red_popc", "barrier.cta.red.popc.u32", test + "  barrier.cta.red.popc.u32 %r100, 1, 64, %p2;\n", 1)
    lanes("bar_arrive_sync", "bar.arrive", "  .shared .b32 word[2];\n  mov.u32 %r20, word; setp.eq.u32 %p2, %r0, 0;\n  @%p2 st.shared.b32 [%r20], 77;\n  setp.lt.u32 %p3, %r0, 32;\n"
          "  @%p3 bra first;\n  bar.sync 2, 64;\n  ld.shared.b32 %r100, [%r20];\n  bra done;\nfirst:\n  bar.arrive 2, 64;\n  mov.b32 %r100, 1;\ndone:\n", 1)
    lanes("nanosleep_warpsync", "bar.warp.sync", "  bar.warp.sync -1; nanosleep.u32 20; mov.b32 %r100, %r10;\n", 1)
    lanes("movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16", "  movmatrix.sync.aligned.m8n8.trans.b16 %r100, %r10;\n", 1)
