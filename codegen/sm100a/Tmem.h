// codegen/sm100a/Tmem.h - tensor memory: allocation and register transfers. PTX ISA,
// "tcgen05.alloc", "tcgen05.ld/st/wait".
//
// Addresses: i32 lane << 16 | column, or !llvm.ptr<6>. Loads and stores are executed by a whole
// warp with one address; warp w of the CTA reaches lanes 32*(w%4) .. +31, and the address must
// carry that lane (tmemWarpAddress).
#pragma once

#include "codegen/common/Values.h"
#include "dialect/Layout/TmemLayout.h"

namespace fovea::codegen::sm100a {

/// tcgen05.alloc of `columns` (32, 64, 128, 256 or 512) into the 4-byte shared word `slot`. One
/// warp.
void tmemAlloc(OpBuilder &b, Location loc, Value slot, uint32_t columns);
/// Gives up the right to allocate again, so that a co-resident CTA may. One warp, after its last
/// alloc.
void tmemRelinquish(OpBuilder &b, Location loc);
/// Reads the base address (i32) back; all threads, after the barrier that follows tmemAlloc.
Value tmemBase(OpBuilder &b, Location loc, Value slot);
/// tcgen05.dealloc of the same columns. The warp that allocated, after a barrier behind all uses.
void tmemDealloc(OpBuilder &b, Location loc, Value base, uint32_t columns);

/// base + ((32 * (warp % 4)) << 16) + column; `warp` is i32.
Value tmemWarpAddress(OpBuilder &b, Location loc, Value base, Value warp, uint32_t column = 0);

/// tcgen05.ld.sync.aligned.SHAPE.xNUM.b32. NUM is a power of two up to 128 (32x32b, 16x64b), 64
/// (16x128b), 32 (16x256b). Returns layout::registersOf(shape, num) i32 values that may be used
/// only through tmemWaitLoad.
SmallVector<Value> tmemLoad(OpBuilder &b, Location loc, layout::TmemShape shape, uint32_t num,
                            Value address);
/// tcgen05.st of registersOf(shape, num) i32 values. tmemWaitStore before anybody reads them.
void tmemStore(OpBuilder &b, Location loc, layout::TmemShape shape, Value address,
               ValueRange registers);

/// tcgen05.wait::ld for all earlier loads of this thread; `loaded` passes through, and only the
/// results are valid registers.
SmallVector<Value> tmemWaitLoad(OpBuilder &b, Location loc, ValueRange loaded);
/// tcgen05.wait::st for all earlier stores of this thread.
void tmemWaitStore(OpBuilder &b, Location loc);

} // namespace fovea::codegen::sm100a
