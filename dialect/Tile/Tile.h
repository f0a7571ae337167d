// dialect/Tile/Tile.h - the dialect `tile`: roles and channels. See TileOps.td.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "runtime/abi/Target.h"

#include "dialect/Tile/TileDialect.h.inc"
#include "dialect/Tile/TileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Tile/TileAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/Tile/TileTypes.h.inc"
#define GET_OP_CLASSES
#include "dialect/Tile/TileOps.h.inc"

namespace fovea::tile {

/// The channel whose slot a take takes.
ChannelOp channelOf(TakeOp take);
/// The channel of a slot value: slots are defined by takes only.
ChannelOp channelOf(mlir::Value slot);
TakeOp takeOf(mlir::Value slot);
/// The channel whose memory or registers a channel's slots are: its own, unless it is a view.
ChannelOp ownerOf(ChannelOp channel);

/// The channel whose memory a channel lies over, null if it has its own or is a view.
ChannelOp hostOf(ChannelOp channel);
/// Whether other channels lie over this one.
bool isHost(ChannelOp channel);

/// The symbol of a table (tile.table) that the launch passes as `name`.
std::string tableSymbol(llvm::StringRef name);

/// Items that whoever finds them is ahead of the others at most, and the shared memory that tells them: for each its
/// words (what describes it, and whether there is one) and two mbarriers (attribute `item_ring`, its byte offset).
constexpr int64_t kItemRing = 1, kItemWords = 12, kItemRingBytes = kItemRing * (4 * kItemWords + 8 + 8);

/// How many arguments describe a work item to a role (tile.kernel).
constexpr unsigned itemArguments(bool keyBlocks) { return keyBlocks ? 8 : 3; }

/// A register tile type: `rows` x `cols` (or one value per row if cols is 0).
mlir::RankedTensorType regTile(RegisterLayout layout, int64_t rows, int64_t cols, mlir::Type element);

/// How `warps` warps hold a tile of `rows` rows. Four warps on 128 rows of tensor memory hold a row a thread, and need
/// no shuffle for a row's maximum and sum. All else is the accumulator fragment: 64-row products use half of the lanes
/// of tensor memory, and fragments (16x256b) keep every thread busy; eight warps on 128 rows halve the registers.
RegisterLayout registerLayout(const Target &target, int64_t rows, int64_t warps);

} // namespace fovea::tile
