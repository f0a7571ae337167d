// passes/Tile/CoveredHops.cpp - hops whose order other hops give already.
#include "passes/Tile/CoveredHops.h"
#include "passes/Analysis/EventGraph.h"
#include <deque>
#include <limits>

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

  // Whether a path leads from the edge's start to its end with no more tokens, entering and leaving each group by one
  // unit. Fewest tokens first: edges of loops have 0, 1 or the depth of a ring.
  bool hasPath(const Edge &edge) const {
    std::vector<unsigned> best(graph.events.size(), std::numeric_limits<unsigned>::max());
    std::vector<Unit> by(graph.events.size(), Unit::Threads);
    std::deque<unsigned> queue{edge.from};
    best[edge.from] = 0, by[edge.from] = unitOf(edge.from);
    while (!queue.empty()) {
      unsigned at = queue.front();
      queue.pop_front();
      for (unsigned e : out[at]) {
        const Edge &next = graph.edges[e];
        unsigned tokens = best[at] + next.tokens;
        if (removed.contains(e) || tokens > edge.tokens || tokens >= best[next.to])
          continue;
        if (isHop(next) && unitOf(at) != by[at])
          continue;
        Unit unit = isHop(next) ? unitOf(next.to) : by[at];
        if (next.to == edge.to && unit != unitOf(edge.to))
          continue;
        best[next.to] = tokens, by[next.to] = unit;
        queue.push_back(next.to);
      }
    }
    return best[edge.to] <= edge.tokens;
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
