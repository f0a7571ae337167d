// dialect/Attn/Shapes.h - the shape questions that several verifiers ask
#ifndef FOVEA_DIALECT_ATTN_SHAPES_H
#define FOVEA_DIALECT_ATTN_SHAPES_H

#include "dialect/Attn/Attn.h"

namespace fovea::attn {

inline AttnTensorType tensorType(mlir::Value value) { return llvm::cast<AttnTensorType>(value.getType()); }
inline PairsType pairsType(mlir::Value value) { return llvm::cast<PairsType>(value.getType()); }

/// Floating rows x heads x features, the features known: what products and elementwise ops take.
inline bool isFloatRowsHeadsFeatures(AttnTensorType type) {
  return type.isRowsHeadsFeatures() && !mlir::ShapedType::isDynamic(type.getFeatures()) &&
         llvm::isa<mlir::FloatType>(type.getElementType());
}

/// True unless both head counts are known and `heads` is no multiple of `grouped`.
inline bool headsDivide(int64_t heads, int64_t grouped) {
  return mlir::ShapedType::isDynamic(heads) || mlir::ShapedType::isDynamic(grouped) || heads % grouped == 0;
}

/// The same rows and heads; element types may differ.
inline bool haveSameShape(PairsType a, PairsType b) {
  return a.getQueries() == b.getQueries() && a.getKeys() == b.getKeys() && a.getHeads() == b.getHeads();
}

/// The type of one f32 per head: a sink.
inline AttnTensorType perHeadType(int64_t heads, mlir::MLIRContext *context) {
  return AttnTensorType::get(context, AxisAttr::heads(context, heads), mlir::Float32Type::get(context));
}

/// The type of one f32 per query row and head: lse and row statistics.
inline AttnTensorType rowStatisticType(PairsType pairs) {
  return AttnTensorType::rowsHeads(pairs.getQueries(), pairs.getHeads(),
                                   mlir::Float32Type::get(pairs.getContext()));
}

} // namespace fovea::attn

#endif // FOVEA_DIALECT_ATTN_SHAPES_H
