// passes/Tile/CoveredHops.cpp - hops whose order other hops give already.
#include "passes/Tile/CoveredHops.h"
#include "passes/Analysis/EventGraph.h"
#include "passes/Tile/Hops.h"
#include <deque>

using namespace mlir;
using namespace fovea::tile;

namespace {
// One graph for a number of key blocks, without the hops that were found to be covered.
class Paths {
public:
  explicit Paths(EventGraph built) : graph(std::move(built)), out(graph.events.size()) {
    for (auto [i, edge] : llvm::enumerate(graph.edges))
      out[edge.from].push_back(unsigned(i));
  }

  bool covers(ChannelOp channel, unsigned station) {
    SmallVector<unsigned> own = edgesOf(channel, station);
    if (own.empty() || unitOf(graph.edges[own.front()].from) == Unit::Tma)
      return false;
    for (unsigned e : own)
      removed.insert(e);
    bool all = llvm::all_of(own, [&](unsigned e) { return hasPath(graph.edges[e]); });
    if (!all)
      restore(own);
    return all;
  }
  void restore(ChannelOp channel, unsigned station) { restore(edgesOf(channel, station)); }

private:
  void restore(ArrayRef<unsigned> edges) {
    for (unsigned e : edges)
      removed.erase(e);
  }

  static bool isHop(const Edge &edge) { return edge.kind == Edge::Kind::Full || edge.kind == Edge::Kind::Empty; }
  Unit unitOf(unsigned event) const { return TakeOp(graph.events[event].take).getUnit(); }

  SmallVector<unsigned> edgesOf(ChannelOp channel, unsigned station) const {
    SmallVector<unsigned> found;
    for (auto [i, edge] : llvm::enumerate(graph.edges))
      if (isHop(edge) && graph.events[edge.from].channel == channel && graph.events[edge.from].station == station)
        found.push_back(unsigned(i));
    return found;
  }

  // The event that an edge holds back: its end, or the next of the group, in the same item, that works on the slot.
  unsigned heldBack(const Edge &edge) const {
    ArrayRef<unsigned> program = graph.programs[graph.events[edge.to].group];
    for (unsigned at : program.drop_while([&](unsigned event) { return event != edge.to; })) {
      const Event &event = graph.events[at];
      if (event.kind == Event::Kind::Take && ownerOf(event.channel) == ownerOf(graph.events[edge.to].channel) && worksOn(event.take))
        return at;
    }
    return edge.to;
  }

  // Whether a path leads from the edge's start to what it holds back with no more tokens, entering and leaving each group
  // by one unit: a place on the path is an event and the unit that is there. Fewest tokens first: edges of loops have 0, 1
  // or the depth of a ring.
  bool hasPath(const Edge &edge) const {
    using Place = std::pair<unsigned, Unit>;
    llvm::DenseMap<Place, unsigned> best;
    const Place start{edge.from, unitOf(edge.from)};
    const unsigned end = heldBack(edge);
    const Place goal{end, unitOf(end)};
    best[start] = 0;
    std::deque<Place> queue{start};
    while (!queue.empty()) {
      const auto [at, by] = queue.front();
      queue.pop_front();
      const unsigned spent = best.lookup({at, by});
      for (unsigned e : out[at]) {
        const Edge &next = graph.edges[e];
        const unsigned tokens = spent + next.tokens;
        if (removed.contains(e) || tokens > edge.tokens || (isHop(next) && unitOf(at) != by))
          continue;
        const Place to{next.to, isHop(next) ? unitOf(next.to) : by};
        auto [known, fresh] = best.try_emplace(to, tokens);
        if (!fresh && tokens >= known->second)
          continue;
        known->second = tokens;
        queue.push_back(to);
      }
    }
    auto reached = best.find(goal);
    return reached != best.end() && reached->second <= edge.tokens;
  }

  EventGraph graph;
  std::vector<SmallVector<unsigned>> out;
  llvm::DenseSet<unsigned> removed;
};
} // namespace

FailureOr<CoveredHops> fovea::tile::coveredHops(KernelOp kernel) {
  std::vector<Paths> lengths;
  for (unsigned blocks : {1u, 2u, blocksToUnroll(kernel)}) {
    FailureOr<EventGraph> graph = EventGraph::build(kernel, blocks);
    if (failed(graph))
      return failure();
    lengths.emplace_back(std::move(*graph));
  }
  CoveredHops covered;
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>()) {
    for (unsigned station = 0; station < channel.getStations().size(); ++station) {
      size_t agreed = 0;
      while (agreed < lengths.size() && lengths[agreed].covers(channel, station))
        ++agreed;
      if (agreed == lengths.size())
        covered.insert({channel.getSymName().str(), station});
      else
        for (size_t i = 0; i < agreed; ++i)
          lengths[i].restore(channel, station);
    }
  }
  return covered;
}
