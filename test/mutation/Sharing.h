// test/mutation/Sharing.h - which instructions touch memory that another thread touches too, seen while a kernel runs.
#pragma once
#include "runtime/emulator/detect/Observer.h"
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

namespace fovea::mutation {

/// An access that nobody conflicts with needs no order. Per PTX line, over all runs watched: `before`, some thread's access
/// came before a conflicting one (same four bytes, another thread or an engine, one of the two writes); `after`, it came
/// after one. In a kernel free of races that is the order of every run. Looks at addresses and time only, at no barrier.
class Sharing : public emulator::Observer {
public:
  std::set<uint32_t> before, after;
  std::map<uint32_t, std::set<uint32_t>> laterThan;  ///< line: those of the conflicting accesses that came after it
  bool watched = false;  ///< false: nothing is known, every line may conflict

  void shared(emulator::Warp &, const emulator::Inst &, emulator::Access, emulator::Cta &owner, unsigned lane, uint32_t offset, uint32_t bytes) override;
  void global(emulator::Warp &, const emulator::Inst &, emulator::Access, unsigned lane, uint64_t address, uint32_t bytes) override;
  void asyncShared(emulator::Cluster &, const emulator::AsyncOp &, emulator::Proxy, emulator::Access, emulator::Cta &owner, uint32_t offset, uint32_t bytes) override;
  void asyncGlobal(emulator::Cluster &, const emulator::AsyncOp &, emulator::Access, uint64_t address, uint32_t bytes) override;
  /// Another launch, with memory of its own.
  void begin() { cells.clear(); }

private:
  struct Touch { uint32_t line; uint64_t who; bool write; };
  std::unordered_map<uint64_t, std::vector<Touch>> cells;
  void touch(uint64_t address, uint64_t bytes, uint32_t line, uint64_t who, bool write);
};

} // namespace fovea::mutation
