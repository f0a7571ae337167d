// runtime/emulator/detect/Shadow.h - what memory remembers of its last accesses: granules, kept together while they are alike.
#pragma once
#include "runtime/emulator/detect/Clock.h"
#include <array>
#include <memory>

namespace fovea::emulator {

/// Granules in blocks of K. As long as each access covered whole blocks, one granule stands for all K of a block; the first
/// that covers a part gives each its own, and a write of the whole block that leaves nothing older puts them together again.
template <uint32_t K> class Shadow {
public:
  explicit Shadow(size_t granules = 0) : count(granules), pages((granules + kPage * K - 1) / (kPage * K)) {}
  size_t size() const { return count; }

  /// f(granule) for all of the granules [first, first + n); `m` is what f will write there, null when it writes nothing.
  template <class F> void visit(uint32_t first, uint32_t n, const Mark *m, F f) {
    for (uint32_t at = first, end = std::min<uint32_t>(first + n, uint32_t(count)); at < end;) {
      Block &b = block(at / K);
      uint32_t stop = std::min(end, (at / K + 1) * K);
      if (stop - at == K) {
        if (!b.parts) {
          f(b.whole);
        } else {
          bool alike = m;
          for (Granule &g : *b.parts) {
            f(g);
            alike = alike && g.holdsOnly(*m);
          }
          if (alike) {
            b.whole = (*b.parts)[0];
            b.parts.reset();
          }
        }
      } else {
        for (Granule *g = &part(b, at % K), *last = g + (stop - at); g != last; ++g)
          f(*g);
      }
      at = stop;
    }
  }
  /// One granule of its own.
  Granule &at(uint32_t granule) { return part(block(granule / K), granule % K); }
  /// The granule that stands for the whole block, null when its granules differ.
  Granule *whole(uint32_t b) {
    Block &x = block(b);
    return x.parts ? nullptr : &x.whole;
  }

private:
  static constexpr uint32_t kPage = 64;
  struct Block {
    Granule whole;
    std::unique_ptr<std::array<Granule, K>> parts;
  };
  size_t count;
  std::vector<std::unique_ptr<std::array<Block, kPage>>> pages;

  Block &block(uint32_t b) {
    auto &page = pages[b / kPage];
    if (!page)
      page = std::make_unique<std::array<Block, kPage>>();
    return (*page)[b % kPage];
  }
  static Granule &part(Block &b, uint32_t k) {
    if (!b.parts) {
      b.parts = std::make_unique<std::array<Granule, K>>();
      b.parts->fill(b.whole);
    }
    return (*b.parts)[k];
  }
};

/// 16 bytes of shared memory that one thread wrote and nobody else has touched since: its next access conflicts with nothing.
struct OwnBlock {
  uint32_t owner = 0;  ///< warp in the cluster * 32 + lane + 1; 0: ask the granules
  struct Last { uint32_t step = 0, line = 0, instance = 0; } write, read;
};

/// Shared memory of a block: granules of 4 bytes.
struct SharedShadow {
  explicit SharedShadow(size_t bytes) : granules((bytes + 3) / 4), own((bytes + 15) / 16) {}
  Shadow<4> granules;
  std::vector<OwnBlock> own;
};
/// Tensor memory: granules of 16 lanes x 1 column, 512 columns a group of lanes.
using TmemShadow = Shadow<16>;

} // namespace fovea::emulator
