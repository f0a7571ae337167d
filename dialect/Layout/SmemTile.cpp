// dialect/Layout/SmemTile.cpp - panels, element offsets and TMA boxes of a shared-memory tile.
#include "dialect/Layout/SmemTile.h"

#include <cassert>

namespace fovea::layout {

SmemTile::SmemTile(uint32_t rows, uint32_t cols, uint32_t elemBytes)
    : rows_(rows), cols_(cols), elemBytes_(elemBytes), swizzle_(widestSwizzle(cols * elemBytes)) {}

const char *SmemTile::whyInvalid(uint32_t rows, uint32_t cols, uint32_t elemBytes) {
  if (elemBytes != 1 && elemBytes != 2 && elemBytes != 4)
    return "expected an element of 1, 2 or 4 bytes";
  if (rows == 0 || rows % 8 != 0)
    return "expected a positive multiple of 8 rows, because the swizzle pattern repeats every 8 "
           "rows";
  if (widestSwizzle(cols * elemBytes) == SwizzleMode::None)
    return "expected rows of a positive multiple of 32 bytes, because the narrowest swizzle spans "
           "32 bytes";
  return "";
}

uint32_t SmemTile::linearOffset(uint32_t row, uint32_t col) const {
  assert(row < rows_ && col < cols_ && "element outside the tile");
  return (col / panelCols()) * panelBytes() + row * rowBytes() + (col % panelCols()) * elemBytes_;
}

std::vector<TmaBox> SmemTile::panelBoxes(uint32_t row0, uint32_t rows) const {
  assert(row0 % 8 == 0 && row0 + rows <= rows_ &&
         "rows outside the tile or off the swizzle pattern");
  std::vector<TmaBox> boxes;
  for (uint32_t p = 0; p < panelCount(); ++p)
    boxes.push_back({{panelCols(), rows},
                     {p * panelCols(), row0},
                     p * panelBytes() + row0 * rowBytes(),
                     rows * rowBytes()});
  return boxes;
}

TmaBox SmemTile::wholeBox() const {
  return {{panelCols(), rows_, panelCount()}, {0, 0, 0}, 0, bytes()};
}

} // namespace fovea::layout
