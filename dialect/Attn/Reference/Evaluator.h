// dialect/Attn/Reference/Evaluator.h - the meaning of a spec: evaluates it in f64 over host buffers
#ifndef FOVEA_DIALECT_ATTN_REFERENCE_EVALUATOR_H
#define FOVEA_DIALECT_ATTN_REFERENCE_EVALUATOR_H

#include "dialect/Attn/Attn.h"

#include <llvm/Support/Error.h>
#include <map>
#include <string>
#include <vector>

namespace fovea::attn::reference {

/// A tensor on the host. Integers are exact up to 2^53.
struct HostTensor {
  std::vector<int64_t> shape;    ///< the dimensions in memory, see below
  std::vector<int64_t> strides;  ///< in elements, one per dimension; 0 repeats
  std::vector<double> values;

  HostTensor() = default;
  /// Contiguous, the last dimension innermost, every element `value`.
  explicit HostTensor(std::vector<int64_t> shape, double value = 0.0);
  double &at(llvm::ArrayRef<int64_t> index);
  double at(llvm::ArrayRef<int64_t> index) const;
  int64_t elements() const;
};

/// What a launch passes, by name. The dimensions of a tensor follow its axes, one each, except that rows and blocks of
/// rows which are not jagged and not shared have two:
/// `jagged` [total] · `dense` [batch, seq] · `fixed(N)` [batch, N] · `broadcast(N)` [N] · `heads` [heads] · extent
/// [extent] · `blocks(N, jagged)` [sum of each sequence's blocks] · `blocks(N, dense)` [batch, blocks].
/// Offsets are those that the row spaces name: batch + 1 entries each.
/// The caller has rounded the values to the element type (`Rounding.h`).
struct NamedTensors {
  std::map<std::string, HostTensor> tensors;
  std::map<std::string, std::vector<int64_t>> offsets;
};

/// The results by the names of `attn.yield`, contiguous. Rows that no sequence owns (before the first offset, past the
/// last) hold NaN: nothing is written there.
struct Evaluation {
  std::map<std::string, HostTensor> tensors;
};

enum class Precision {
  Exact,   ///< f64 throughout, nothing is rounded
  Plain16, ///< as a plain kernel without fusion tricks: each result rounded to its element type (f32 for pairs and
           ///< expressions), the pairs that enter a product rounded to the other operand's type, sums kept in f32
};

/// Evaluates any spec, forward or derived. Errors name the tensor and the rule: a tensor that is missing or of the wrong
/// shape, offsets that decrease or exceed the tensor, two inputs that count different batches, a look-up or a block list
/// out of range. Plain loops per sequence, head and row; nothing outside a sequence is read.
llvm::Expected<Evaluation> evaluate(SpecOp spec, const NamedTensors &inputs, Precision precision = Precision::Exact);

/// The rule for block lists alone, as `evaluate` checks it: a kernel takes them from memory and cannot say.
llvm::Error checkBlockLists(SpecOp spec, const NamedTensors &inputs);

} // namespace fovea::attn::reference

#endif // FOVEA_DIALECT_ATTN_REFERENCE_EVALUATOR_H
