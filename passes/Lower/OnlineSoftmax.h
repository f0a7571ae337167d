// passes/Lower/OnlineSoftmax.h - the arithmetic of a softmax whose scores come block by block, on register tiles.
#pragma once

#include "passes/Lower/NetworkBuilder.h"

namespace fovea {

/// The online softmax of FlashAttention (Milakov and Gimelshein 2018; Dao et al. 2022) in powers of two. Of each row, a
/// role keeps `top`, a maximum of c s in log2 units, and `total`, the sum of exp2(c s - top) over the columns that its
/// thread holds; c > 0, and exp(scale s) = exp2(c s). All tiles are f32: scores and weights are [rows, keys], tops,
/// totals, factors and growths are one value a row. See README.md for what each kind of maximum costs in precision.
class OnlineSoftmax {
public:
  /// A row without a key yet has this maximum, so that differences are numbers. Scores below it (people mask with -1e9 or
  /// -1e30) count as masked: c s - top is rounded once, c max - top twice, and beyond 2^27 that alone may outgrow f16.
  static constexpr double kLowest = -134217728.0; // -2^27
  /// Of a maximum that stays: totals of a thread in one block beyond this send its warp to the cold path. bf16 weights and
  /// f32 totals hold 2^127.
  static constexpr double kSumLimit = 18446744073709551616.0; // 2^64
  /// A maximum with a threshold moves when it would grow by more than this (log2 units): weights are then at most 2^8,
  /// which f16 and bf16 hold, and the accumulator is seldom rescaled. Totals and outputs share the maximum, so that it
  /// cancels.
  static constexpr double kGrowth = 8;

  /// `polynomial`: Schedule::polynomial, the weights whose exp2 is a polynomial on FMA units.
  OnlineSoftmax(NetworkBuilder &n, double c, int64_t polynomial, mlir::Location loc)
      : n(n), c(c), polynomial(polynomial), loc(loc) {}

  /// The maximum of one block: max(c s), at least kLowest.
  mlir::Value topOf(mlir::Value scores);
  /// The running maximum: the greater of `top` and that of the block.
  mlir::Value runningTop(mlir::Value top, mlir::Value scores);
  /// A running maximum that moves only by more than kGrowth, and by how much it did (0 where it stayed).
  struct Moved {
    mlir::Value top, growth;
  };
  Moved topAboveThreshold(mlir::Value top, mlir::Value scores);

  /// exp2(c s - top), one rounding before the power.
  mlir::Value weightsOf(mlir::Value scores, mlir::Value top);
  /// The greatest of these.
  mlir::Value greatestWeight(mlir::Value scores, mlir::Value top);
  /// The row sums of the columns that a thread holds.
  mlir::Value partialSum(mlir::Value weights);

  /// What O and a total take as a factor when a maximum moves: exp2(from - to), and exp2(-growth).
  mlir::Value decay(mlir::Value from, mlir::Value to);
  mlir::Value decay(mlir::Value growth);
  mlir::Value scaled(mlir::Value total, mlir::Value factor); ///< total x factor
  mlir::Value sum(mlir::Value x, mlir::Value y);
  /// total x factor + the partial sum of a block, in one rounding.
  mlir::Value accumulate(mlir::Value total, mlir::Value factor, mlir::Value weights);

  /// ln(sum of exp(scale s)) = (top + log2(total)) ln 2, of a total over all columns.
  mlir::Value logSumExp(mlir::Value top, mlir::Value total);

private:
  mlir::Value difference(mlir::Value x, mlir::Value y);
  mlir::Value negated(mlir::Value x);

  NetworkBuilder &n;
  const double c;
  const int64_t polynomial;
  mlir::Location loc;
};

} // namespace fovea
