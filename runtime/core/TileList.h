// runtime/core/TileList.h - the list of tiles that block-diagonal kernels can be given instead of searching offsets.
#ifndef FOVEA_RUNTIME_CORE_TILELIST_H
#define FOVEA_RUNTIME_CORE_TILELIST_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace fovea {

/// One entry per tile of `tileRows` rows of each sequence, in memory order: first row | rows << 32. `offsets` are
/// batch + 1 non-decreasing host numbers below 2^31. Upload it once and pass it as the optional tensor
/// `tiles_<tileRows>` to every layer's forward and backward: each CTA then starts with one load, and the grid holds no
/// CTA without work. Worth it for short sequences; without it kernels search the offsets on the device.
template <typename Offset> std::vector<int64_t> tileList(const Offset *offsets, int64_t batch, int64_t tileRows) {
  std::vector<int64_t> list;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t row = offsets[b]; row < int64_t(offsets[b + 1]); row += tileRows)
      list.push_back(row | std::min<int64_t>(tileRows, offsets[b + 1] - row) << 32);
  return list;
}

} // namespace fovea

#endif // FOVEA_RUNTIME_CORE_TILELIST_H
