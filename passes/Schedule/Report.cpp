// passes/Schedule/Report.cpp - reading the report off a finished kernel.
#include "passes/Schedule/Report.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

KernelReport fovea::report(KernelOp kernel, StringRef operation, const std::vector<Candidate> &candidates, const Candidate &chosen) {
  KernelReport r;
  r.operation = operation.str();
  r.entry = kernel.getSymName().str();
  r.target = kernel.getTarget().str();
  r.candidates = candidates, r.chosen = chosen.name;
  if (llvm::Expected<Schedule> schedule = Schedule::fromAttr(kernel.getSchedule()))
    r.schedule = std::move(*schedule);
  else
    llvm::consumeError(schedule.takeError());
  const Target *target = findTarget(r.target);
  if (target && target->tcgen05 && r.schedule.keyRows)
    r.keyTile = priceKeyTile(kernel, r.schedule, *target);
  auto integer = [&](StringRef name) {
    auto attr = kernel->getAttrOfType<IntegerAttr>(name);
    return attr ? attr.getInt() : 0;
  };
  r.smemBytes = integer("smem_bytes");
  r.tmemColumns = integer("tmem_columns");
  if (auto notes = kernel->getAttrOfType<ArrayAttr>("notes"))
    for (Attribute note : notes)
      r.notes.push_back(cast<StringAttr>(note).str());
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>()) {
    ChannelReport c;
    SlotType type = channel.getSlotType();
    c.name = channel.getSymName().str();
    c.space = stringifySpace(type.getSpace()).str();
    llvm::raw_string_ostream(c.tile) << type.getRows() << "x" << type.getCols() << "x" << type.getElementType();
    for (Attribute station : channel.getStations())
      c.stations.push_back(cast<StringAttr>(station).str());
    c.alias = channel.getAlias().value_or("").str();
    c.depth = channel.getDepth();
    int64_t rowBits = type.getCols() * type.getElementType().getIntOrFloatBitWidth();
    c.slot = type.getSpace() == Space::Tmem ? rowBits / 32 : type.getRows() * rowBits / 8;
    if (channel.getOffset())
      c.offset = *channel.getOffset(), c.stride = channel.getSlotSize().value_or(c.slot);
    r.channels.push_back(std::move(c));
  }
  for (BarrierOp barrier : kernel.getBody().getOps<BarrierOp>())
    r.barriers.push_back({barrier.getSymName().str(), int64_t(barrier.getCount()), int64_t(barrier.getDepth()),
                          int64_t(barrier.getOffset().value_or(0))});
  return r;
}
