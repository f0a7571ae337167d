// runtime/core/Arguments.h - everything that is checked about tensors before a launch, on the host alone.
#ifndef FOVEA_RUNTIME_CORE_ARGUMENTS_H
#define FOVEA_RUNTIME_CORE_ARGUMENTS_H

#include "runtime/abi/Manifest.h"
#include "runtime/core/Tensor.h"

#include <map>

namespace fovea {

/// A host copy of an offsets tensor, so that its values can be checked without a copy from the device.
struct HostOffsets {
  std::string name;
  std::vector<int64_t> values;
};

/// Arguments of one operation, matched with the manifest: what each name of a launch expression is worth.
class Arguments {
public:
  /// Matches `tensors` with the tensors of `manifest` that `operation` uses, binds the dim symbols and checks
  /// names, element types, ranks, extents, strides, alignment, null, known capacity, and that no output overlaps
  /// an input or itself. `dims` binds symbols in advance; `smCount` is the device's; `used`, if it is
  /// known, usedTensors of the operation. Strides of a dimension of
  /// extent 1 are not looked at.
  static Expected<Arguments> bind(const Manifest &manifest, const std::string &operation,
                                  const std::vector<Tensor> &tensors, const std::map<std::string, int64_t> &dims,
                                  int smCount, const std::set<std::string> *used = nullptr);

  /// The value of a name of runtime/abi/Expr.h.
  std::optional<int64_t> value(const std::string &name) const;
  Expected<int64_t> evaluate(const Expr &expr) const;
  /// Gives a name its value, for expressions that are evaluated later.
  void define(const std::string &name, int64_t value) { symbols[name] = value; }

  /// The tensor passed as `name`, or null.
  const Tensor *find(const std::string &name) const;
  const std::map<std::string, Tensor> &tensors() const { return passed; }

  /// Checks the values of an offsets tensor: as many as declared, from 0 up, never decreasing, none beyond the
  /// rows of a tensor that they cut, no sequence longer than a table of positions.
  Expected<void> checkOffsets(const Manifest &manifest, const HostOffsets &offsets) const;

private:
  std::map<std::string, Tensor> passed;
  std::map<std::string, int64_t> symbols;
  std::map<std::string, std::string> boundBy; ///< symbol -> "tensor 'q', dimension 0"
  std::string spec;
  int smCount = 0;

  Expected<void> bindShape(const TensorSpec &spec, const Tensor &tensor);
  Expected<void> matchExtent(const TensorSpec &spec, size_t dim, int64_t extent);
};

/// Names of the operations in a manifest, in order: "forward, backward".
std::string operationNames(const Manifest &manifest);

} // namespace fovea

#endif // FOVEA_RUNTIME_CORE_ARGUMENTS_H
