// passes/Analysis/Circuits.cpp - questions to an event graph: its deadlocks, its critical circuit, distances; in words.
#include "passes/Analysis/EventGraph.h"
#include <deque>
#include <limits>

using namespace mlir;
using namespace fovea::tile;

std::optional<Circuit> EventGraph::findDeadlock() const {
  std::optional<Circuit> best;
  std::vector<SmallVector<unsigned>> out(events.size());
  std::vector<unsigned> before(events.size(), 0);
  for (auto [i, edge] : llvm::enumerate(edges))
    if (edge.tokens == 0)
      out[edge.from].push_back(i), ++before[edge.to];
  // Mostly all events can be put in order (Kahn), and none waits for itself.
  std::vector<unsigned> ordered;
  for (unsigned event = 0; event < events.size(); ++event)
    if (!before[event])
      ordered.push_back(event);
  for (size_t i = 0; i < ordered.size(); ++i)
    for (unsigned e : out[ordered[i]])
      if (!--before[edges[e].to])
        ordered.push_back(edges[e].to);
  if (ordered.size() == events.size())
    return std::nullopt;
  // Breadth first from every event over the edges without a token: the graphs have hundreds of events at most.
  for (unsigned start = 0; start < events.size(); ++start) {
    std::vector<int> via(events.size(), -1);
    std::deque<unsigned> queue{start};
    int closing = -1;
    while (!queue.empty() && closing < 0) {
      unsigned at = queue.front();
      queue.pop_front();
      for (unsigned e : out[at]) {
        if (edges[e].to == start) {
          closing = int(e);
          break;
        }
        if (via[edges[e].to] < 0) {
          via[edges[e].to] = int(e);
          queue.push_back(edges[e].to);
        }
      }
    }
    if (closing < 0)
      continue;
    Circuit circuit;
    for (int e = closing;; e = via[edges[e].from]) {
      circuit.edges.push_back(unsigned(e));
      if (edges[e].from == start)
        break;
    }
    std::reverse(circuit.edges.begin(), circuit.edges.end());
    if (!best || circuit.edges.size() < best->edges.size())
      best = circuit;
  }
  return best;
}

std::string EventGraph::name(unsigned event) const {
  const Event &e = events[event];
  if (e.kind == Event::Kind::NextCta)
    return "the next CTA starts";
  std::string text = e.role.str() + (e.kind == Event::Kind::Take ? " takes " : " passes ") +
                     ChannelOp(e.channel).getSymName().str();
  return e.visit ? text + " (visit " + std::to_string(e.visit) + ")" : text;
}

std::string EventGraph::describeWaits(const Circuit &circuit) const {
  // Backwards along the circuit: a take waits for the pass behind its full or empty edge, and that pass stands
  // behind the take where the circuit enters its program.
  SmallVector<unsigned> waits;
  for (unsigned e : llvm::reverse(circuit.edges))
    if (edges[e].kind == Edge::Kind::Full || edges[e].kind == Edge::Kind::Empty)
      waits.push_back(e);
  std::string text;
  auto groupName = [&](unsigned event) { return GroupOp(groups[events[event].group]).getSymName().str(); };
  for (auto [i, w] : llvm::enumerate(waits)) {
    const Edge &edge = edges[w];
    const Event &take = events[edge.to], &pass = events[edge.from];
    ChannelOp channel = take.channel;
    std::string subject = i == 0 ? "group '" + groupName(edge.to) + "' (role '" + take.role.str() + "')" : ", which first";
    text += subject + " waits to take '" + channel.getSymName().str() + "'";
    if (edge.kind == Edge::Kind::Empty)
      text += ", of depth " + std::to_string(channel.getDepth()) + ", empty";
    text += " until group '" + groupName(edge.from) + "' (role '" + pass.role.str() + "') passes it" +
            (edge.kind == Edge::Kind::Empty ? " back" : " on");
  }
  if (!waits.empty())
    text += ", which it does only after that take of '" +
            ChannelOp(events[edges[waits.front()].to].channel).getSymName().str() + "'";
  return text;
}

