// codegen/common/Fence.h - proxy fences. PTX ISA, "membar/fence", "Proxies".
#pragma once

#include "codegen/common/Values.h"

namespace fovea::codegen {

/// fence.proxy.async.shared::cta: by every thread that wrote shared memory with st/stmatrix, before
/// the barrier after which TMA, tcgen05.mma or wgmma reads it.
void fenceProxyAsyncShared(OpBuilder &b, Location loc);

/// fence.proxy.async.global: between ordinary global stores and a TMA read of them.
void fenceProxyAsyncGlobal(OpBuilder &b, Location loc);

} // namespace fovea::codegen
