// runtime/core/Arguments.cpp - binding of tensors to a manifest.
#include "runtime/core/Arguments.h"

#include <algorithm>
#include <limits>
#include <set>

namespace fovea {

namespace {

std::string quoted(const std::string &name) { return "tensor '" + name + "'"; }

std::string shapeText(const std::vector<int64_t> &values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

std::string hex(unsigned long long value) {
  char text[32];
  snprintf(text, sizeof text, "0x%llx", value);
  return text;
}

std::string acceptedNames(const Manifest &manifest) {
  std::string text;
  for (const TensorSpec &tensor : manifest.tensors)
    text += (text.empty() ? "" : ", ") + tensor.name + (tensor.optional ? " (optional)" : "");
  return text;
}

/// Element type, rank, strides, address: what needs no other tensor.
Expected<void> checkAlone(const TensorSpec &spec, const Tensor &tensor) {
  auto refuse = [&](const std::string &text) -> Expected<void> { return Error{quoted(spec.name) + ": " + text}; };
  bool accepted = false;
  std::string types;
  for (DType type : spec.dtypes) {
    accepted |= type == tensor.dtype;
    types += (types.empty() ? "" : " or ") + std::string(dtypeName(type));
  }
  if (!accepted)
    return refuse("the element type must be " + types + ", found " + std::string(dtypeName(tensor.dtype)));
  if (tensor.shape.size() != spec.shape.size())
    return refuse("expected " + std::to_string(spec.shape.size()) + " dimensions, found " +
                  std::to_string(tensor.shape.size()) + " " + shapeText(tensor.shape));
  if (tensor.strides.size() != tensor.shape.size())
    return refuse("expected one stride per dimension, found " + std::to_string(tensor.strides.size()));
  for (size_t i = 0; i < tensor.shape.size(); ++i)
    if (tensor.shape[i] < 0)
      return refuse("dimension " + std::to_string(i) + " has the negative extent " + std::to_string(tensor.shape[i]));
  if (!tensor.elements())
    return refuse("the shape " + shapeText(tensor.shape) + " with strides " + shapeText(tensor.strides) +
                  " spans more than 2^63 bytes");
  if (*tensor.elements() == 0)
    return {};

  size_t innermost = tensor.shape.size() - 1;
  if (tensor.shape[innermost] > 1 && tensor.strides[innermost] != 1 && !spec.strided)
    return refuse("the stride of dimension " + std::to_string(innermost) +
                  ", the innermost, must be 1 element, found " + std::to_string(tensor.strides[innermost]) +
                  "; make the tensor contiguous in that dimension");
  bool isOutput = spec.role == TensorSpec::Role::Output;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] == 1)
      continue;
    int64_t stride = tensor.strides[i];
    std::string where = "the stride of dimension " + std::to_string(i);
    if (stride < 0)
      return refuse(where + " is negative (" + std::to_string(stride) + "); flip the tensor into fresh memory");
    if (stride == 0 && isOutput)
      return refuse(where + " is 0, so that several elements of an output share an address");
    int64_t bytes = stride * dtypeBytes(tensor.dtype);
    if (i != innermost && bytes % spec.strideMultipleBytes != 0)
      return refuse(where + " must be a multiple of " + std::to_string(spec.strideMultipleBytes) +
                    " bytes, because the kernel moves whole rows of that granularity (TMA), found " +
                    std::to_string(bytes) + " bytes; pad the row");
  }
  if (tensor.address == 0)
    return refuse("the address is null, but the shape " + shapeText(tensor.shape) + " is not empty");
  int alignment = std::max(spec.minAlignment, dtypeBytes(tensor.dtype)); // loads are never split
  if (tensor.address % alignment != 0)
    return refuse("the address must be a multiple of " + std::to_string(alignment) + " bytes, found " +
                  hex(tensor.address));
  if (tensor.capacityKnown && uint64_t(*tensor.spanBytes()) > tensor.capacity)
    return refuse("the shape " + shapeText(tensor.shape) + " with strides " + shapeText(tensor.strides) + " spans " +
                  std::to_string(*tensor.spanBytes()) + " bytes, but its buffer has " +
                  std::to_string(tensor.capacity) + " from the address on");
  return {};
}

/// Solves shape entries such as batch + 1 = extent for their one unknown name.
struct Solution {
  std::string name;
  int64_t value;
};
std::optional<Solution> solve(const Expr &expr, int64_t extent, const Expr::Lookup &lookup) {
  if (expr.getKind() == Expr::Kind::Name)
    return Solution{expr.getName(), extent};
  if (expr.getOperands().empty())
    return std::nullopt;
  const Expr &left = expr.getOperands()[0], &right = expr.getOperands()[1];
  Expected<int64_t> known = right.evaluate(lookup);
  switch (expr.getKind()) {
  case Expr::Kind::Add:
    if (known)
      return solve(left, extent - *known, lookup);
    known = left.evaluate(lookup);
    return known ? solve(right, extent - *known, lookup) : std::nullopt;
  case Expr::Kind::Sub:
    return known ? solve(left, extent + *known, lookup) : std::nullopt;
  default:
    return std::nullopt;
  }
}

} // namespace

