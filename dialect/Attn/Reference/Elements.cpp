// dialect/Attn/Reference/Elements.cpp - ops on rows x heads x features
#include "dialect/Attn/Reference/Elements.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace fovea::attn::reference {

/// Calls `row(b, i, flat row)` for each row that a sequence owns; shared rows once, as those of sequence 0.
template <typename Row> static llvm::Error forEachRow(const Batch &batch, RowsAttr rows, Row row) {
  int64_t owners = rows.isBroadcast() ? 1 : batch.sequences();
  for (int64_t b = 0; b < owners; ++b)
    for (int64_t i = 0; i < batch.length(rows, b); ++i)
      if (llvm::Error error = row(b, i, batch.start(rows, b) + i))
        return error;
  return llvm::Error::success();
}

llvm::Error runOnElements(const Batch &batch, Expression &expression, ArrayRef<const TensorValue *> inputs,
                          llvm::function_ref<llvm::Error(int64_t, int64_t, int64_t, size_t)> row) {
  RowsAttr rows = inputs[0]->type.getRows();
  size_t features = inputs[0]->features();
  std::vector<double> indices(features);
  std::iota(indices.begin(), indices.end(), 0.0);
  return forEachRow(batch, rows, [&](int64_t b, int64_t i, int64_t flat) -> llvm::Error {
    for (int64_t h = 0; h < inputs[0]->heads(); ++h) {
      std::vector<Column> arguments;
      for (const TensorValue *input : inputs)
        arguments.push_back({std::vector<double>(input->row(flat, h), input->row(flat, h) + features)});
      arguments.push_back(Column::uniform(i));
      arguments.push_back(Column::uniform(h));
      arguments.push_back({indices});
      arguments.push_back(Column::uniform(b));
      arguments.push_back(Column::uniform(batch.length(rows, b)));
      if (llvm::Error error = expression.run(batch, b, features, std::move(arguments)))
        return error;
      if (llvm::Error error = row(b, flat, h, features))
        return error;
    }
    return llvm::Error::success();
  });
}

llvm::Error scatterColumns(const Batch &batch, int64_t b, size_t points, const Expression &expression,
                           TensorValue &result) {
  for (size_t point = 0; point < points; ++point) {
    int64_t address = 0;
    for (auto [n, axis] : llvm::enumerate(result.type.getAxes())) {
      int64_t index = int64_t(expression.operand(n + 1)[point]);
      std::optional<int64_t> place = index;
      if (axis.getRows())
        place = batch.locate(axis, b, index);
      if (!place || *place < 0 || *place >= result.sizes[n])
        return llvm::createStringError(llvm::formatv("scatter: index {0} is outside axis {1} of {2} in sequence {3}",
                                                     index, n, result.type, b).str());
      address = address * result.sizes[n] + *place;
    }
    (*result.data)[address] += expression.operand(0)[point];
  }
  return llvm::Error::success();
}

void rowDotOfElements(const Batch &batch, const TensorValue &lhs, const TensorValue &rhs, TensorValue &result) {
  llvm::cantFail(forEachRow(batch, lhs.type.getRows(), [&](int64_t, int64_t, int64_t flat) {
    for (int64_t h = 0; h < lhs.heads(); ++h)
      *result.row(flat, h) =
          std::inner_product(lhs.row(flat, h), lhs.row(flat, h) + lhs.features(), rhs.row(flat, h), 0.0);
    return llvm::Error::success();
  }));
}

static llvm::Error tooShort(const Batch &batch, const TensorValue &table, RowsAttr rows, int64_t b) {
  return llvm::createStringError(llvm::formatv("rotary table: expected a row for each position, found {0} rows for "
                                               "the {1} of sequence {2}", table.sizes[0], batch.length(rows, b), b).str());
}

