// dialect/Attn/Reference/Pairs.h - the present pairs of a launch, and a value for each
#ifndef FOVEA_DIALECT_ATTN_REFERENCE_PAIRS_H
#define FOVEA_DIALECT_ATTN_REFERENCE_PAIRS_H

#include "dialect/Attn/Reference/Expression.h"

namespace fovea::attn::reference {

/// Which keys each query row sees. Absent pairs are not stored, so nothing can read them.
struct PairSet {
  struct Sequence {
    int64_t queries = 0, keys = 0;     ///< the lengths of both sides
    std::vector<int64_t> starts;       ///< row r's keys are [starts[r], starts[r + 1]) of `present`
    std::vector<int32_t> present;      ///< ascending positions in the sequence
  };
  bool perHead = false;                ///< rows are numbered h * queries + i when true, i when all heads agree
  int64_t heads = 1;                   ///< query heads of the values on this set
  std::vector<Sequence> sequences;

  llvm::ArrayRef<int32_t> row(int64_t b, int64_t h, int64_t i) const {
    const Sequence &s = sequences[b];
    int64_t r = perHead ? h * s.queries + i : i;
    return llvm::ArrayRef<int32_t>(s.present).slice(s.starts[r], s.starts[r + 1] - s.starts[r]);
  }
  /// Where the values of a row start among those of its sequence.
  int64_t offset(int64_t b, int64_t h, int64_t i) const {
    const Sequence &s = sequences[b];
    return perHead ? s.starts[h * s.queries + i] : h * int64_t(s.present.size()) + s.starts[i];
  }
  int64_t size(int64_t b) const {
    return int64_t(sequences[b].present.size()) * (perHead ? 1 : heads);
  }
};

/// A value for each present pair: for each sequence those of head 0, row 0, then row 1, ...
struct PairsValue {
  PairsType type;
  std::shared_ptr<const PairSet> set;
  std::vector<std::vector<double>> data;

  PairsValue(PairsType type, std::shared_ptr<const PairSet> set) : type(type), set(std::move(set)) {
    for (size_t b = 0; b < this->set->sequences.size(); ++b)
      data.emplace_back(this->set->size(b));
  }
  double *row(int64_t b, int64_t h, int64_t i) { return data[b].data() + set->offset(b, h, i); }
  const double *row(int64_t b, int64_t h, int64_t i) const { return data[b].data() + set->offset(b, h, i); }
};

/// A query row, for which a mask says the present keys.
struct QueryRow {
  const Batch &batch;
  int64_t b, h, i, queries, keys;
};

/// A mask before it meets heads: the ascending keys of one row.
struct MaskValue {
  bool perHead = false;
  std::function<llvm::Error(const QueryRow &row, std::vector<int32_t> &keys)> keysOf;
};

/// The meaning of a mask op, from those of its operands (`masks`) and tensors.
llvm::Expected<MaskValue> evaluateMask(mlir::Operation *op, const Batch &batch,
                                       const std::function<const MaskValue &(mlir::Value)> &masks,
                                       const Expression::TensorLookup &tensors);
/// Whether every list of a launch is in order: key blocks of its sequence, ascending, each once.
llvm::Error checkBlockList(BlocksOp op, const Batch &batch, const TensorValue &list);

llvm::Expected<std::shared_ptr<const PairSet>> makePairSet(const Batch &batch, MaskType type, const MaskValue &mask,
                                                           int64_t heads);

/// Runs the expression for the present pairs of each query row, then `row(b, h, i, pairs)`.
llvm::Error runOnPairs(const Batch &batch, Expression &expression, llvm::ArrayRef<const PairsValue *> inputs,
                       llvm::function_ref<llvm::Error(int64_t, int64_t, int64_t, size_t)> row);

} // namespace fovea::attn::reference

#endif // FOVEA_DIALECT_ATTN_REFERENCE_PAIRS_H
