// test/mutation/Sharing.cpp - who touches which bytes, in the order of time.
#include "test/mutation/Sharing.h"
#include "runtime/emulator/machine/Machine.h"

namespace fovea::mutation {

using namespace emulator;

static uint64_t blockOf(const Cta &c) {
  const LaunchConfig &k = *c.cluster->launch->config;
  return c.id[0] + uint64_t(k.grid[0]) * (c.id[1] + uint64_t(k.grid[1]) * c.id[2]);
}
static uint64_t threadOf(const Warp &w, unsigned lane) { return blockOf(*w.cta) << 16 | w.id * 32 + lane; }
/// The operations of one kind that a warp issues, together.
static uint64_t engineOf(const AsyncOp &op) { return uint64_t(1) << 63 | uint64_t(op.kind) << 56 | blockOf(*op.issuer->cta) << 16 | op.issuer->id; }
/// Shared memory of a block, apart from all global addresses.
static uint64_t sharedAddress(const Cta &owner, uint32_t offset) { return uint64_t(1) << 62 | blockOf(owner) << 24 | offset; }

void Sharing::touch(uint64_t address, uint64_t bytes, uint32_t line, uint64_t who, bool write) {
  watched = true;
  for (uint64_t at = address / 4; at <= (address + bytes - 1) / 4; ++at) {
    std::vector<Touch> &cell = cells[at];
    bool known = false;
    for (const Touch &t : cell) {
      known |= t.line == line && t.who == who && t.write == write;
      if (t.who != who && (t.write || write)) {
        before.insert(t.line);
        after.insert(line);
        laterThan[t.line].insert(line);
      }
    }
    if (!known)
      cell.push_back({line, who, write});
  }
}

static bool writes(Access a) { return a == Access::Write || a == Access::StrongWrite || a == Access::Atomic; }

void Sharing::shared(Warp &w, const Inst &i, Access a, Cta &owner, unsigned lane, uint32_t offset, uint32_t bytes) {
  touch(sharedAddress(owner, offset), bytes, i.line, threadOf(w, lane), writes(a));
}
void Sharing::global(Warp &w, const Inst &i, Access a, unsigned lane, uint64_t address, uint32_t bytes) {
  touch(address, bytes, i.line, threadOf(w, lane), writes(a));
}
void Sharing::asyncShared(Cluster &, const AsyncOp &op, Proxy, Access a, Cta &owner, uint32_t offset, uint32_t bytes) {
  touch(sharedAddress(owner, offset), bytes, op.line, engineOf(op), writes(a));
}
void Sharing::asyncGlobal(Cluster &, const AsyncOp &op, Access a, uint64_t address, uint32_t bytes) {
  touch(address, bytes, op.line, engineOf(op), writes(a));
}

} // namespace fovea::mutation
