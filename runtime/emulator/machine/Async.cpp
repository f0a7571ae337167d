// runtime/emulator/machine/Async.cpp - the queue of pending asynchronous operations.
#include "runtime/emulator/machine/Async.h"
#include "runtime/emulator/machine/Scheduler.h"

namespace fovea::emulator {

void AsyncEngine::issue(Cluster &c, std::unique_ptr<AsyncOp> op, uint64_t chain) {
  op->id = nextId++;
  ++c.progress;
  if (chain)
    for (size_t i = 0; i < chains.size(); ++i)
      if (chains[i].key == chain) {
        chains[i].ops.push_back(std::move(op));
        return;
      }
  chains.push_back({chain, {}});
  chains.back().ops.push_back(std::move(op));
  // Everything before it is already done under the eager policy, so the new chain is the only one.
  if (c.launch->config->policy == AsyncPolicy::Eager)
    while (!chains.empty())
      stepAt(c, 0);
}

void AsyncEngine::stepAt(Cluster &c, size_t index) {
  ++c.progress;
  AsyncOp &op = *chains[index].ops.front();
  try {
    if (!op.step(c))
      return;
  } catch (const LocatedFault &) {
    throw;
  } catch (const Fault &f) {
    throw LocatedFault(f.what(), op.issuer, op.line, int(op.lane));
  }
  std::unique_ptr<AsyncOp> done = std::move(chains[index].ops.front());
  chains[index].ops.pop_front();
  if (chains[index].ops.empty())
    chains.erase(chains.begin() + long(index));
  if (Observer *o = c.launch->config->observer)
    o->asyncDone(c, *done);
}

void AsyncEngine::pump(Cluster &c, bool random) {
  if (!chains.empty())
    stepAt(c, random ? c.rng() % chains.size() : 0);
}

void AsyncEngine::drain(Cluster &c) {
  while (!chains.empty())
    stepAt(c, 0);
}

} // namespace fovea::emulator
