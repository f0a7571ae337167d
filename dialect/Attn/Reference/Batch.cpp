// dialect/Attn/Reference/Batch.cpp - which rows each sequence owns, and tensors bound to a launch
#include "dialect/Attn/Reference/Batch.h"

#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;

namespace fovea::attn::reference {

template <typename... Parts> static llvm::Error error(Parts &&...parts) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  (stream << ... << parts);
  return llvm::createStringError(text);
}

static int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Dense and fixed rows have a batch dimension of their own.
static bool hasBatchDimension(AxisAttr axis) {
  return axis.getRows() &&
         (axis.getRows().getKind() == RowsKind::Dense || axis.getRows().getKind() == RowsKind::Fixed);
}

/// "[rows of offsets, 2 heads, 96]": the dimensions in memory.
static std::string dimensionsOf(AttnTensorType type) {
  std::vector<std::string> parts;
  auto sized = [](int64_t size, StringRef what) {
    return ShapedType::isDynamic(size) ? what.str() : std::to_string(size) + (what.empty() ? "" : " ") + what.str();
  };
  for (AxisAttr axis : type.getAxes()) {
    RowsAttr rows = axis.getRows();
    if (hasBatchDimension(axis))
      parts.push_back("sequences");
    if (axis.getKind() == AxisKind::Blocks)
      parts.push_back("blocks of " + std::to_string(axis.getSize()) + " rows");
    else if (axis.getKind() == AxisKind::Rows)
      parts.push_back(rows.getKind() == RowsKind::Jagged || rows.getKind() == RowsKind::Dense
                          ? "rows of " + rows.getName().getValue().str()
                          : std::to_string(rows.getCount()) + " rows");
    else
      parts.push_back(axis.getKind() == AxisKind::Heads ? sized(axis.getSize(), "heads") : sized(axis.getSize(), ""));
    if (parts.back().empty())
      parts.back() = "entries";
  }
  return "[" + llvm::join(parts, ", ") + "]";
}
static std::string sizesOf(const HostTensor &tensor) {
  std::vector<std::string> parts;
  for (int64_t size : tensor.shape)
    parts.push_back(std::to_string(size));
  return "[" + llvm::join(parts, ", ") + "]";
}

//===-- binding ---------------------------------------------------------------------------------------------===//

llvm::Error Batch::bindCount(StringRef what, int64_t sequences) {
  if (count && *count != sequences)
    return error("expected one batch size, found ", *count, " sequences in ", countedBy, " and ", sequences, " in ",
                 what);
  count = sequences;
  countedBy = what.str();
  return llvm::Error::success();
}

llvm::Error Batch::bindOffsets(StringRef name, const std::vector<int64_t> &table) {
  if (table.empty())
    return error("offsets '", name, "': expected batch + 1 entries, found none");
  if (table.front() < 0)
    return error("offsets '", name, "': expected entries of at least 0, found ", table.front());
  for (size_t n = 1; n < table.size(); ++n)
    if (table[n] < table[n - 1])
      return error("offsets '", name, "': expected entries that do not decrease, found ", table[n], " after ",
                   table[n - 1], " at entry ", n);
  offsets[name.str()] = table;
  return bindCount(("offsets '" + name + "'").str(), int64_t(table.size()) - 1);
}

llvm::Error Batch::bindTensor(StringRef name, AttnTensorType type, const HostTensor &tensor) {
  std::string what = ("input '" + name + "'").str();
  size_t dimension = 0, rank = 0;
  for (AxisAttr axis : type.getAxes())
    rank += hasBatchDimension(axis) ? 2 : 1;
  if (tensor.shape.size() != rank)
    return error(what, ": expected ", rank, rank == 1 ? " dimension, " : " dimensions, ", dimensionsOf(type), ", found ",
                 tensor.shape.size(), ", ", sizesOf(tensor));
  if (tensor.strides.size() != rank)
    return error(what, ": expected ", rank, " strides, found ", tensor.strides.size());
  int64_t last = 0;
  for (size_t n = 0; n < rank; ++n) {
    if (tensor.shape[n] < 0 || tensor.strides[n] < 0)
      return error(what, ": expected sizes and strides of at least 0, found ", tensor.shape[n], " and ",
                   tensor.strides[n], " in dimension ", n);
    last += std::max<int64_t>(tensor.shape[n] - 1, 0) * tensor.strides[n];
  }
  if (tensor.elements() > 0 && last >= int64_t(tensor.values.size()))
    return error(what, ": expected at least ", last + 1, " elements for its shape and strides, found ",
                 tensor.values.size());
  for (AxisAttr axis : type.getAxes()) {
    RowsAttr rows = axis.getRows();
    if (hasBatchDimension(axis))
      if (llvm::Error e = bindCount(what, tensor.shape[dimension++]))
        return e;
    int64_t size = tensor.shape[dimension++];
    int64_t expected = axis.getSize();
    if (axis.getKind() == AxisKind::Rows && rows.getKind() == RowsKind::Jagged) {
      auto [total, isNew] = totals.try_emplace(rows.getName().str(), size);
      if (!isNew && total->second != size)
        return error(what, ": expected ", total->second, " rows as in other tensors of ", rows.getName().getValue(), ", found ",
                     size);
      int64_t needed = offsets.at(rows.getName().str()).back();
      if (needed > size)
        return error(what, ": expected at least ", needed, " rows, where offsets '", rows.getName().getValue(),
                     "' end, found ", size);
      continue;
    }
    if (axis.getKind() == AxisKind::Rows && rows.getKind() == RowsKind::Dense) {
      auto [seq, isNew] = seqs.try_emplace(rows.getName().str(), size);
      expected = seq->second;
    } else if (axis.getKind() == AxisKind::Rows) {
      expected = rows.getCount();
    } else if (axis.getKind() == AxisKind::Blocks) {
      continue; // checked once all rows are known
    } else if (axis.getKind() == AxisKind::Heads && ShapedType::isDynamic(expected)) {
      if (size < 1)
        return error(what, ": expected at least one head, found ", size);
      expected = heads.value_or(size);
      heads = expected;
    } else if (ShapedType::isDynamic(expected)) {
      continue;
    }
    if (size != expected)
      return error(what, ": expected ", expected, " in dimension ", dimension - 1, " of ", dimensionsOf(type), ", found ",
                   size, " in ", sizesOf(tensor));
  }
  return llvm::Error::success();
}