llvm::Expected<TensorValue> rotary(const Batch &batch, RotaryOp op, const TensorValue &x, const TensorValue &table) {
  AttnTensorType type = cast<AttnTensorType>(op.getResult().getType());
  TensorValue result = makeTensor(batch, type, NAN, x.heads(), x.features());
  if (op.getApplied()) {
    *result.data = *x.data;
    return result;
  }
  bool byPosition = table.type.getAxes()[0].getKind() == AxisKind::Extent;
  int64_t half = x.features() / 2;
  llvm::Error error = forEachRow(batch, x.type.getRows(), [&](int64_t b, int64_t i, int64_t flat) -> llvm::Error {
    if (byPosition && i >= table.sizes[0])
      return tooShort(batch, table, x.type.getRows(), b);
    const double *sines = table.data->data() + (byPosition ? i : flat) * x.features();
    const double *cosines = sines + half;
    for (int64_t h = 0; h < x.heads(); ++h)
      for (int64_t m = 0; m < half; ++m) {
        bool interleaved = op.getStyle() == RotaryStyle::Interleaved;
        int64_t first = interleaved ? 2 * m : m, second = interleaved ? 2 * m + 1 : m + half;
        double x0 = x.row(flat, h)[first], x1 = x.row(flat, h)[second];
        double sine = op.getTranspose() ? -sines[m] : sines[m];
        result.row(flat, h)[first] = x0 * cosines[m] - x1 * sine;
        result.row(flat, h)[second] = x1 * cosines[m] + x0 * sine;
      }
    return llvm::Error::success();
  });
  if (error)
    return std::move(error);
  return result;
}

llvm::Expected<TensorValue> rotaryTableGrad(const Batch &batch, RotaryTableGradOp op, const TensorValue &x,
                                            const TensorValue &gradient, const TensorValue &like) {
  TensorValue result{cast<AttnTensorType>(op.getResult().getType()), like.sizes,
                     std::make_shared<std::vector<double>>(like.data->size())};
  const bool byPosition = like.type.getAxes()[0].getKind() == AxisKind::Extent;
  const bool interleaved = op.getStyle() == RotaryStyle::Interleaved;
  const int64_t half = x.features() / 2;
  llvm::Error error = forEachRow(batch, x.type.getRows(), [&](int64_t b, int64_t i, int64_t flat) -> llvm::Error {
    if (byPosition && i >= like.sizes[0])
      return tooShort(batch, like, x.type.getRows(), b);
    double *sines = result.data->data() + (byPosition ? i : flat) * x.features(), *cosines = sines + half;
    for (int64_t h = 0; h < x.heads(); ++h)
      for (int64_t m = 0; m < half; ++m) {
        int64_t first = interleaved ? 2 * m : m, second = interleaved ? 2 * m + 1 : m + half;
        double x0 = x.row(flat, h)[first], x1 = x.row(flat, h)[second];
        double g0 = gradient.row(flat, h)[first], g1 = gradient.row(flat, h)[second];
        sines[m] += g1 * x0 - g0 * x1;
        cosines[m] += g0 * x0 + g1 * x1;
      }
    return llvm::Error::success();
  });
  if (error)
    return std::move(error);
  return result;
}

TensorValue dequant(const Batch &batch, DequantOp op, const TensorValue &data, const TensorValue &scales) {
  TensorValue result = makeTensor(batch, cast<AttnTensorType>(op.getResult().getType()), NAN, data.heads(),
                                  data.features());
  AxisAttr scaleAxis = scales.type.getAxes()[0];
  llvm::cantFail(forEachRow(batch, data.type.getRows(), [&](int64_t b, int64_t i, int64_t flat) {
    for (int64_t h = 0; h < data.heads(); ++h)
      for (int64_t d = 0; d < data.features(); ++d) {
        double scale = op.isAlongRows() ? scales.row(*batch.locate(scaleAxis, b, i / DequantOp::kBlock), h)[d]
                                        : scales.row(flat, h)[d / DequantOp::kBlock];
        result.row(flat, h)[d] = data.row(flat, h)[d] * scale;
      }
    return llvm::Error::success();
  }));
  return result;
}

TensorValue sumSequences(const Batch &batch, SumSequencesOp op, const TensorValue &input) {
  TensorValue result = makeTensor(batch, cast<AttnTensorType>(op.getResult().getType()), 0.0, input.heads(),
                                  input.features());
  int64_t each = int64_t(result.data->size());
  for (int64_t b = 0; b < batch.sequences(); ++b)
    for (int64_t n = 0; n < each; ++n)
      (*result.data)[n] += (*input.data)[b * each + n];
  return result;
}

TensorValue pack(const Batch &batch, PackOp op, ArrayRef<const TensorValue *> inputs) {
  TensorValue result = makeTensor(batch, cast<AttnTensorType>(op.getResult().getType()), NAN, 1);
  int64_t columns = result.sizes[1];
  for (int64_t flat = 0; flat < result.sizes[0]; ++flat) {
    double *out = result.data->data() + flat * columns;
    for (const TensorValue *input : inputs)
      out = std::copy_n(input->row(flat, 0), input->heads() * input->features(), out);
  }
  return result;
}

} // namespace fovea::attn::reference
