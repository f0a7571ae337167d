// dialect/Attn/Reference/Products.h - the three products, and the ops on rows of pairs
#ifndef FOVEA_DIALECT_ATTN_REFERENCE_PRODUCTS_H
#define FOVEA_DIALECT_ATTN_REFERENCE_PRODUCTS_H

#include "dialect/Attn/Reference/Pairs.h"

namespace fovea::attn::reference {

/// How numbers are carried: see `Precision`.
struct Arithmetic {
  Precision precision;
  /// `value`, rounded to `type` when the precision rounds.
  double round(mlir::Type type, double value) const;
  void round(TensorValue &value) const;
  void round(PairsValue &value) const;
  /// The pairs as they enter a product with elements of `type`.
  double roundOperand(mlir::Type type, double pair) const;
};

PairsValue dots(const Batch &batch, const Arithmetic &arithmetic, DotsOp op, const TensorValue &queries,
                const TensorValue &keys, std::shared_ptr<const PairSet> set);
TensorValue combine(const Batch &batch, const Arithmetic &arithmetic, CombineOp op, const PairsValue &pairs,
                    const TensorValue &values);
TensorValue combineQueries(const Batch &batch, const Arithmetic &arithmetic, CombineQueriesOp op,
                           const PairsValue &pairs, const TensorValue &x);

/// Fills p and lse; `sink`: of each head, may be null.
void softmax(const Batch &batch, const PairsValue &scores, const TensorValue *sink, PairsValue &p, TensorValue &lse);
void sinkGrad(const Batch &batch, const TensorValue &sink, const TensorValue &lse, const TensorValue &d,
              TensorValue &result);
PairsValue softmaxGiven(const Batch &batch, const PairsValue &scores, const TensorValue &lse);
PairsValue softmaxGrad(const Batch &batch, const PairsValue &p, const PairsValue &dp, const TensorValue &d);
PairsValue quantize(QuantizeOp op, const Arithmetic &arithmetic, const PairsValue &input);
void rowDot(const Batch &batch, const PairsValue &lhs, const PairsValue &rhs, TensorValue &result);

} // namespace fovea::attn::reference

#endif // FOVEA_DIALECT_ATTN_REFERENCE_PRODUCTS_H
