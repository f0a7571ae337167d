// codegen/kernel/Parameters.h - the parameters of a kernel, in order, and their manifest.
#pragma once

#include "codegen/common/Kernel.h"
#include "dialect/Tile/Schedule.h"
#include "dialect/Tile/Tile.h"
#include "runtime/abi/Manifest.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>
#include <vector>

namespace fovea::codegen {

/// Rows of the TMA boxes that move a tile's rows: whole boxes, then as many small ones as the rows that are left take, so
/// that a short tile costs about what it holds. (One box of 32 costs the issuing thread less than eight of 4.)
inline constexpr int kBoxRows = 32, kTailRows = 4;
/// Keys and values of the heads that a kernel works on at a time: what an H200 keeps in L2 (50 MB) beside the rest.
inline constexpr int64_t kItemL2Bytes = 36 << 20;
/// Items for each SM that a group of heads should hold, and heads whose keys may come from memory again for that.
inline constexpr int64_t kItemsOfGroup = 5, kHeadsOfGroup = 16;
/// Keys that a part of a tile has at least behind a full chip: to begin and end a part costs as much as about 500 keys.
inline constexpr int64_t kPartKeys = 2048;

/// One parameter: its place in the entry and what the launch passes.
struct ParamRef {
  unsigned index = 0;
  ParamSpec spec;
};

/// The one list from which both the PTX entry's signature and the manifest are made, so that they cannot differ.
///   per tensor that TMA touches:  tensor map {D, T, H}, of a shared one {D, T}, with boxes of kBoxRows rows (loads) or a
///                                 tile (stores)
///   per tensor that TMA loads:    the same map with boxes of kTailRows
///   per output:                   pointer, row stride and head stride in elements (i64)
///   offsets (pointer), log2 of their size (i32), heads, number of sequences, rows, items (i32)
///   the tile list (pointer, null if it is not passed), unless a program asks for positions
///   per tile.store_scratch:       scratch memory for its rows
///   per table:                    pointer, the size of each dimension (i32), all strides but the last in elements (i64)
/// Tensors are those that the launch passes; a part of one (tile.tensor, `of`) is an offset into it.
/// Where items loop over key blocks, the offsets of both sides where they are jagged, and lengths where they are not.
class Parameters {
public:
  Parameters() = default;
  Parameters(tile::KernelOp kernel, const tile::Schedule &schedule);

  const ParamRef &map(llvm::StringRef tensor) const { return get("map:" + tensor.str()); }
  const ParamRef &tailMap(llvm::StringRef tensor) const { return get("tail_map:" + tensor.str()); }
  const ParamRef &pointer(llvm::StringRef tensor) const { return get("pointer:" + tensor.str()); }
  const ParamRef &rowStride(llvm::StringRef tensor) const { return get("row_stride:" + tensor.str()); }
  const ParamRef &headStride(llvm::StringRef tensor) const { return get("head_stride:" + tensor.str()); }
  /// Of dimension n of a table.
  const ParamRef &size(llvm::StringRef table, size_t n) const { return get("size:" + table.str() + std::to_string(n)); }
  const ParamRef &stride(llvm::StringRef table, size_t n) const { return get("stride:" + table.str() + std::to_string(n)); }
  const ParamRef &batchStride(llvm::StringRef tensor) const { return get("batch_stride:" + tensor.str()); }
  /// Of a table of offsets: its pointer, and log2 of the size of an entry.
  const ParamRef &offsets(llvm::StringRef table) const { return get("offsets:" + table.str()); }
  const ParamRef &offsetShift(llvm::StringRef table) const { return get("shift:" + table.str()); }
  const ParamRef &scalar(llvm::StringRef name) const { return get(name.str()); }

  /// Name of the optional tensor that lists the tiles of `rows` rows: "tiles_64". Kernels of equal tiles share it.
  /// Whether the kernel takes one: a list does not tell positions in a sequence (tile.position).
  bool hasTileList() const { return listed; }
  static std::string tileList(int64_t rows) { return "tiles_" + std::to_string(rows); }

  /// Of a kernel that is no tile.kernel: by name, in order.
  static Parameters of(const std::vector<std::pair<std::string, ParamSpec>> &list);
  /// Of the kernel that adds up what items left of a tile (emitCombine).
  Parameters ofCombine() const;

  /// What the expressions of parameters call by name (KernelSpec::values).
  const std::vector<std::pair<std::string, Expr>> &namedValues() const { return values; }

  std::vector<KernelParam> types(OpBuilder &b) const;
  std::vector<ParamSpec> specs() const;

private:
  void addTables(tile::KernelOp kernel);
  void addRowBlockItems(tile::KernelOp kernel, const tile::Schedule &schedule, const std::string &rows, const std::string &heads,
                        llvm::function_ref<void(const std::string &, Expr)> scalar);
  void addKeyBlockItems(tile::KernelOp kernel, const tile::Schedule &schedule, const std::string &rows,
                        const std::string &heads, llvm::function_ref<void(const std::string &)> table,
                        llvm::function_ref<void(const std::string &, Expr)> scalar);
  /// Of a launch: all tiles; those of a pair of a sequence and a head (or pack of heads), the pairs, the rows of each (of jagged
  /// queries: the heads, and all rows). `even`: all tiles see about as many keys, and the last in order are the last pairs'.
  struct Tiles {
    Expr all, ofPair, pairs, rows;
    bool even;
  };
  void addItems(tile::KernelOp kernel, const tile::Schedule &schedule, const Tiles &tiles,
                llvm::function_ref<void(const std::string &, Expr)> scalar);
  void add(std::string key, ParamSpec spec);
  const ParamRef &get(const std::string &key) const;
  /// Names a value that others use more than once.
  Expr named(const char *name, Expr value);

  std::vector<std::pair<std::string, ParamRef>> list;
  std::vector<std::pair<std::string, Expr>> values;
  bool listed = false;
};

/// Warps of a CTA of emitCombine; each adds up one row of one head.
inline constexpr int kCombineWarps = 4;
/// The manifest's entry of the kernel that emitCombine makes of a kernel with the attribute `splits`. It is launched behind that
/// kernel, and not at all where a launch splits nothing.
KernelSpec combineSpec(tile::KernelOp kernel, const tile::Schedule &schedule, llvm::StringRef operation);

/// The kernel's entry in the manifest: launch rule, memory, parameters.
KernelSpec kernelSpec(tile::KernelOp kernel, const tile::Schedule &schedule, llvm::StringRef operation);

} // namespace fovea::codegen