std::string EventGraph::describe(const Circuit &circuit) const {
  // Only what leads from one program to another, or from one item to the next, is worth a word.
  std::string text;
  StringRef role;
  auto at = [&](const Event &event) {
    if (event.kind == Event::Kind::NextCta || event.role == role)
      return;
    role = event.role;
    text += (text.empty() ? "" : " -> ") + role.str();
  };
  if (!circuit.edges.empty())
    at(events[edges[circuit.edges.front()].from]);
  for (unsigned e : circuit.edges) {
    const Edge &edge = edges[e];
    const Event &from = events[edge.from], &to = events[edge.to];
    if (edge.kind == Edge::Kind::Full || edge.kind == Edge::Kind::Empty) {
      at(from);
      text += " -[" + ChannelOp(from.channel).getSymName().str() + (edge.kind == Edge::Kind::Empty ? " empty]" : "]");
    } else if (edge.kind == Edge::Kind::Closing) {
      if (from.kind != Event::Kind::NextCta) {
        at(from);
        text += to.kind == Event::Kind::NextCta ? " -> the next CTA" : " -> the next item";
      }
    }
    at(to);
  }
  return text;
}

namespace {
/// An event on a circuit of the edges by which each event was reached last; none if they make a forest.
std::optional<unsigned> onCircuit(ArrayRef<Edge> edges, ArrayRef<int> via, std::vector<unsigned> &walk) {
  walk.assign(via.size(), 0); // the walk that came by
  for (unsigned start = 0; start < via.size(); ++start) {
    unsigned at = start;
    while (!walk[at] && via[at] >= 0) {
      walk[at] = start + 1;
      at = edges[unsigned(via[at])].from;
    }
    if (walk[at] == start + 1)
      return at;
    walk[at] = start + 1;
  }
  return std::nullopt;
}
} // namespace

std::optional<Circuit> EventGraph::findCritical() const {
  // Newton's iteration on the ratio: look for a circuit that beats the best so far, i.e. one whose edges sum to
  // more than zero with weight duration - ratio * tokens (Bellman and Ford; edges that were relaxed last and close a
  // circuit are one, however early they do); its own ratio is the next guess.
  std::optional<Circuit> best;
  const size_t n = events.size();
  std::vector<double> longest;
  std::vector<int> via;
  std::vector<unsigned> walk;
  while (true) {
    const double ratio = best ? best->period() : 0;
    longest.assign(n, 0);
    via.assign(n, -1);
    std::optional<unsigned> start;
    while (!start) {
      bool changed = false;
      for (auto [i, edge] : llvm::enumerate(edges)) {
        double d = longest[edge.from] + edge.duration - ratio * edge.tokens;
        if (d > longest[edge.to] + 1e-6) {
          longest[edge.to] = d;
          via[edge.to] = int(i);
          changed = true;
        }
      }
      if (!changed)
        return best;
      start = onCircuit(edges, via, walk);
    }
    Circuit circuit;
    unsigned at = *start;
    do {
      unsigned e = unsigned(via[at]);
      circuit.edges.push_back(e);
      circuit.duration += edges[e].duration;
      circuit.tokens += edges[e].tokens;
      at = edges[e].from;
    } while (at != *start);
    std::reverse(circuit.edges.begin(), circuit.edges.end());
    if (circuit.tokens == 0 || (best && circuit.period() <= best->period()))
      return best;
    best = circuit;
  }
}

std::optional<unsigned> EventGraph::distance(unsigned from, unsigned to) const {
  const unsigned far = std::numeric_limits<unsigned>::max();
  std::vector<unsigned> tokens(events.size(), far);
  tokens[from] = 0;
  for (size_t round = 0; round < events.size(); ++round) {
    bool changed = false;
    for (const Edge &edge : edges)
      if (tokens[edge.from] != far && tokens[edge.from] + edge.tokens < tokens[edge.to])
        tokens[edge.to] = tokens[edge.from] + edge.tokens, changed = true;
    if (!changed)
      break;
  }
  if (tokens[to] == far)
    return std::nullopt;
  return tokens[to];
}
