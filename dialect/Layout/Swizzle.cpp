// dialect/Layout/Swizzle.cpp - names and choice of swizzle modes.
#include "dialect/Layout/Swizzle.h"

#include <initializer_list>

namespace fovea::layout {

const char *name(SwizzleMode mode) {
  static const char *const names[] = {"none", "32B", "64B", "128B"};
  return names[static_cast<int>(mode)];
}

SwizzleMode widestSwizzle(uint32_t rowBytes) {
  for (SwizzleMode mode : {SwizzleMode::B128, SwizzleMode::B64, SwizzleMode::B32})
    if (rowBytes && rowBytes % spanBytes(mode) == 0)
      return mode;
  return SwizzleMode::None;
}

} // namespace fovea::layout
