// runtime/emulator/machine/CopyOps.cpp - what the asynchronous copies share.
#include "runtime/emulator/machine/CopyOps.h"

namespace fovea::emulator {

SharedPlace sharedPlace(Warp &w, Where where, uint64_t address, uint32_t bytes, int lane, const char *what) {
  SharedPlace p;
  uint32_t a = sharedAddress(w, where, address, lane, what);
  try {
    sharedAt(w, a, bytes, what, &p.cta, &p.offset);
  } catch (const Fault &f) {
    faultAt(w, lane, f.what());
  }
  return p;
}

static void signal(Cluster &c, const AsyncOp &op, SharedPlace at, uint32_t amount, bool bytes) {
  Mbarrier &b = at.cta->mbarriers.at(at.offset, bytes ? "complete_tx" : "asynchronous arrive");
  uint64_t phase = b.phase;
  if (Observer *o = c.launch->config->observer)
    o->mbarrierSignal(c, op, *at.cta, at.offset, phase);
  if (bytes ? at.cta->mbarriers.completeTx(b, amount) : at.cta->mbarriers.arrive(b, amount))
    at.cta->wake(Wait::Mbarrier, barrierKey(*at.cta, at.offset));
}

void signalBytes(Cluster &c, const AsyncOp &op, SharedPlace barrier, uint32_t bytes) { signal(c, op, barrier, bytes, true); }
void signalArrive(Cluster &c, const AsyncOp &op, SharedPlace barrier, uint32_t count) { signal(c, op, barrier, count, false); }

void issueAsync(Warp &w, const Inst &i, int lane, std::unique_ptr<AsyncOp> op, uint64_t chain) {
  op->issuer = &w;
  op->lane = uint32_t(lane);
  op->line = i.line;
  Cluster &c = *w.cta->cluster;
  if (Observer *o = c.launch->config->observer)
    o->asyncIssue(w, i, unsigned(lane), *op);
  c.async.issue(c, std::move(op), chain);
}

std::vector<std::pair<Cta *, Cta *>> multicastTargets(Warp &w, uint16_t mask, const Cta &barrierOwner, bool pair, int lane) {
  std::vector<std::pair<Cta *, Cta *>> out;
  auto &ctas = w.cta->cluster->ctas;
  if (!mask)
    faultAt(w, lane, "cluster: multicast with an empty mask");
  for (uint32_t r = 0; r < 16; ++r)
    if (mask >> r & 1) {
      if (r >= ctas.size())
        faultAt(w, lane, "cluster: multicast to block rank " + std::to_string(r) + ", the cluster has " + std::to_string(ctas.size()));
      uint32_t signalled = pair ? (r & ~1u) | (barrierOwner.rank & 1) : r;
      if (signalled >= ctas.size())
        faultAt(w, lane, "cluster: the signal of a multicast goes to block rank " + std::to_string(signalled) + ", which does not exist");
      out.push_back({ctas[r].get(), ctas[signalled].get()});
    }
  return out;
}

void wakeGroups(Warp &w, Wait::Kind kind) {
  for (Group &g : w.groups)
    if (g.wait.kind == kind)
      g.wait = {};
}

} // namespace fovea::emulator
