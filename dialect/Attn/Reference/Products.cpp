// dialect/Attn/Reference/Products.cpp - the three products, loop by loop
#include "dialect/Attn/Reference/Products.h"
#include "dialect/Attn/Reference/Rounding.h"

#include <cmath>

using namespace mlir;

namespace fovea::attn::reference {

//===-- rounding --------------------------------------------------------------------------------------------===//

double Arithmetic::round(Type type, double value) const {
  return precision == Precision::Exact ? value : roundTo(type, value);
}

void Arithmetic::round(TensorValue &value) const {
  if (precision != Precision::Exact)
    for (double &element : *value.data)
      element = roundTo(value.type.getElementType(), element);
}

void Arithmetic::round(PairsValue &value) const {
  if (precision != Precision::Exact)
    for (std::vector<double> &sequence : value.data)
      for (double &pair : sequence)
        pair = float(pair);
}

double Arithmetic::roundOperand(Type type, double pair) const {
  return precision == Precision::Exact || !isa<BFloat16Type, Float16Type, Float8E4M3FNType>(type)
             ? pair
             : roundTo(type, pair);
}

//===-- products --------------------------------------------------------------------------------------------===//

/// Sums in `Sum` (double, or float as an accumulator does). Eight partial sums let the compiler use vector units.
template <typename Sum> static double dotProduct(const double *a, const double *b, int64_t n) {
  Sum partial[8] = {};
  int64_t d = 0;
  for (; d + 8 <= n; d += 8)
    for (int lane = 0; lane < 8; ++lane)
      partial[lane] += Sum(a[d + lane]) * Sum(b[d + lane]);
  for (; d < n; ++d)
    partial[d % 8] += Sum(a[d]) * Sum(b[d]);
  Sum sum = 0;
  for (Sum lane : partial)
    sum += lane;
  return sum;
}

template <typename Sum> static void addScaled(Sum *sum, double factor, const double *x, int64_t n) {
  for (int64_t d = 0; d < n; ++d)
    sum[d] += Sum(factor) * Sum(x[d]);
}

PairsValue dots(const Batch &batch, const Arithmetic &arithmetic, DotsOp op, const TensorValue &queries,
                const TensorValue &keys, std::shared_ptr<const PairSet> set) {
  PairsValue result(cast<PairsType>(op.getResult().getType()), set);
  int64_t heads = queries.heads(), group = heads / keys.heads(), features = queries.features();
  for (int64_t b = 0; b < batch.sequences(); ++b) {
    int64_t queryStart = batch.start(queries.type.getRows(), b), keyStart = batch.start(keys.type.getRows(), b);
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < set->sequences[b].queries; ++i) {
        const double *q = queries.row(queryStart + i, h);
        double *s = result.row(b, h, i);
        for (int32_t j : set->row(b, h, i)) {
          const double *k = keys.row(keyStart + j, h / group);
          *s++ = arithmetic.precision == Precision::Exact ? dotProduct<double>(q, k, features)
                                                          : dotProduct<float>(q, k, features);
        }
      }
  }
  return result;
}

template <typename Sum>
static void combineInto(const Batch &batch, const Arithmetic &arithmetic, const PairsValue &pairs,
                        const TensorValue &values, TensorValue &result) {
  int64_t heads = result.heads(), group = heads / values.heads(), features = values.features();
  Type type = values.type.getElementType();
  std::vector<Sum> sum(features);
  for (int64_t b = 0; b < batch.sequences(); ++b) {
    int64_t valueStart = batch.start(values.type.getRows(), b), resultStart = batch.start(result.type.getRows(), b);
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < pairs.set->sequences[b].queries; ++i) {
        std::fill(sum.begin(), sum.end(), Sum(0));
        const double *p = pairs.row(b, h, i);
        for (int32_t j : pairs.set->row(b, h, i))
          addScaled<Sum>(sum.data(), arithmetic.roundOperand(type, *p++), values.row(valueStart + j, h / group),
                         features);
        std::copy(sum.begin(), sum.end(), result.row(resultStart + i, h));
      }
  }
}

TensorValue combine(const Batch &batch, const Arithmetic &arithmetic, CombineOp op, const PairsValue &pairs,
                    const TensorValue &values) {
  TensorValue result = makeTensor(batch, cast<AttnTensorType>(op.getResult().getType()), NAN, pairs.set->heads,
                                  values.features());
  if (arithmetic.precision == Precision::Exact)
    combineInto<double>(batch, arithmetic, pairs, values, result);
  else
    combineInto<float>(batch, arithmetic, pairs, values, result);
  return result;
}

template <typename Sum>
static void combineQueriesInto(const Batch &batch, const Arithmetic &arithmetic, const PairsValue &pairs,
                               const TensorValue &x, TensorValue &result) {
  int64_t heads = pairs.set->heads, group = heads / result.heads(), features = x.features();
  Type type = x.type.getElementType();
  std::vector<Sum> sums;
  for (int64_t b = 0; b < batch.sequences(); ++b) {
    int64_t xStart = batch.start(x.type.getRows(), b), resultStart = batch.start(result.type.getRows(), b);
    const PairSet::Sequence &sequence = pairs.set->sequences[b];
    for (int64_t c = 0; c < result.heads(); ++c) {
      sums.assign(sequence.keys * features, Sum(0));
      for (int64_t h = c * group; h < (c + 1) * group; ++h)
        for (int64_t i = 0; i < sequence.queries; ++i) {
          const double *p = pairs.row(b, h, i);
          for (int32_t j : pairs.set->row(b, h, i))
            addScaled<Sum>(&sums[j * features], arithmetic.roundOperand(type, *p++), x.row(xStart + i, h), features);
        }
      for (int64_t j = 0; j < sequence.keys; ++j)
        std::copy_n(&sums[j * features], features, result.row(resultStart + j, c));
    }
  }
}

TensorValue combineQueries(const Batch &batch, const Arithmetic &arithmetic, CombineQueriesOp op,
                           const PairsValue &pairs, const TensorValue &x) {
  TensorValue result = makeTensor(batch, cast<AttnTensorType>(op.getResult().getType()), NAN, batch.launchHeads(),
                                  x.features());
  if (arithmetic.precision == Precision::Exact)
    combineQueriesInto<double>(batch, arithmetic, pairs, x, result);
  else
    combineQueriesInto<float>(batch, arithmetic, pairs, x, result);
  return result;
}

} // namespace fovea::attn::reference
