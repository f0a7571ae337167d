// dialect/Attn/Reference/RowsOfPairs.cpp - softmax and its gradient, row by row
#include "dialect/Attn/Reference/Products.h"
#include "dialect/Attn/Reference/Rounding.h"

#include <cmath>

using namespace mlir;

namespace fovea::attn::reference {

/// Calls `row(b, h, i, flat query row, number of present keys)` for each query row and head.
template <typename Row> static void forEachRow(const Batch &batch, const PairsValue &pairs, Row row) {
  for (int64_t b = 0; b < batch.sequences(); ++b) {
    int64_t start = batch.start(pairs.type.getQueries(), b);
    for (int64_t h = 0; h < pairs.set->heads; ++h)
      for (int64_t i = 0; i < pairs.set->sequences[b].queries; ++i)
        row(b, h, i, start + i, int64_t(pairs.set->row(b, h, i).size()));
  }
}

void softmax(const Batch &batch, const PairsValue &scores, const TensorValue *sink, PairsValue &p, TensorValue &lse) {
  forEachRow(batch, scores, [&](int64_t b, int64_t h, int64_t i, int64_t flat, int64_t keys) {
    const double *s = scores.row(b, h, i);
    double *out = p.row(b, h, i);
    const double ofSink = sink ? (*sink->data)[h] : -INFINITY;
    double largest = ofSink;
    for (int64_t n = 0; n < keys; ++n)
      largest = std::isnan(s[n]) ? s[n] : std::max(largest, s[n]); // max keeps a NaN that is its first argument
    if (largest == -INFINITY) {
      std::fill_n(out, keys, 0.0);
      *lse.row(flat, h) = -INFINITY;
      return;
    }
    double sum = std::exp(ofSink - largest);
    for (int64_t n = 0; n < keys; ++n)
      sum += std::exp(s[n] - largest);
    for (int64_t n = 0; n < keys; ++n)
      out[n] = std::exp(s[n] - largest) / sum;
    *lse.row(flat, h) = largest + std::log(sum);
  });
}

PairsValue softmaxGiven(const Batch &batch, const PairsValue &scores, const TensorValue &lse) {
  PairsValue p(scores.type, scores.set);
  forEachRow(batch, scores, [&](int64_t b, int64_t h, int64_t i, int64_t flat, int64_t keys) {
    double normaliser = *lse.row(flat, h);
    for (int64_t n = 0; n < keys; ++n)
      p.row(b, h, i)[n] = normaliser == -INFINITY ? 0.0 : std::exp(scores.row(b, h, i)[n] - normaliser);
  });
  return p;
}

PairsValue softmaxGrad(const Batch &batch, const PairsValue &p, const PairsValue &dp, const TensorValue &d) {
  PairsValue ds(p.type, p.set);
  forEachRow(batch, p, [&](int64_t b, int64_t h, int64_t i, int64_t flat, int64_t keys) {
    for (int64_t n = 0; n < keys; ++n)
      ds.row(b, h, i)[n] = p.row(b, h, i)[n] * (dp.row(b, h, i)[n] - *d.row(flat, h));
  });
  return ds;
}

void sinkGrad(const Batch &batch, const TensorValue &sink, const TensorValue &lse, const TensorValue &d,
              TensorValue &result) {
  RowsAttr rows = lse.type.getRows();
  for (int64_t h = 0; h < sink.sizes[0]; ++h) {
    double sum = 0;
    for (int64_t b = 0; b < batch.sequences(); ++b)
      for (int64_t i = 0, start = batch.start(rows, b); i < batch.length(rows, b); ++i)
        if (double normaliser = *lse.row(start + i, h); normaliser != -INFINITY)
          sum -= std::exp((*sink.data)[h] - normaliser) * *d.row(start + i, h);
    (*result.data)[h] = sum;
  }
}

void rowDot(const Batch &batch, const PairsValue &lhs, const PairsValue &rhs, TensorValue &result) {
  forEachRow(batch, lhs, [&](int64_t b, int64_t h, int64_t i, int64_t flat, int64_t keys) {
    double sum = 0;
    for (int64_t n = 0; n < keys; ++n)
      sum += lhs.row(b, h, i)[n] * rhs.row(b, h, i)[n];
    *result.row(flat, h) = sum;
  });
}

PairsValue quantize(QuantizeOp op, const Arithmetic &arithmetic, const PairsValue &input) {
  PairsValue result(cast<PairsType>(op.getResult().getType()), input.set);
  result.data = input.data;
  if (arithmetic.precision == Precision::Exact)
    return result;
  for (size_t b = 0; b < result.data.size(); ++b)
    for (int64_t h = 0; h < result.set->heads; ++h)
      for (int64_t i = 0; i < result.set->sequences[b].queries; ++i) {
        ArrayRef<int32_t> keys = result.set->row(b, h, i);
        // Keys whose positions share a block of 32 share a scale; absent ones count as 0.
        for (size_t first = 0; first < keys.size();) {
          size_t last = first;
          while (last < keys.size() && keys[last] / 32 == keys[first] / 32)
            ++last;
          roundToMicroscaled(MutableArrayRef<double>(result.row(b, h, i) + first, last - first));
          first = last;
        }
      }
  return result;
}

} // namespace fovea::attn::reference