llvm::Expected<Batch> Batch::bind(SpecOp spec, const NamedTensors &inputs) {
  Batch batch;
  // Offsets first: jagged tensors are checked against them.
  for (BlockArgument argument : spec.getBody().getArguments())
    for (AxisAttr axis : cast<AttnTensorType>(argument.getType()).getAxes()) {
      if (!axis.getRows() || axis.getRows().getKind() != RowsKind::Jagged)
        continue;
      std::string name = axis.getRows().getName().str();
      auto found = inputs.offsets.find(name);
      if (found == inputs.offsets.end())
        return error("offsets '", name, "': expected in the launch, found none");
      if (!batch.offsets.count(name))
        if (llvm::Error e = batch.bindOffsets(name, found->second))
          return std::move(e);
    }
  for (BlockArgument argument : spec.getBody().getArguments()) {
    StringRef name = spec.getInputName(argument.getArgNumber());
    auto found = inputs.tensors.find(name.str());
    if (found == inputs.tensors.end())
      return error("input '", name, "': expected in the launch, found none");
    if (llvm::Error e = batch.bindTensor(name, cast<AttnTensorType>(argument.getType()), found->second))
      return std::move(e);
  }
  for (BlockArgument argument : spec.getBody().getArguments())
    for (AxisAttr axis : cast<AttnTensorType>(argument.getType()).getAxes())
      if (axis.getRows() && axis.getRows().getKind() == RowsKind::Dense &&
          !batch.seqs.count(axis.getRows().getName().str()))
        return error("input '", spec.getInputName(argument.getArgNumber()), "': expected another tensor with rows ",
                     axis.getRows().getName(), ", which says their length, found none");
  return batch;
}

//===-- queries ---------------------------------------------------------------------------------------------===//

int64_t Batch::length(RowsAttr rows, int64_t b) const {
  switch (rows.getKind()) {
  case RowsKind::Jagged: {
    const std::vector<int64_t> &table = offsets.at(rows.getName().str());
    return table[b + 1] - table[b];
  }
  case RowsKind::Dense:
    return seqs.at(rows.getName().str());
  case RowsKind::Fixed:
  case RowsKind::Broadcast:
    return rows.getCount();
  }
  llvm_unreachable("a kind of rows");
}

int64_t Batch::start(RowsAttr rows, int64_t b) const {
  switch (rows.getKind()) {
  case RowsKind::Jagged:
    return offsets.at(rows.getName().str())[b];
  case RowsKind::Dense:
  case RowsKind::Fixed:
    return b * length(rows, b);
  case RowsKind::Broadcast:
    return 0;
  }
  llvm_unreachable("a kind of rows");
}

int64_t Batch::total(RowsAttr rows) const {
  if (rows.getKind() == RowsKind::Jagged) {
    auto found = totals.find(rows.getName().str());
    return found != totals.end() ? found->second : offsets.at(rows.getName().str()).back();
  }
  return rows.isBroadcast() ? rows.getCount() : sequences() * (sequences() ? length(rows, 0) : 0);
}

int64_t Batch::blockStart(RowsAttr rows, int64_t size, int64_t b) const {
  int64_t blocks = 0;
  if (!rows.isBroadcast())
    for (int64_t n = 0; n < b; ++n)
      blocks += ceilDivide(length(rows, n), size);
  return blocks;
}

int64_t Batch::blockTotal(RowsAttr rows, int64_t size) const {
  return rows.isBroadcast() ? ceilDivide(rows.getCount(), size) : blockStart(rows, size, sequences());
}

