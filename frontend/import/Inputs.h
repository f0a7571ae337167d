// frontend/import/Inputs.h - the types of q, k, v, o and of the tables (internal to import)
#pragma once

#include "dialect/Attn/Attn.h"
#include "frontend/sema/Spec.h"

namespace fovea {

/// What the launch passes, in the order of the spec's arguments, and the types that follow from it.
class InputTypes {
public:
  InputTypes(const sema::Spec &spec, mlir::MLIRContext &context);

  std::vector<std::pair<std::string, mlir::Type>> inputs;
  unsigned firstTable = 0; ///< index of spec.tables[0] in `inputs`

  attn::MaskType mask;
  attn::PairsType scores; ///< f32
  attn::AttnTensorType output; ///< rows as one sequence sees them, element type of o
  attn::AttnTensorType lse;

  /// The rows of a tensor as they lie in memory.
  attn::RowsAttr rows(const sema::Rows &rows) const;
  mlir::Type elementType(sema::DType dtype) const;

private:
  void addTensor(const char *name, const sema::Tensor &tensor, bool scalesAlongRows);
  attn::AttnTensorType tableType(const sema::Spec &spec, const sema::Table &table) const;

  mlir::MLIRContext &context;
};

/// Of a launch-time head count, too.
int64_t headsOf(const sema::Tensor &tensor);

} // namespace fovea
