// frontend/cli/Comparison.h - is a kernel's output right? Standard C++ only, so that it can be tested alone.
//
// The rule: the largest error against the f64 meaning is at most twice that of the same mathematics done by a plain
// 16-bit implementation, plus the rounding floor; a NaN passes only where the meaning is one; every element that a
// sequence owns has been written, and none that no sequence owns.
#pragma once

#include "runtime/abi/DType.h"

#include <string>
#include <vector>

namespace fovea {

/// Outputs are filled with this byte before a launch. In every floating type, all bits set is a NaN.
constexpr unsigned char kPoisonByte = 0xff;

/// One output, three ways.
struct ComparedOutput {
  std::string name;
  DType dtype = DType::BF16;
  std::vector<double> exact;  ///< the f64 meaning
  std::vector<double> plain;  ///< a plain 16-bit implementation
  std::string actual;         ///< the kernel's bytes, contiguous
  std::vector<bool> owned;    ///< whether a sequence owns the element; empty: all are
};

struct Comparison {
  std::string name;
  int64_t elements = 0;        ///< that a sequence owns
  double maxError = 0;         ///< over elements with a finite exact value
  double plainMaxError = 0;
  double floor = 0;            ///< the rounding floor that was granted
  double snrDb = 0;            ///< signal to noise, 10 log10(sum exact^2 / sum error^2); inf without error
  double plainSnrDb = 0;
  int64_t unwritten = 0;       ///< owned, but still poison
  int64_t nans = 0;            ///< NaN or infinite where the meaning is not, or the other way round
  int64_t strayWrites = 0;     ///< not owned, but no longer poison
  double largest = 0;          ///< magnitude of the largest exact element
  std::string firstProblem;    ///< where and what, of the first bad element; empty when all is well

  bool passes() const;
};

/// Half a unit in the last place of `dtype` at the size of the largest value: what rounding the exact result costs.
/// For f32, which holds row statistics computed by the approximate ex2 and lg2 (PTX ISA: each within 2^-22), it is
/// 4 * 2^-22 of max(1, largest value).
double roundingFloor(DType dtype, double largest);

/// Kernels add in f32, so terms that cancel leave 2^-24 of their own size each. Terms are as large as the operation's
/// largest output (a row with one key has dq = 0 as the difference of two such terms); each floor is at least 16 * 2^-24
/// of it.
void allowCancellation(std::vector<Comparison> &outputs);

/// `shape` is the output's, for naming elements by index.
Comparison compare(const ComparedOutput &output, const std::vector<int64_t> &shape);

/// The table of `fovea check`, one line per output, and a line for each problem.
std::string comparisonTable(const std::vector<Comparison> &comparisons);

} // namespace fovea
