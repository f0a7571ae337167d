// test/unit/codegen/FragmentSoftmax.h - row softmax of an mma/wgmma accumulator fragment, for the
// whole-kernel tests.
#pragma once

#include "codegen/common/Registers.h"

#include <array>

namespace fovea::codegen {

/// exp2(s * scale - max) of each row, in place of the fragment; and 1 / row sum of the thread's two
/// rows.
struct FragmentSoftmax {
  SmallVector<Value> p;
  std::array<Value, 2> inverseSum;
};

/// `s`: accumulator registers; those with (r / 2) % 2 == 0 belong to the thread's upper row.
/// `scale`: softmax scale * log2(e).
inline FragmentSoftmax softmaxFragment(OpBuilder &b, Location loc, ValueRange s, Value scale) {
  FragmentSoftmax out;
  out.p.resize(s.size());
  for (unsigned half = 0; half < 2; ++half) {
    SmallVector<Value> row;
    for (size_t r = 0; r < s.size(); ++r)
      if ((r / 2) % 2 == half)
        row.push_back(s[r]);
    Value max = quadMax(b, loc, maxTree(b, loc, row));
    Value minus = mulF(b, loc, max, mulF(b, loc, scale, constF32(b, loc, -1.0f)));
    for (Value &v : row)
      v = ex2(b, loc, fma(b, loc, v, scale, minus));
    out.inverseSum[half] = rcp(b, loc, quadAdd(b, loc, addTree(b, loc, row)));
    size_t next = 0;
    for (size_t r = 0; r < s.size(); ++r)
      if ((r / 2) % 2 == half)
        out.p[r] = row[next++];
  }
  return out;
}

/// Multiplies the fragment's rows by one value each.
inline SmallVector<Value> scaleFragment(OpBuilder &b, Location loc, ValueRange o,
                                        const std::array<Value, 2> &factor) {
  SmallVector<Value> scaled;
  for (size_t r = 0; r < o.size(); ++r)
    scaled.push_back(mulF(b, loc, o[r], factor[(r / 2) % 2]));
  return scaled;
}

} // namespace fovea::codegen
