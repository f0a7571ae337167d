// passes/Analysis/EventGraph.cpp - building the marked graph.
#include "passes/Analysis/EventGraph.h"
#include "dialect/Tile/Schedule.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace fovea::tile;

std::vector<ProgramOp> fovea::tile::unrolledProgram(GroupOp group, unsigned blocks) {
  std::vector<ProgramOp> program;
  unsigned block = 0;
  auto add = [&](auto &self, Operation &op, bool rare) -> void {
    program.push_back({&op, block, rare});
    if (auto cold = dyn_cast<RareOp>(op))
      for (Operation &inner : cold.getBody().front().without_terminator())
        self(self, inner, true);
  };
  // The first loop says where all begin; edges have the events of the plain loop, which stands for them.
  std::optional<unsigned> begin;
  for (Operation &op : group.getBody().front()) {
    auto loop = dyn_cast<LoopOp>(op);
    if (!loop) {
      add(add, op, false);
      continue;
    }
    APInt from;
    if (!begin)
      begin = matchPattern(loop.getFrom(), m_ConstantInt(&from)) ? unsigned(from.getZExtValue()) : 0;
    if (loop.getEdge())
      continue;
    for (block = *begin; block < blocks; ++block)
      for (Operation &inner : loop.getBody().front().without_terminator())
        add(add, inner, false);
  }
  return program;
}

namespace {
// What a loop's body does beside mathematics: an op with its attributes and the channels of its slots.
struct LoopEvent {
  std::string text;
  bool rare; // a cold path, or inside one
};
} // namespace

static SmallVector<LoopEvent> eventsOf(LoopOp loop) {
  SmallVector<LoopEvent> events;
  loop.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa<TileDialect>(op->getDialect()) || isPure(op) || isa<YieldOp>(op))
      return;
    std::string text;
    llvm::raw_string_ostream os(text);
    os << op->getName();
    if (!isa<RareOp>(op)) // when it runs is nobody's matter
      os << " " << op->getAttrDictionary();
    for (Value operand : op->getOperands())
      if (isa<SlotType>(operand.getType()))
        os << " " << channelOf(operand).getSymName();
    events.push_back({text, isa<RareOp>(op) || op->getParentOfType<RareOp>()});
  });
  return events;
}

// Whether an edge has the events of the plain loop, but for cold paths, of which it has what it likes.
static bool agree(LoopOp edge, LoopOp plain) {
  SmallVector<LoopEvent> fewer = eventsOf(edge);
  auto next = fewer.begin();
  for (const LoopEvent &event : eventsOf(plain)) {
    if (next != fewer.end() && next->text == event.text)
      ++next;
    else if (!event.rare)
      return false;
  }
  return next == fewer.end();
}

// tile.loop: edges differ from the plain loop in mathematics only.
static LogicalResult verifyEdges(GroupOp group) {
  LoopOp plain;
  for (LoopOp loop : group.getBody().getOps<LoopOp>())
    if (!loop.getEdge()) {
      if (plain)
        return loop.emitOpError("is a second plain loop of group '") << group.getSymName() << "'";
      plain = loop;
    }
  for (LoopOp loop : group.getBody().getOps<LoopOp>())
    if (loop.getEdge() && (!plain || !agree(loop, plain)))
      return loop.emitOpError("does not have the events of the plain loop of group '") << group.getSymName() << "'";
  return success();
}

bool fovea::tile::hasKeyBlocks(KernelOp kernel) { return kernel->hasAttr("key_blocks"); }

unsigned fovea::tile::blocksToUnroll(KernelOp kernel) {
  if (!hasKeyBlocks(kernel))
    return 1;
  int64_t depth = 1;
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>())
    depth = std::max(depth, int64_t(channel.getDepth()));
  return unsigned(depth) + 2;
}

namespace {
// The visits of one channel: events of each station in order of the ring.
struct Visits {
  SmallVector<SmallVector<unsigned>> takes, passes; // [station][visit]
};

class GraphBuilder {
public:
  GraphBuilder(KernelOp kernel, unsigned blocks) : kernel(kernel), blocks(blocks) {}

  FailureOr<EventGraph> run() {
    llvm::Expected<Schedule> schedule = Schedule::fromAttr(kernel.getSchedule());
    if (!schedule)
      return kernel.emitOpError(llvm::toString(schedule.takeError())), failure();
    graph.persistent = schedule->persistent;
    for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>()) {
      Visits &v = visits[channel.getSymName()];
      v.takes.resize(channel.getStations().size());
      v.passes.resize(channel.getStations().size());
    }
    for (GroupOp group : kernel.getBody().getOps<GroupOp>())
      if (failed(addProgram(group)))
        return failure();
    for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>())
      if (failed(addChannel(channel)))
        return failure();
    closePrograms();
    return std::move(graph);
  }

