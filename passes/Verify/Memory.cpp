// passes/Verify/Memory.cpp - post-conditions of `alloc` and `sync`: maps of memory and barriers.
#include "dialect/Tile/Schedule.h"
#include "passes/Analysis/EventGraph.h"
#include "passes/Verify/PostConditions.h"
#include "runtime/abi/Target.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

namespace {
struct Extent {
  int64_t begin = 0, end = 0;
  bool meets(const Extent &other) const { return begin < other.end && other.begin < end; }
};

// What a tile covers: bytes of shared memory or 32-bit columns of tensor memory.
int64_t tileExtent(SlotType type) {
  int64_t rowBits = type.getCols() * type.getElementType().getIntOrFloatBitWidth();
  return type.getSpace() == Space::Smem ? type.getRows() * rowBits / 8 : rowBits / 32;
}

// The tile of one slot. Slots may lie further apart than a tile is large: an alias keeps its host's distance.
Extent slotOf(ChannelOp channel, int64_t slot) {
  int64_t begin = int64_t(*channel.getOffset()) + slot * int64_t(*channel.getSlotSize());
  return {begin, begin + tileExtent(channel.getSlotType())};
}

bool overlap(ChannelOp x, ChannelOp y) {
  for (int64_t i = 0; i < int64_t(x.getDepth()); ++i)
    for (int64_t j = 0; j < int64_t(y.getDepth()); ++j)
      if (slotOf(x, i).meets(slotOf(y, j)))
        return true;
  return false;
}

int64_t integer(KernelOp kernel, StringRef name) {
  auto attr = kernel->getAttrOfType<IntegerAttr>(name);
  return attr ? attr.getInt() : -1;
}

bool shareBase(KernelOp kernel, ChannelOp x, ChannelOp y) {
  auto base = [&](ChannelOp channel) {
    while (channel.getAlias()) {
      auto other = kernel.lookupSymbol<ChannelOp>(*channel.getAlias());
      if (!other || other == channel)
        break;
      channel = other;
    }
    return channel;
  };
  return base(x) == base(y);
}

class Lifetimes {
public:
  explicit Lifetimes(const EventGraph &graph) : graph(graph) {}

  // How often an item visits a channel.
  unsigned visits(ChannelOp x) const {
    return llvm::count_if(graph.events, [&](const Event &e) {
      return e.channel == x && e.kind == Event::Kind::Take && e.station == 0;
    });
  }

  // Fewest items between the last pass of x at one visit and the first take of y at another.
  std::optional<unsigned> fromEndTo(ChannelOp x, unsigned xVisit, ChannelOp y, unsigned yVisit) const {
    std::optional<unsigned> best;
    unsigned from = 0, to = graph.events.size();
    for (unsigned i = 0; i < graph.events.size(); ++i) {
      const Event &e = graph.events[i];
      if (e.channel == x && e.kind == Event::Kind::Pass && e.station + 1 == ChannelOp(x).getStations().size() && e.visit == xVisit)
        from = i;
      if (e.channel == y && e.kind == Event::Kind::Take && e.station == 0 && e.visit == yVisit)
        to = std::min(to, i);
    }
    // Passes that follow one another happen at once: all stand for the same completed work.
    while (true) {
      std::optional<unsigned> d = graph.distance(from, to);
      if (d && (!best || *d < *best))
        best = d;
      if (from == 0 || graph.events[from - 1].group != graph.events[from].group ||
          graph.events[from - 1].kind != Event::Kind::Pass ||
          graph.events[from - 1].position + 1 != graph.events[from].position)
        return best;
      --from;
    }
  }

private:
  const EventGraph &graph;
};
} // namespace

