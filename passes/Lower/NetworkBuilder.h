// passes/Lower/NetworkBuilder.h - small helpers that spell a network of roles and channels.
#pragma once

#include "dialect/Tile/Schedule.h"
#include "dialect/Tile/Tile.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/abi/Target.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace fovea {

/// The work item a role sees (all i32; see tile.kernel): first row, number of valid rows, head, and where it loops over
/// key blocks the sequence, the position of the first row in it, its queries, its first key's row, and its keys.
struct Item {
  mlir::Value row, rows, head;
  mlir::Value batch, query, queries, key, keys;
};

/// Builds one tile.kernel. Channels take depth and alias from the schedule; a network states only structure.
class NetworkBuilder {
public:
  NetworkBuilder(mlir::ModuleOp module, llvm::StringRef name, llvm::StringRef offsets, const tile::Schedule &schedule,
                 const Target &target, mlir::Location loc);

  /// `of`, `column`, `packed` (0: not) and `tileHeads`: see tile.tensor. `of` empty: the launch passes the tensor by this name.
  void tensor(llvm::StringRef name, llvm::StringRef role, mlir::Type element, int64_t heads, int64_t cols,
              llvm::StringRef of = "", int64_t column = 0, bool batched = false, int64_t packed = 0,
              int64_t tileHeads = 1);
  /// An input without heads, passed as `of`.
  void sharedTensor(llvm::StringRef name, llvm::StringRef of, mlir::Type element, int64_t cols);
  /// A sentence for `fovea explain`: something that this network decides and its channels do not show.
  void note(const llvm::Twine &text);
  /// `view`: the channel whose slots it names again (tile.channel).
  void channel(llvm::StringRef name, int64_t rows, int64_t cols, mlir::Type element, tile::Space space,
               llvm::ArrayRef<std::string> stations, llvm::StringRef view = "");
  void role(llvm::StringRef name, llvm::function_ref<void(Item)> body);

  mlir::Value take(llvm::StringRef channel, int64_t station, tile::Unit unit);
  /// At the station of the role being built.
  mlir::Value takeFor(llvm::StringRef channel, tile::Unit unit);
  void pass(mlir::Value slot);
  mlir::Value read(mlir::Value slot);
  mlir::Value reduce(tile::Reduction kind, mlir::Value tile, bool partial = false);
  /// The register tile that the current role reads a slot of this type as.
  mlir::RankedTensorType registersOf(tile::SlotType slot);

  /// The key blocks of a role (tile.blocks): `first`, if given, is block 0 and returns what the others carry; else that
  /// is `inits`. `body` gets the block's number and what the one before returned. Returns what the last one did.
  using Values = llvm::SmallVector<mlir::Value>;
  /// `edge`: what stands in for `body` outside the blocks [plainFrom, plainTo) (null: count), with the same events.
  struct Edge {
    mlir::Value plainFrom, plainTo;
    llvm::function_ref<Values(mlir::Value, Values)> body;
  };
  Values blocks(mlir::Value count, Values inits, llvm::function_ref<Values(mlir::Value)> first,
                llvm::function_ref<Values(mlir::Value, Values)> body, std::optional<Edge> edge = std::nullopt);

  /// i32 arithmetic of roles.
  mlir::Value i32(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y), sub(mlir::Value x, mlir::Value y), mul(mlir::Value x, mlir::Value y);
  mlir::Value minimum(mlir::Value x, mlir::Value y), maximum(mlir::Value x, mlir::Value y);
  mlir::Value broadcast(mlir::Value rowValues, mlir::Value like);
  mlir::Value splat(double value, mlir::Type type);
  /// An element of a table, for every row of a register tile; for each that of its own head, where heads are packed.
  mlir::Value lookUpHead(llvm::StringRef table, mlir::Value head, mlir::Type rows);
  /// The diagonal attribute of a product whose operands hold several blocks, null when one block is the tile.
  mlir::IntegerAttr diagonal(int64_t block);

  /// An error refuses this kernel (attribute `refused`, which schedules are sorted out by).
  void check(llvm::Error error);
  /// The value, or after an error, which refuses this kernel, `otherwise`.
  mlir::Value checked(llvm::Expected<mlir::Value> value, mlir::Value otherwise);
  tile::KernelOp finish();

  mlir::OpBuilder b;

private:
  const tile::Schedule &schedule;
  const Target &target;
  mlir::Location loc;
  tile::KernelOp kernel;
  std::string currentRole;
};

} // namespace fovea
