// runtime/emulator/machine/Reconvergence.cpp - immediate post-dominators of branches: where diverged threads meet.
#include "runtime/emulator/machine/Decoder.h"
#include <algorithm>

namespace fovea::emulator {

Step runTrap(Warp &, const Inst &);

namespace {

bool guarded(const Inst &i) { return i.guard != Decoder::kTrue || i.guardXor; }

struct Block {
  uint32_t begin = 0, end = 0;
  std::vector<uint32_t> next, previous;
  bool leaves = false;  ///< ends the thread
};

} // namespace

void placeJoins(Code &code) {
  std::vector<Inst> &insts = code.insts;
  uint32_t n = uint32_t(insts.size());
  std::vector<uint8_t> leader(n + 1, 0);
  leader[0] = 1;
  auto targetsOf = [&](const Inst &i) {
    return i.run == runBranchIndexed ? static_cast<const BranchTable *>(i.extra)->targets : std::vector<uint32_t>{i.target};
  };
  for (uint32_t k = 0; k < n; ++k) {
    const Inst &i = insts[k];
    bool jump = i.run == runBranch || i.run == runBranchIndexed;
    if (jump)
      for (uint32_t t : targetsOf(i))
        leader[t] = 1;
    if (jump || ((i.run == runExit || i.run == runTrap) && !guarded(i)))
      leader[k + 1] = 1;
  }
  std::vector<Block> blocks;
  std::vector<uint32_t> blockOf(n);
  for (uint32_t k = 0; k < n; ++k) {
    if (leader[k]) {
      if (!blocks.empty())
        blocks.back().end = k;
      blocks.push_back({k, n, {}, {}, false});
    }
    blockOf[k] = uint32_t(blocks.size() - 1);
  }
  uint32_t count = uint32_t(blocks.size()), exitNode = count;
  for (uint32_t b = 0; b < count; ++b) {
    Block &block = blocks[b];
    const Inst &last = insts[block.end - 1];
    if (last.run == runBranch || last.run == runBranchIndexed) {
      for (uint32_t t : targetsOf(last))
        block.next.push_back(blockOf[t]);
      if (guarded(last) && block.end < n)
        block.next.push_back(b + 1);
    } else if ((last.run == runExit || last.run == runTrap) && !guarded(last)) {
      block.leaves = true;
    } else if (block.end < n) {
      block.next.push_back(b + 1);
    } else {
      block.leaves = true;
    }
    std::sort(block.next.begin(), block.next.end());
    block.next.erase(std::unique(block.next.begin(), block.next.end()), block.next.end());
  }
  // A branch to a block that only exits does not keep the others from meeting again: threads that leave are taken
  // out of the join. Such edges are dropped where another way remains.
  auto onlyLeaves = [&](uint32_t b) {
    if (!blocks[b].leaves)
      return false;
    for (uint32_t k = blocks[b].begin; k < blocks[b].end; ++k)
      if (insts[k].run != runExit && insts[k].run != runTrap)
        return false;
    return true;
  };
  std::vector<std::vector<uint32_t>> flow(count + 1);
  for (uint32_t b = 0; b < count; ++b) {
    for (uint32_t s : blocks[b].next)
      if (blocks[b].next.size() == 1 || !onlyLeaves(s))
        flow[b].push_back(s);
    if (flow[b].empty() && !blocks[b].next.empty())
      flow[b] = blocks[b].next;
    if (blocks[b].leaves)
      flow[b].push_back(exitNode);
  }
  std::vector<std::vector<uint32_t>> back(count + 1);
  for (uint32_t b = 0; b < count; ++b)
    for (uint32_t s : flow[b])
      back[s].push_back(b);
  // Post-order on the reversed graph; blocks in endless loops are hung onto the exit.
  std::vector<uint32_t> order, number(count + 1, ~0u);
  std::vector<uint8_t> seen(count + 1, 0);
  auto visit = [&](uint32_t root) {
    std::vector<std::pair<uint32_t, size_t>> stack{{root, 0}};
    seen[root] = 1;
    while (!stack.empty()) {
      auto &[node, at] = stack.back();
      if (at < back[node].size()) {
        uint32_t p = back[node][at++];
        if (!seen[p]) {
          seen[p] = 1;
          stack.push_back({p, 0});
        }
      } else {
        number[node] = uint32_t(order.size());
        order.push_back(node);
        stack.pop_back();
      }
    }
  };
  {
    std::vector<uint8_t> reaches(count + 1, 0);
    std::vector<uint32_t> work{exitNode};
    reaches[exitNode] = 1;
    auto spread = [&] {
      while (!work.empty()) {
        uint32_t x = work.back();
        work.pop_back();
        for (uint32_t p : back[x])
          if (!reaches[p]) {
            reaches[p] = 1;
            work.push_back(p);
          }
      }
    };
    spread();
    for (uint32_t b = count; b-- > 0;)
      if (!reaches[b]) {
        flow[b].push_back(exitNode);
        back[exitNode].push_back(b);
        reaches[b] = 1;
        work.push_back(b);
        spread();
      }
  }
  visit(exitNode);
  std::vector<uint32_t> dominator(count + 1, ~0u);
  dominator[exitNode] = exitNode;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = order.size(); k-- > 0;) {
      uint32_t b = order[k];
      if (b == exitNode)
        continue;
      uint32_t best = ~0u;
      for (uint32_t s : flow[b]) {
        if (dominator[s] == ~0u)
          continue;
        if (best == ~0u) {
          best = s;
          continue;
        }
        uint32_t x = s, y = best;
        while (x != y) {
          while (number[x] < number[y])
            x = dominator[x];
          while (number[y] < number[x])
            y = dominator[y];
        }
        best = x;
      }
      if (best != dominator[b]) {
        dominator[b] = best;
        changed = true;
      }
    }
  }
  // Put a join before each block where threads meet, and move every target.
  std::vector<uint8_t> isJoin(count, 0);
  for (uint32_t b = 0; b < count; ++b)
    if (blocks[b].next.size() > 1 && dominator[b] != ~0u && dominator[b] < count)
      isJoin[dominator[b]] = 1;
  std::vector<Inst> moved;
  std::vector<SourceLine> sources;
  std::vector<uint32_t> begin(count + 1);
  moved.reserve(n + count / 2);
  for (uint32_t b = 0; b < count; ++b) {
    begin[b] = uint32_t(moved.size());
    if (isJoin[b]) {
      Inst j;
      j.run = runJoin;
      j.line = insts[blocks[b].begin].line;
      moved.push_back(j);
      sources.push_back(code.sources[blocks[b].begin]);
    }
    for (uint32_t k = blocks[b].begin; k < blocks[b].end; ++k) {
      moved.push_back(insts[k]);
      sources.push_back(code.sources[k]);
      Inst &i = moved.back();
      if (i.run == runBranch || i.run == runBranchIndexed) {
        uint32_t d = dominator[b];
        i.imm = d != ~0u && d < count && isJoin[d] ? d : ~uint64_t(0);
      }
    }
  }
  for (Inst &i : moved)
    if (i.run == runBranch || i.run == runBranchIndexed) {
      if (i.run == runBranch)
        i.target = begin[blockOf[i.target]];
      else
        for (uint32_t &t : const_cast<BranchTable *>(static_cast<const BranchTable *>(i.extra))->targets)
          t = begin[blockOf[t]];
      if (i.imm != ~uint64_t(0))
        i.imm = begin[i.imm];
    }
  insts = std::move(moved);
  code.sources = std::move(sources);
}

} // namespace fovea::emulator