std::string operationNames(const Manifest &manifest) {
  std::string text;
  std::set<std::string> seen;
  for (const KernelSpec &kernel : manifest.kernels)
    if (seen.insert(kernel.name).second)
      text += (text.empty() ? "" : ", ") + kernel.name;
  return text;
}

const Tensor *Arguments::find(const std::string &name) const {
  auto it = passed.find(name);
  return it == passed.end() ? nullptr : &it->second;
}

std::optional<int64_t> Arguments::value(const std::string &name) const {
  if (auto it = symbols.find(name); it != symbols.end())
    return it->second;
  if (name == "sm_count")
    return smCount;
  size_t dot = name.find('.');
  if (dot == std::string::npos)
    return std::nullopt;
  const Tensor *tensor = find(name.substr(0, dot));
  std::string what = name.substr(dot + 1);
  if (what == "present")
    return tensor ? 1 : 0;
  // Sizes of an absent optional tensor are 0: the kernel does not look at them.
  if (what == "itemsize")
    return tensor ? dtypeBytes(tensor->dtype) : 0;
  size_t dot2 = what.find('.');
  if (dot2 == std::string::npos || dot2 + 2 != what.size() || what[dot2 + 1] < '0' || what[dot2 + 1] > '7')
    return std::nullopt;
  size_t dim = what[dot2 + 1] - '0';
  what.resize(dot2);
  if (what != "shape" && what != "stride")
    return std::nullopt;
  if (!tensor)
    return 0;
  if (dim >= tensor->shape.size())
    return std::nullopt;
  return what == "shape" ? tensor->shape[dim] : tensor->strides[dim];
}

Expected<int64_t> Arguments::evaluate(const Expr &expr) const {
  return expr.evaluate([this](const std::string &name) { return value(name); });
}

Expected<void> Arguments::matchExtent(const TensorSpec &tensor, size_t dim, int64_t extent) {
  const Expr &expr = tensor.shape[dim];
  std::string where = quoted(tensor.name) + ": dimension " + std::to_string(dim);
  Expr::Lookup lookup = [this](const std::string &name) { return value(name); };
  if (Expected<int64_t> wanted = expr.evaluate(lookup)) {
    if (*wanted == extent)
      return {};
    std::string source;
    expr.forEachName([&](const std::string &name) {
      auto it = boundBy.find(name);
      if (it != boundBy.end() && source.empty())
        source = " ('" + name + "' comes from " + it->second + ")";
    });
    std::string rule = expr.getKind() == Expr::Kind::Constant ? "" : expr.text() + " = ";
    return Error{where + " must be " + rule + std::to_string(*wanted) + source + ", found " + std::to_string(extent)};
  }
  std::optional<Solution> solution = solve(expr, extent, lookup);
  if (!solution)
    return Error{where + " is declared as " + expr.text() + ", which no argument determines"};
  if (solution->value < 0)
    return Error{where + " must be " + expr.text() + " with " + solution->name + " >= 0, found " +
                 std::to_string(extent)};
  symbols[solution->name] = solution->value;
  boundBy[solution->name] = quoted(tensor.name) + ", dimension " + std::to_string(dim);
  return {};
}

Expected<void> Arguments::bindShape(const TensorSpec &tensorSpec, const Tensor &tensor) {
  for (size_t dim = 0; dim < tensor.shape.size(); ++dim)
    if (auto ok = matchExtent(tensorSpec, dim, tensor.shape[dim]); !ok)
      return ok;
  return {};
}

