// frontend/cli/Inputs.h - the tensors of one launch on the host: random ones, or the user's .npy files.
#pragma once

#include "dialect/Attn/Reference/Evaluator.h"
#include "runtime/abi/Error.h"
#include "runtime/core/Npy.h"
#include "runtime/core/Workload.h"

#include <map>
#include <string>

namespace fovea {

/// Arrays by name, offsets tables included, contiguous, in the element types of the spec.
using Arrays = std::map<std::string, NpyArray>;

/// How large a random batch is. Lengths are drawn uniformly for each sequence.
struct BatchSize {
  int64_t batch = 8;
  int64_t shortest = 1, longest = 256; ///< jagged sequences; dense ones have `longest` rows
  uint64_t seed = 0;
  int64_t paddingRows = 3;             ///< rows behind the last sequence of a jagged tensor; inputs hold NaN there
  bool wideOffsets = false;            ///< i64 offsets instead of i32
  std::vector<int64_t> listed;         ///< unless empty, the lengths: `batch` of them, none drawn
  std::map<std::string, Lengths> named; ///< of the rows of one offsets table or dense dimension, instead of the above
  bool batchGiven = false;             ///< the user said `batch`: lists must agree with it

  Lengths lengthsOf(const std::string &rows) const;
  int64_t mostRows() const; ///< of any sequence
};

/// `size` with `batch` as its lists say. Refused: a name that no rows of `spec` have, lists of different sizes, a list for
/// dense rows, which all sequences have alike.
Expected<BatchSize> fitTo(attn::SpecOp spec, BatchSize size);

/// The runtime's name of an element type of `attn`.
DType dtypeOf(mlir::Type type);

/// Inputs for `spec`: floating values are standard normal (scales of microscaled data are powers of two, rotary tables
/// cosines and sines), integer tables are sequence-like document numbers, block lists are random subsets. The same seed
/// gives the same bytes on every machine. `given` arrays are taken as they are and not drawn.
Expected<Arrays> randomInputs(attn::SpecOp spec, const BatchSize &size, const Arrays &given = {});

/// Reads the files given for the inputs and offsets of `spec`; an input without a file is one of `given`. Refused: a file
/// for no input, an input that is neither, a wrong element type. Offsets may be <i4 or <i8.
Expected<Arrays> readInputs(attn::SpecOp spec, const std::map<std::string, std::string> &files, const Arrays &given = {});

/// The same for the evaluator.
attn::reference::NamedTensors toNamedTensors(attn::SpecOp spec, const Arrays &arrays);

/// Names of the offsets tables that jagged inputs or results of `spec` need.
std::vector<std::string> offsetsNames(attn::SpecOp spec);
/// Names of the dense rows, `seq` of [batch, seq, …].
std::vector<std::string> denseNames(attn::SpecOp spec);

/// Rounds an evaluated tensor to `dtype`.
NpyArray toArray(const attn::reference::HostTensor &tensor, DType dtype);

} // namespace fovea