std::optional<int64_t> Batch::locate(AxisAttr axis, int64_t b, int64_t position) const {
  RowsAttr rows = axis.getRows();
  bool blocks = axis.getKind() == AxisKind::Blocks;
  int64_t extent = blocks ? ceilDivide(length(rows, b), axis.getSize()) : length(rows, b);
  if (position < 0 || position >= extent)
    return std::nullopt;
  return position + (blocks ? blockStart(rows, axis.getSize(), b) : start(rows, b));
}

//===-- values ----------------------------------------------------------------------------------------------===//

TensorValue makeTensor(const Batch &batch, AttnTensorType type, double fill, int64_t heads, int64_t extent) {
  TensorValue value;
  value.type = type;
  int64_t elements = 1;
  for (AxisAttr axis : type.getAxes()) {
    int64_t size = axis.getSize();
    switch (axis.getKind()) {
    case AxisKind::Rows:
      size = batch.total(axis.getRows());
      break;
    case AxisKind::Blocks:
      size = batch.blockTotal(axis.getRows(), axis.getSize());
      break;
    case AxisKind::Heads:
      size = ShapedType::isDynamic(size) ? heads : size;
      break;
    case AxisKind::Extent:
      size = ShapedType::isDynamic(size) ? extent : size;
      break;
    }
    value.sizes.push_back(size);
    elements *= size;
  }
  value.data = std::make_shared<std::vector<double>>(elements, fill);
  return value;
}

llvm::Expected<TensorValue> bindInput(const Batch &batch, StringRef name, AttnTensorType type,
                                      const HostTensor &tensor) {
  TensorValue value;
  value.type = type;
  size_t dimension = 0;
  for (AxisAttr axis : type.getAxes()) {
    int64_t size = tensor.shape[dimension++];
    if (hasBatchDimension(axis)) {
      int64_t each = tensor.shape[dimension++];
      if (axis.getKind() == AxisKind::Blocks && each != ceilDivide(batch.length(axis.getRows(), 0), axis.getSize()))
        return error("input '", name, "': expected ", ceilDivide(batch.length(axis.getRows(), 0), axis.getSize()),
                     " blocks of ", axis.getSize(), " rows per sequence, found ", each);
      size *= each;
    }
    if (axis.getKind() == AxisKind::Blocks && size != batch.blockTotal(axis.getRows(), axis.getSize()))
      return error("input '", name, "': expected ", batch.blockTotal(axis.getRows(), axis.getSize()), " blocks of ",
                   axis.getSize(), " rows in all, found ", size);
    value.sizes.push_back(size);
  }
  value.data = std::make_shared<std::vector<double>>();
  value.data->reserve(tensor.elements());
  if (tensor.elements() == 0)
    return value;
  std::vector<int64_t> index(tensor.shape.size(), 0);
  int64_t address = 0;
  while (true) {
    value.data->push_back(tensor.values[address]);
    size_t n = index.size();
    while (n > 0) {
      --n;
      address += tensor.strides[n];
      if (++index[n] < tensor.shape[n])
        break;
      address -= tensor.strides[n] * index[n];
      index[n] = 0;
      if (n == 0)
        return value;
    }
    if (index.empty())
      return value;
  }
}

HostTensor toHost(const Batch &batch, const TensorValue &value) {
  std::vector<int64_t> shape;
  for (auto [axis, flat] : llvm::zip(value.type.getAxes(), value.sizes)) {
    int64_t size = flat;
    if (hasBatchDimension(axis)) {
      // Of no sequence, too, the rows are as many as the launch says.
      const int64_t blocks = axis.getKind() == AxisKind::Blocks ? axis.getSize() : 1;
      shape.push_back(batch.sequences());
      size = (batch.length(axis.getRows(), 0) + blocks - 1) / blocks;
    }
    shape.push_back(size);
  }
  HostTensor tensor(shape);
  tensor.values = *value.data;
  markUnowned(batch, value.type, tensor.values);
  return tensor;
}

void markUnowned(const Batch &batch, AttnTensorType type, std::vector<double> &values) {
  ArrayRef<AxisAttr> axes = type.getAxes();
  if (axes.empty() || axes[0].getKind() != AxisKind::Rows || axes[0].getRows().getKind() != RowsKind::Jagged)
    return;
  RowsAttr rows = axes[0].getRows();
  int64_t rowSize = batch.total(rows) ? int64_t(values.size()) / batch.total(rows) : 0;
  int64_t sequences = batch.sequences();
  int64_t first = sequences ? batch.start(rows, 0) : batch.total(rows);
  int64_t last = sequences ? batch.start(rows, sequences - 1) + batch.length(rows, sequences - 1) : first;
  std::fill(values.begin(), values.begin() + first * rowSize, NAN);
  std::fill(values.begin() + last * rowSize, values.end(), NAN);
}

} // namespace fovea::attn::reference
