// frontend/sema/Schedules.h - what a `schedule TARGET { ... }` block may ask for (internal to sema)
#pragma once

#include "frontend/ast/Diagnostics.h"
#include "frontend/sema/Sema.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace fovea::sema {

/// One key of a schedule block. The table in Schedules.cpp is the list; adding a row makes the key known.
struct ScheduleKey {
  llvm::StringRef name;
  llvm::ArrayRef<llvm::StringRef> words; ///< the words that it takes, if any
  int64_t least = 0, most = 0;           ///< the numbers that it takes; none when both are 0
  bool perName = false;                  ///< also `{ role : number }` (a channel for `stages`)
  llvm::StringRef help;
};
llvm::ArrayRef<ScheduleKey> scheduleKeys();

/// None when nothing of the block can be used.
std::optional<ScheduleOverrides> analyzeSchedule(const ast::Schedule &schedule, Diagnostics &diagnostics);

} // namespace fovea::sema