LogicalResult fovea::tile::verifyAlloc(KernelOp kernel) {
  const Target *target = findTarget(kernel.getTarget());
  llvm::Expected<Schedule> schedule = Schedule::fromAttr(kernel.getSchedule());
  if (!schedule)
    return kernel.emitOpError(llvm::toString(schedule.takeError()));
  const int64_t bytes = integer(kernel, "smem_bytes"), columns = integer(kernel, "tmem_columns");
  if (bytes < 0 || columns < 0)
    return kernel.emitOpError("expected smem_bytes and tmem_columns after allocation");
  if (bytes > target->smemPerCta)
    return kernel.emitOpError("asks for ") << bytes << " bytes of shared memory, " << target->name << " gives a CTA "
                                           << target->smemPerCta;
  // tcgen05.alloc (PTX ISA): a power of two from 32.
  if (columns && (columns < 32 || (columns & (columns - 1)) || columns * schedule->ctasPerSm > target->tmemColumns))
    return kernel.emitOpError("asks for ")
           << columns << " columns of tensor memory in each of " << schedule->ctasPerSm << " CTAs: " << target->name
           << " gives powers of two from 32, " << target->tmemColumns << " per SM in all";

  SmallVector<ChannelOp> placed;
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>()) {
    SlotType type = channel.getSlotType();
    if (type.getSpace() == Space::Registers)
      continue;
    if (!channel.getOffset() || !channel.getSlotSize())
      return channel.emitOpError("has no place in memory");
    const int64_t limit = type.getSpace() == Space::Smem ? bytes : columns;
    const char *unit = type.getSpace() == Space::Smem ? " bytes" : " columns";
    if (channel.getDepth() > 1 && int64_t(*channel.getSlotSize()) < tileExtent(type))
      return channel.emitOpError("has slots of ") << *channel.getSlotSize() << unit << " for tiles of " << tileExtent(type);
    if (Extent r = slotOf(channel, int64_t(channel.getDepth()) - 1); *channel.getOffset() < 0 || r.end > limit)
      return channel.emitOpError("ends at ") << r.end << unit << ", beyond the " << limit << " that the kernel asks for";
    placed.push_back(channel);
  }

  FailureOr<EventGraph> graph = EventGraph::build(kernel);
  if (failed(graph))
    return failure();
  Lifetimes lifetimes(*graph);
  for (size_t i = 0; i < placed.size(); ++i)
    for (size_t j = i + 1; j < placed.size(); ++j) {
      ChannelOp x = placed[i], y = placed[j];
      if (x.getSlotType().getSpace() != y.getSlotType().getSpace() || ownerOf(x) == ownerOf(y) || !overlap(x, y))
        continue;
      if (!shareBase(kernel, x, y))
        return y.emitOpError("overlaps '") << x.getSymName() << "' in memory, but neither aliases the other";
      // One of them comes first at a visit; the other follows at the same visit, and the first again `depth` later.
      const unsigned visits = lifetimes.visits(x);
      auto disjoint = [&](ChannelOp first, ChannelOp second) {
        if (lifetimes.visits(y) != visits)
          return false;
        for (unsigned v = 0; v < visits; ++v) {
          std::optional<unsigned> within = lifetimes.fromEndTo(first, v, second, v);
          if (!within || *within != 0)
            return false;
          const unsigned next = v + unsigned(first.getDepth());
          if (next >= visits && !schedule->persistent)
            continue;
          std::optional<unsigned> around = lifetimes.fromEndTo(second, v, first, next % visits);
          if (!around || *around > next / visits)
            return false;
        }
        return true;
      };
      if (!disjoint(x, y) && !disjoint(y, x))
        return y.emitOpError("shares memory with '")
               << x.getSymName() << "', but nothing keeps a slot of one from being taken while one of the other is alive";
    }
  return success();
}

LogicalResult fovea::tile::verifySync(KernelOp kernel) {
  const int64_t bytes = integer(kernel, "smem_bytes"), tmemSlot = integer(kernel, "tmem_slot");
  llvm::StringMap<int> awaited;
  kernel.walk([&](WaitOp wait) { ++awaited[wait.getBarrier()]; });
  SmallVector<std::pair<Extent, Operation *>> taken;
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>())
    for (int64_t slot = 0; channel.getSlotType().getSpace() == Space::Smem && slot < int64_t(channel.getDepth()); ++slot)
      taken.push_back({slotOf(channel, slot), channel});
  for (BarrierOp barrier : kernel.getBody().getOps<BarrierOp>()) {
    if (!barrier.getOffset() || *barrier.getOffset() % 8)
      return barrier.emitOpError("expected an offset of a multiple of 8 bytes");
    if (barrier.getCount() < 1 || barrier.getDepth() < 1)
      return barrier.emitOpError("expected at least one arrival a phase and one slot");
    Extent range{int64_t(*barrier.getOffset()), int64_t(*barrier.getOffset() + 8 * barrier.getDepth())};
    if (range.end > bytes)
      return barrier.emitOpError("ends at byte ") << range.end << ", beyond the " << bytes << " that the kernel asks for";
    if (Extent word{tmemSlot, tmemSlot + 4}; tmemSlot >= 0 && range.meets(word))
      return barrier.emitOpError("overlaps the word that receives the address of tensor memory");
    for (auto &[other, op] : taken)
      if (range.meets(other))
        return barrier.emitOpError("overlaps '") << SymbolTable::getSymbolName(op).getValue() << "' in shared memory";
    taken.push_back({range, barrier});
    if (!awaited.count(barrier.getSymName()))
      return barrier.emitOpError("is awaited by nobody");
  }
  WalkResult loads = kernel.walk([&](LoadOp load) -> WalkResult {
    ChannelOp channel = channelOf(load.getSlot());
    auto barrier = load.getBarrier() ? kernel.lookupSymbol<BarrierOp>(*load.getBarrier()) : BarrierOp();
    if (!barrier)
      return load.emitOpError("signals no barrier of this kernel"), WalkResult::interrupt();
    if (barrier.getDepth() != channel.getDepth())
      return load.emitOpError("signals '") << barrier.getSymName() << "' of depth " << barrier.getDepth()
                                           << ", but fills '" << channel.getSymName() << "' of depth "
                                           << channel.getDepth(), WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(loads.wasInterrupted());
}
