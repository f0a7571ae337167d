// passes/Schedule/Variants.cpp - the schedules that one manifest has beside each other, for launches of different sizes.
#include "passes/Schedule/Variants.h"

using namespace fovea;

std::vector<Candidate> fovea::pickVariants(const std::vector<Candidate> &ranked, const Problem &problem, const Target &target,
                                           const ScheduleOverrides &overrides) {
  std::vector<Candidate> picked{ranked.front()};
  if (problem.block || target.tcgen05 || overrides.tileRows || problem.queries.kind == RowSpace::Kind::Shared)
    return picked;
  const bool chosenParts = problem.queries == problem.keys && !overrides.splits && ranked.front().schedule.splits != 1;
  if (chosenParts)
    picked.push_back(ranked.front());
  for (const Candidate &c : ranked) // best first
    if (c.refusal.empty() && llvm::none_of(picked, [&](const Candidate &other) { return other.schedule.tileRows == c.schedule.tileRows; }))
      picked.push_back(c);
  if (chosenParts)
    for (Candidate &c : llvm::drop_begin(picked))
      c.schedule.splits = 1;
  return picked;
}

std::string fovea::variantName(const tile::Schedule &schedule) {
  return std::to_string(schedule.itemRows()) + "x" + std::to_string(schedule.keyRows) + (schedule.splits == 1 ? "" : "_parts");
}
