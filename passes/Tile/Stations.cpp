// passes/Tile/Stations.cpp - who visits the slots of a channel in a mapped kernel, and what is done with them.
#include "passes/Tile/Stations.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

FailureOr<Stations> fovea::tile::stationsOf(KernelOp kernel, ChannelOp channel) {
  Stations stations(channel.getStations().size());
  for (GroupOp group : kernel.getBody().getOps<GroupOp>())
    group.walk([&](TakeOp take) {
      if (take.getChannel() != channel.getSymName())
        return;
      Station &s = stations[take.getStation()];
      Visit visit{take, {}};
      s.group = group;
      for (Operation *user : take.getSlot().getUsers())
        if (auto pass = dyn_cast<PassOp>(user))
          visit.pass = pass;
        else if (isa<StoreOp>(user))
          s.stores = true;
      bool reads = take.getUnit() == Unit::Threads && llvm::all_of(take.getSlot().getUsers(), [&](Operation *user) {
                  if (auto rotate = dyn_cast<RotateOp>(user))
                    return rotate.getSlot() != take.getSlot();
                  if (auto copy = dyn_cast<CopyOp>(user))
                    return copy.getTo() != take.getSlot();
                  if (auto map = dyn_cast<MapElementsOp>(user))
                    return !llvm::is_contained(map.getOutputs(), take.getSlot());
                  return isa<PassOp, ReadOp, WarpProductOp>(user);
                });
      s.reads = reads && (s.visits.empty() || s.reads);
      s.visits.push_back(visit);
    });
  for (auto [i, s] : llvm::enumerate(stations))
    if (s.visits.empty())
      return channel.emitOpError("no role takes station ") << i;
  return stations;
}

bool fovea::tile::worksOn(TakeOp take) {
  return llvm::any_of(take.getSlot().getUsers(), [](Operation *user) { return !isa<PassOp>(user); });
}

RareOp fovea::tile::coldPath(Visit &visit) {
  RareOp cold;
  for (Operation *user : visit.take.getSlot().getUsers())
    if (auto rare = user->getParentOfType<RareOp>())
      cold = rare;
    else if (!isa<PassOp, ProductWaitOp>(user))
      return {};
  return cold;
}

Operation *fovea::tile::endOfProducts(Visit &visit) {
  Operation *end = nullptr;
  for (Operation *user : visit.take.getSlot().getUsers()) {
    auto mma = dyn_cast<MmaOp>(user);
    if (!mma)
      continue;
    ChannelOp owner = ownerOf(channelOf(mma.getD()));
    Operation *wait = nullptr;
    for (Operation *op = mma->getNextNode(); op && !(wait && isa<PassOp>(op)); op = op->getNextNode())
      if (auto candidate = dyn_cast<ProductWaitOp>(op); candidate && ownerOf(channelOf(candidate.getSlot())) == owner)
        wait = op; // the last before the slot is handed on
    if (!wait)
      return nullptr;
    // A product of the loop is over when the loop is.
    Operation *here = wait->getBlock() == visit.pass->getBlock() ? wait : visit.pass->getPrevNode();
    if (!end || end->isBeforeInBlock(here))
      end = here;
  }
  return end && end->isBeforeInBlock(visit.pass) ? visit.pass->getPrevNode() : end;
}
