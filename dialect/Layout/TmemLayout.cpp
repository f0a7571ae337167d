// dialect/Layout/TmemLayout.cpp - register placement of tcgen05.ld and tcgen05.st.
#include "dialect/Layout/TmemLayout.h"

namespace fovea::layout {

TmemCell loadCell(TmemShape shape, uint32_t t, uint32_t r) {
  switch (shape) {
  case TmemShape::S32x32b:
    return {t, r};
  case TmemShape::S16x64b:
    return {8 * (t % 2) + t / 4, (t / 2) % 2 + 2 * r};
  case TmemShape::S16x128b:
    return {t / 4 + 8 * (r % 2), t % 4 + 4 * (r / 2)};
  case TmemShape::S16x256b:
    return {t / 4 + 8 * ((r / 2) % 2), 2 * (t % 4) + r % 2 + 8 * (r / 4)};
  }
  return {0, 0};
}

} // namespace fovea::layout