private:
  LogicalResult addProgram(GroupOp group) {
    if (failed(verifyEdges(group)))
      return failure();
    unsigned index = graph.groups.size();
    graph.groups.push_back(group);
    graph.programs.emplace_back();
    graph.bodies.push_back(unrolledProgram(group, blocks));
    llvm::DenseMap<Operation *, unsigned> visitOf; // take -> its latest visit
    for (unsigned position = 0; position < graph.bodies[index].size(); ++position) {
      Operation &op = *graph.bodies[index][position].op;
      Event event;
      event.op = &op;
      event.group = index;
      event.position = position;
      if (auto role = op.getAttrOfType<StringAttr>("tile.role"))
        event.role = role.getValue();
      if (auto take = dyn_cast<TakeOp>(op)) {
        event.kind = Event::Kind::Take;
        event.take = take;
      } else if (auto pass = dyn_cast<PassOp>(op)) {
        event.kind = Event::Kind::Pass;
        event.take = takeOf(pass.getSlot());
      } else {
        continue;
      }
      event.channel = channelOf(event.take);
      event.station = unsigned(event.take.getStation());
      StringRef station = cast<StringAttr>(event.channel.getStations()[event.station]).getValue();
      if (event.role.empty())
        event.role = station;
      Visits &v = visits[event.channel.getSymName()];
      unsigned id = graph.events.size();
      if (event.kind == Event::Kind::Take) {
        if (event.role != station)
          return op.emitOpError("role '") << event.role << "' takes station " << event.station << " of '"
                                          << event.channel.getSymName() << "', which belongs to '" << station << "'";
        auto &takes = v.takes[event.station];
        if (!takes.empty() && graph.events[takes.front()].group != index)
          return event.channel.emitOpError("station '")
                 << station << "' is shared by the groups '"
                 << GroupOp(graph.groups[graph.events[takes.front()].group]).getSymName() << "' and '"
                 << group.getSymName() << "': a wait could pass one phase early, so give each group its own channel";
        event.visit = visitOf[&op] = takes.size();
        takes.push_back(id);
      } else {
        event.visit = visitOf.lookup(event.take);
        v.passes[event.station].push_back(id);
      }
      if (!graph.programs.back().empty())
        connect(Edge::Kind::Program, graph.programs.back().back(), id, 0);
      graph.programs.back().push_back(id);
      graph.events.push_back(event);
    }
    return success();
  }

  LogicalResult addChannel(ChannelOp channel) {
    Visits &v = visits[channel.getSymName()];
    const unsigned count = v.takes.front().size(), stations = v.takes.size();
    for (unsigned s = 0; s < stations; ++s)
      if (v.takes[s].size() != count || v.takes[s].empty() || v.passes[s].size() != v.takes[s].size()) {
        auto name = [&](unsigned i) { return cast<StringAttr>(channel.getStations()[i]).getValue(); };
        return channel.emitOpError("is out of balance: per item '")
               << name(s) << "' takes " << v.takes[s].size() << " and passes " << v.passes[s].size() << " slots, '"
               << name(0) << "' takes " << count << ": every station must take and pass equally often, at least once";
      }
    for (unsigned s = 0; s + 1 < stations; ++s)
      for (unsigned pass : v.passes[s])
        connect(Edge::Kind::Full, pass, v.takes[s + 1][graph.events[pass].visit], 0);
    // Slots that others lie over come back through them.
    ChannelOp home = channel;
    if (graph.persistent) {
      if (isHost(channel))
        return success();
      if (ChannelOp host = hostOf(channel))
        home = host;
    }
    ArrayRef<unsigned> back = visits[home.getSymName()].takes[0];
    if (back.size() != count)
      return channel.emitOpError("lies over '") << home.getSymName() << "', but is visited " << count
                                                << " times an item, and that " << back.size() << " times";
    for (unsigned pass : v.passes[stations - 1]) {
      unsigned next = graph.events[pass].visit + unsigned(channel.getDepth());
      if (next / count == 0 || graph.persistent)
        connect(Edge::Kind::Empty, pass, back[next % count], next / count);
    }
    return success();
  }

  void closePrograms() {
    unsigned nextCta = graph.events.size();
    if (!graph.persistent) {
      Event event;
      event.kind = Event::Kind::NextCta;
      graph.events.push_back(event);
    }
    for (auto &program : graph.programs) {
      if (program.empty())
        continue;
      if (graph.persistent) {
        connect(Edge::Kind::Closing, program.back(), program.front(), 1);
      } else {
        connect(Edge::Kind::Closing, program.back(), nextCta, 1);
        connect(Edge::Kind::Closing, nextCta, program.front(), 0);
      }
    }
  }

  void connect(Edge::Kind kind, unsigned from, unsigned to, unsigned tokens) {
    Edge edge;
    edge.kind = kind, edge.from = from, edge.to = to, edge.tokens = tokens;
    graph.edges.push_back(edge);
  }

  KernelOp kernel;
  const unsigned blocks;
  EventGraph graph;
  llvm::StringMap<Visits> visits;
};
} // namespace

FailureOr<EventGraph> EventGraph::build(KernelOp kernel, unsigned blocks) {
  return GraphBuilder(kernel, blocks).run();
}
