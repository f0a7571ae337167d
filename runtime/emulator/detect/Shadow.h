// runtime/emulator/detect/Shadow.h - what memory remembers of its last accesses: granules, kept together while they are alike.
#pragma once
#include "runtime/emulator/detect/Clock.h"
#include <array>
#include <memory>

namespace fovea::emulator {

/// The 64 blocks of a page, those with one history together: what engines touch in large pieces takes few checks.
template <class State> class Histories {
public:
  static constexpr size_t kMost = 16;  ///< beyond that, single blocks are cheaper
  size_t size() const { return blocks.size(); }

  /// f(state, first block) once for the blocks of each history in `mask`.
  template <class F> void visit(uint64_t mask, F f) {
    for (size_t k = 0, n = blocks.size(); k < n && mask; ++k) {
      uint64_t common = blocks[k] & mask;
      if (!common)
        continue;
      mask &= ~common;
      if (common != blocks[k]) {
        blocks.push_back(blocks[k] & ~common);
        states.push_back(State(states[k]));
        blocks[k] = common;
      }
      f(states[k], uint32_t(__builtin_ctzll(common)));
    }
    if (!mask)
      return;
    blocks.push_back(mask);
    states.emplace_back();
    f(states.back(), uint32_t(__builtin_ctzll(mask)));
  }
  /// Puts the histories in `mask` together when they are all `alike`.
  template <class F> void unite(uint64_t mask, F alike) {
    for (size_t k = 0; k < blocks.size(); ++k)
      if ((blocks[k] & mask) && ((blocks[k] & ~mask) || !alike(states[k])))
        return;
    size_t first = blocks.size();
    for (size_t k = blocks.size(); k-- > 0;) {
      if (!(blocks[k] & mask))
        continue;
      if (first < blocks.size()) {  // `first` goes into k
        blocks[k] |= blocks[first];
        blocks[first] = blocks.back();
        states[first] = std::move(states.back());
        blocks.pop_back(), states.pop_back();
      }
      first = k;
    }
  }
  template <class F> void each(F f) const {
    for (size_t k = 0; k < blocks.size(); ++k)
      f(blocks[k], states[k]);
  }
  void set(uint64_t mask, const State &s) {
    blocks.assign(1, mask);
    states.assign(1, s);
  }
  void clear() {
    blocks.clear();
    states.clear();
  }

private:
  std::vector<uint64_t> blocks;
  std::vector<State> states;
};

/// Granules in blocks of K, blocks in pages of 64. As long as each access covered whole blocks, one granule stands for all K of
/// a block; the first that covers a part gives each its own, and a write of the whole block that leaves nothing older puts them
/// together again. Blocks of a page likewise, by their histories.
template <uint32_t K> class Shadow {
public:
  explicit Shadow(size_t granules = 0) : count(granules), pages((granules + kPage * K - 1) / (kPage * K)) {}
  size_t size() const { return count; }

  /// f(granule, its number) for all of the granules [first, first + n), once for those alike; `m` is what f will write there,
  /// null when it writes nothing.
  template <class F> void visit(uint32_t first, uint32_t n, const Mark *m, F f) {
    for (uint32_t at = first, end = std::min<uint32_t>(first + n, uint32_t(count)); at < end;) {
      uint32_t page = at / (kPage * K), stop = std::min(end, (page + 1) * kPage * K);
      if (at % K == 0 && stop % K == 0) {
        uint64_t mask = stop - at == kPage * K ? ~uint64_t(0) : ((uint64_t(1) << (stop - at) / K) - 1) << (at / K % kPage);
        visitBlocks(page, mask, m, f);
        at = stop;
        continue;
      }
      for (; at < stop; at = std::min(stop, (at / K + 1) * K))
        visitBlock(at, std::min(stop, (at / K + 1) * K), m, f);
    }
  }
  /// The same for whole blocks of one page.
  template <class F> void visitBlocks(uint32_t page, uint64_t mask, const Mark *m, F f) {
    if (page >= pages.size())
      return;
    Page &p = pages[page];
    uint32_t base = page * kPage;
    auto alike = [&](const Granule &g) { return g.holdsOnly(*m); };
    if (!p.blocks) {
      p.histories.visit(mask, [&](Granule &g, uint32_t block) { f(g, (base + block) * K); });
      if (m)
        p.histories.unite(mask, alike);
      if (p.histories.size() > Histories<Granule>::kMost)
        single(p);
      return;
    }
    for (uint64_t left = mask; left; left &= left - 1) {
      uint32_t at = (base + uint32_t(__builtin_ctzll(left))) * K;
      visitBlock(at, at + K, m, f);
    }
    if (!m || ~mask)
      return;
    for (const Block &b : *p.blocks)
      if (b.parts || !alike(b.whole))
        return;
    p.histories.set(mask, (*p.blocks)[0].whole);
    p.blocks.reset();
  }
  /// Are the page's blocks kept by history? Then no thread has touched any of them alone.
  bool together(uint32_t page) const { return !pages[page].blocks; }
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
  struct Page {
    Histories<Granule> histories;
    std::unique_ptr<std::array<Block, kPage>> blocks;  ///< when there: instead of the histories
  };
  size_t count;
  std::vector<Page> pages;

  static void single(Page &p) {
    p.blocks = std::make_unique<std::array<Block, kPage>>();
    p.histories.each([&](uint64_t mask, const Granule &g) {
      for (; mask; mask &= mask - 1)
        (*p.blocks)[size_t(__builtin_ctzll(mask))].whole = g;
    });
    p.histories.clear();
  }
  Block &block(uint32_t b) {
    Page &p = pages[b / kPage];
    if (!p.blocks)
      single(p);
    return (*p.blocks)[b % kPage];
  }
  static Granule &part(Block &b, uint32_t k) {
    if (!b.parts) {
      b.parts = std::make_unique<std::array<Granule, K>>();
      b.parts->fill(b.whole);
    }
    return (*b.parts)[k];
  }
  /// Granules [at, stop) of one block.
  template <class F> void visitBlock(uint32_t at, uint32_t stop, const Mark *m, F f) {
    Block &b = block(at / K);
    if (stop - at < K) {
      for (; at < stop; ++at)
        f(part(b, at % K), at);
      return;
    }
    if (!b.parts)
      return f(b.whole, at);
    bool alike = m;
    for (Granule &g : *b.parts) {
      f(g, at++);
      alike = alike && g.holdsOnly(*m);
    }
    if (alike) {
      b.whole = (*b.parts)[0];
      b.parts.reset();
    }
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
