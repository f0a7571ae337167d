// dialect/Attn/Reference/Batch.h - which rows each sequence owns, and tensors bound to a launch
#ifndef FOVEA_DIALECT_ATTN_REFERENCE_BATCH_H
#define FOVEA_DIALECT_ATTN_REFERENCE_BATCH_H

#include "dialect/Attn/Reference/Evaluator.h"

#include <memory>
#include <optional>

namespace fovea::attn::reference {

/// The sequences of one launch. Rows of all sequences are numbered flat: those of sequence b start at `start`.
class Batch {
public:
  /// Reads lengths from the shapes and offsets, and checks that all inputs agree.
  static llvm::Expected<Batch> bind(SpecOp spec, const NamedTensors &inputs);

  int64_t sequences() const { return count.value_or(0); }
  /// The value of `heads(?)`: one number for all tensors of a launch.
  int64_t launchHeads() const { return heads.value_or(1); }
  int64_t start(RowsAttr rows, int64_t b) const;
  int64_t length(RowsAttr rows, int64_t b) const;
  /// Flat rows in memory; for jagged rows this can exceed the last offset.
  int64_t total(RowsAttr rows) const;
  /// The same for `blocks(size, rows)`.
  int64_t blockStart(RowsAttr rows, int64_t size, int64_t b) const;
  int64_t blockTotal(RowsAttr rows, int64_t size) const;
  /// Where index `position` of a rows or blocks axis of sequence b is; nullopt when it is outside the sequence.
  std::optional<int64_t> locate(AxisAttr axis, int64_t b, int64_t position) const;

private:
  llvm::Error bindCount(llvm::StringRef what, int64_t sequences);
  llvm::Error bindTensor(llvm::StringRef name, AttnTensorType type, const HostTensor &tensor);
  llvm::Error bindOffsets(llvm::StringRef name, const std::vector<int64_t> &offsets);

  std::optional<int64_t> count;
  std::string countedBy;
  std::optional<int64_t> heads;
  std::map<std::string, int64_t> seqs;                  ///< dense rows: their length by name
  std::map<std::string, std::vector<int64_t>> offsets;  ///< jagged rows
  std::map<std::string, int64_t> totals;                ///< jagged rows: the tensor's dimension
};

/// A tensor inside the evaluator: contiguous, one size per axis, rows and blocks flat over the batch.
struct TensorValue {
  AttnTensorType type;
  llvm::SmallVector<int64_t, 4> sizes;
  std::shared_ptr<std::vector<double>> data;

  /// Row `flat`, head h of rows x heads x features (or rows x heads).
  double *row(int64_t flat, int64_t h) {
    int64_t features = sizes.size() > 2 ? sizes[2] : 1;
    return data->data() + (flat * sizes[1] + h) * features;
  }
  const double *row(int64_t flat, int64_t h) const { return const_cast<TensorValue *>(this)->row(flat, h); }
  int64_t heads() const { return sizes[1]; }
  int64_t features() const { return sizes.size() > 2 ? sizes[2] : 1; }
};

/// A new value of `type`, every element `fill`; sizes known only at launch come from `heads` and `extents`.
TensorValue makeTensor(const Batch &batch, AttnTensorType type, double fill, int64_t heads, int64_t extent = 0);

/// Copies an input, whatever its strides.
llvm::Expected<TensorValue> bindInput(const Batch &batch, llvm::StringRef name, AttnTensorType type,
                                      const HostTensor &tensor);
/// Sets the rows that no sequence owns to NaN, when rows are the first axis.
void markUnowned(const Batch &batch, AttnTensorType type, std::vector<double> &values);
/// Gives rows back the dimensions that they have in memory, and marks those that no sequence owns.
HostTensor toHost(const Batch &batch, const TensorValue &value);

} // namespace fovea::attn::reference

#endif // FOVEA_DIALECT_ATTN_REFERENCE_BATCH_H
