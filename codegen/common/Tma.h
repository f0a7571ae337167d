// codegen/common/Tma.h - bulk copies: tensor (TMA) and 1-D. PTX ISA, "cp.async.bulk" and
// "cp.async.bulk.tensor".
//
// One thread issues each copy. Tensor maps are generic pointers to a grid-constant parameter
// (createKernel). Shared addresses are 128-byte aligned for tensor copies and 16-byte for 1-D ones;
// for a descriptor without base offset align tiles to SmemTile::alignment(). Coordinates are i32
// element indices, innermost first, 1 to 5 of them; the innermost times the element size is a
// multiple of 16 bytes; stores take no negative coordinate.
#pragma once

#include "codegen/common/Values.h"

namespace fovea::codegen {

/// L2 eviction policies accepted as `cacheHint` (an i64 Value; null for none). Opaque numbers that
/// createpolicy yields.
enum class L2Policy : uint64_t {
  EvictNormal = 0x1000000000000000,
  EvictFirst = 0x12F0000000000000,
  EvictLast = 0x14F0000000000000,
};
Value l2Policy(OpBuilder &b, Location loc, L2Policy policy);

/// Tensor load to shared::cta. Completes the bytes of the whole box on `bar`, out-of-bounds parts
/// included.
void tmaLoad(OpBuilder &b, Location loc, Value dst, Value map, ValueRange coords, Value bar,
             Value cacheHint = {});

/// Tensor load to the same offset of every CTA of the cluster whose bit is set in `mask` (i16);
/// bytes complete on `bar` of each of them.
void tmaLoadMulticast(OpBuilder &b, Location loc, Value dst, Value map, ValueRange coords,
                      Value bar, Value mask, Value cacheHint = {});

/// Tensor store from shared memory. Before it: every writer of `src` executes
/// fenceProxyAsyncShared, then a barrier. Belongs to the issuing thread's current bulk group.
void tmaStore(OpBuilder &b, Location loc, Value map, ValueRange coords, Value src,
              Value cacheHint = {});

/// As tmaStore, adding to memory (f32 with ftz, f16/bf16 rounded, integers). Order between CTAs is
/// undefined.
void tmaReduceAdd(OpBuilder &b, Location loc, Value map, ValueRange coords, Value src);

/// prefetch.tensormap: a hint; one thread, once per kernel and map.
void tmaPrefetchMap(OpBuilder &b, Location loc, Value map);

/// 1-D copy of `bytes` (i32, multiple of 16) global -> shared::cta, completing on `bar`. `src`:
/// !llvm.ptr<1>.
void bulkLoad(OpBuilder &b, Location loc, Value dst, Value src, Value bytes, Value bar,
              Value cacheHint = {});

/// 1-D copy of `bytes` shared -> global in the current bulk group; bulkReduceAddF32 adds f32
/// elements instead.
void bulkStore(OpBuilder &b, Location loc, Value dst, Value src, Value bytes);
void bulkReduceAddF32(OpBuilder &b, Location loc, Value dst, Value src, Value bytes);

/// Ends the thread's current bulk group.
void bulkCommitGroup(OpBuilder &b, Location loc);
/// Waits until at most `pending` groups of this thread are incomplete (writes visible to this
/// thread).
void bulkWaitGroup(OpBuilder &b, Location loc, uint32_t pending);
/// Waits until at most `pending` groups still read shared memory: buffers may be reused, and the
/// CTA may exit.
void bulkWaitGroupRead(OpBuilder &b, Location loc, uint32_t pending);

} // namespace fovea::codegen
