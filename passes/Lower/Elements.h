// passes/Lower/Elements.h - epilogues: the tensors like o that one reads, and its expressions.
#pragma once

#include "passes/Lower/NetworkBuilder.h"
#include "passes/Lower/Problem.h"

namespace fovea {

/// Tensors that TMA brings for each work item, a channel each: "Element0", "Element1", …
class ElementTensors {
public:
  ElementTensors(const Problem &problem, const std::vector<std::string> &names) : p(problem), names(names) {}

  size_t size() const { return names.size(); }
  static std::string channel(size_t k) { return "Element" + std::to_string(k); }
  /// The one called so, if it is loaded.
  std::optional<size_t> find(llvm::StringRef name) const;

  /// Tensors and channels; `stations` of each behind the role that loads them.
  void declare(NetworkBuilder &n, int64_t rows, llvm::function_ref<std::vector<std::string>(size_t)> stations,
               llvm::StringRef load = "load") const;
  /// Inside that role.
  void emitLoads(NetworkBuilder &n, Item item, mlir::Location loc) const;
  /// Inside the role that reads them: takes all, in order.
  std::vector<mlir::Value> take(NetworkBuilder &n) const;
  int64_t bytes(int64_t rows) const;

private:
  const Problem &p;
  std::vector<std::string> names;
};

/// What an expression of elements (attn.map_elements) sees of the work item: the tile's first row in its tensor, its
/// head, and the position of that row in its sequence (null: no expression asks for i itself).
struct ElementScalars {
  mlir::Value row, head, position;
};
/// Whether an expression asks for i other than to look up a table's row.
bool asksForPosition(attn::MapElementsOp op);

/// tile.map_elements of several expressions on tiles of one shape, each into its slot;
/// `operands`: the slot of each tensor of `attn` that they read.
struct ElementOutput {
  attn::MapElementsOp value;
  mlir::Value slot;
};
llvm::Error emitMapElements(mlir::OpBuilder &b, mlir::Location loc,
                            llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>> operands,
                            llvm::ArrayRef<ElementOutput> outputs, const ElementScalars &scalars);

} // namespace fovea