Expected<Arguments> Arguments::bind(const Manifest &manifest, const std::string &operation,
                                    const std::vector<Tensor> &tensors, const std::map<std::string, int64_t> &dims,
                                    int smCount, const std::set<std::string> *used) {
  Arguments result;
  result.spec = manifest.spec;
  result.smCount = smCount;
  result.symbols = dims;
  for (const auto &[name, value] : dims)
    result.boundBy[name] = "the caller";
  bool known = false;
  for (const KernelSpec &kernel : manifest.kernels)
    known |= kernel.name == operation;
  if (!known)
    return Error{"'" + manifest.spec + "' has no operation '" + operation + "'; it has " + operationNames(manifest)};

  for (const Tensor &tensor : tensors) {
    if (!manifest.findTensor(tensor.name))
      return Error{"'" + manifest.spec + "' has no " + quoted(tensor.name) + "; it takes " + acceptedNames(manifest)};
    if (!result.passed.emplace(tensor.name, tensor).second)
      return Error{quoted(tensor.name) + " is passed twice"};
  }
  std::set<std::string> found;
  if (!used)
    found = usedTensors(manifest, operation), used = &found;
  for (const TensorSpec &tensorSpec : manifest.tensors) {
    const Tensor *tensor = result.find(tensorSpec.name);
    if (!tensor && !tensorSpec.optional && used->count(tensorSpec.name))
      return Error{quoted(tensorSpec.name) + " is missing; '" + manifest.spec + "' takes " + acceptedNames(manifest)};
    if (!tensor)
      continue;
    if (auto ok = checkAlone(tensorSpec, *tensor); !ok)
      return ok.error();
    if (auto ok = result.bindShape(tensorSpec, *tensor); !ok)
      return ok.error();
  }

  for (const TensorSpec &first : manifest.tensors) {
    const Tensor *output = result.find(first.name);
    if (!output || first.role != TensorSpec::Role::Output)
      continue;
    for (const TensorSpec &second : manifest.tensors) {
      const Tensor *other = result.find(second.name);
      bool pairSeen = second.role == TensorSpec::Role::Output && &second <= &first;
      if (other && !pairSeen && mayOverlap(*output, *other))
        return Error{"the output " + quoted(first.name) + " overlaps " + quoted(second.name) +
                     " in memory; an output needs memory of its own"};
    }
  }

  // A narrow offsets type must be able to point at every row.
  for (const TensorSpec &tensorSpec : manifest.tensors) {
    const Tensor *tensor = result.find(tensorSpec.name);
    const Tensor *offsets = tensorSpec.jagged.empty() ? nullptr : result.find(tensorSpec.jagged);
    if (tensor && offsets && offsets->dtype == DType::I32 && tensor->shape[0] > std::numeric_limits<int32_t>::max())
      return Error{quoted(tensorSpec.jagged) + " is i32, but " + quoted(tensorSpec.name) + " has " +
                   std::to_string(tensor->shape[0]) + " rows; pass i64 offsets"};
  }
  return result;
}

Expected<void> Arguments::checkOffsets(const Manifest &manifest, const HostOffsets &offsets) const {
  const Tensor *tensor = find(offsets.name);
  const TensorSpec *declared = manifest.findTensor(offsets.name);
  if (!tensor || !declared || declared->role != TensorSpec::Role::Offsets)
    return Error{"host offsets were given for '" + offsets.name + "', which is not a passed offsets tensor"};
  std::string where = quoted(offsets.name) + ": ";
  if (int64_t(offsets.values.size()) != tensor->shape[0])
    return Error{where + "the host copy has " + std::to_string(offsets.values.size()) + " values, the tensor " +
                 std::to_string(tensor->shape[0])};
  for (size_t i = 0; i < offsets.values.size(); ++i) {
    int64_t value = offsets.values[i];
    std::string at = "value " + std::to_string(i);
    if (value < 0)
      return Error{where + at + " is negative (" + std::to_string(value) + "); offsets count rows from 0" +
                   (tensor->dtype == DType::I32 ? " (an i32 table may have overflowed; pass i64)" : "")};
    if (tensor->dtype == DType::I32 && value > std::numeric_limits<int32_t>::max())
      return Error{where + at + " is " + std::to_string(value) + ", which does not fit i32; pass i64 offsets"};
    if (i > 0 && value < offsets.values[i - 1])
      return Error{where + at + " decreases from " + std::to_string(offsets.values[i - 1]) + " to " +
                   std::to_string(value) + "; sequence i is the rows [offsets[i], offsets[i + 1])"};
  }
  for (const TensorSpec &other : manifest.tensors)
    if (const Tensor *cut = other.jagged == offsets.name ? find(other.name) : nullptr)
      if (!offsets.values.empty() && offsets.values.back() > cut->shape[0])
        return Error{where + "the last value is " + std::to_string(offsets.values.back()) + ", but " +
                     quoted(other.name) + " has only " + std::to_string(cut->shape[0]) + " rows"};
  for (const TensorSpec &table : manifest.tensors) {
    const Tensor *rows = table.positions == offsets.name ? find(table.name) : nullptr;
    for (size_t i = 1; rows && i < offsets.values.size(); ++i)
      if (int64_t length = offsets.values[i] - offsets.values[i - 1]; length > rows->shape[0])
        return Error{quoted(table.name) + ": has " + std::to_string(rows->shape[0]) +
                     " rows, one for each position in a sequence, but sequence " + std::to_string(i - 1) + " of '" +
                     offsets.name + "' has " + std::to_string(length) + "; pass a longer table"};
  }
  return {};
}

} // namespace fovea
