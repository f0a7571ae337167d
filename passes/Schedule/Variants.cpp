// passes/Schedule/Variants.cpp - the schedules that one manifest has beside each other, for launches of different sizes.
#include "passes/Schedule/Variants.h"

using namespace fovea;

std::vector<const Candidate *> fovea::pickVariants(const std::vector<Candidate> &ranked, const Problem &problem, const Target &target,
                                                   const ScheduleOverrides &overrides) {
  std::vector<const Candidate *> picked{&ranked.front()};
  if (problem.block || target.tcgen05 || overrides.tileRows || problem.queries.kind == RowSpace::Kind::Shared)
    return picked;
  for (const Candidate &c : ranked) // best first
    if (c.refusal.empty() && llvm::none_of(picked, [&](const Candidate *other) { return other->schedule.tileRows == c.schedule.tileRows; }))
      picked.push_back(&c);
  return picked;
}

std::string fovea::variantName(const tile::Schedule &schedule) {
  return std::to_string(schedule.itemRows()) + "x" + std::to_string(schedule.keyRows);
}
