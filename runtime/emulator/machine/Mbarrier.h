// runtime/emulator/machine/Mbarrier.h - the mbarrier object (PTX ISA, "mbarrier"; phases, arrivals, transaction count).
#pragma once
#include "runtime/emulator/machine/tensor/Fault.h"
#include <cstdint>
#include <string>
#include <unordered_map>

namespace fovea::emulator {

/// State of one barrier. It lives beside shared memory; the 8 bytes themselves hold an opaque pattern.
struct Mbarrier {
  uint64_t phase = 0;      ///< completed phases
  uint32_t expected = 0;   ///< arrivals per phase
  uint32_t pending = 0;    ///< arrivals missing in this phase
  int64_t tx = 0;          ///< bytes expected and not yet completed
  uint32_t line = 0;       ///< PTX line of the init
  uint64_t id = 0;         ///< unique over the cluster's life, for detectors
  bool complete() const { return pending == 0 && tx == 0; }
};

/// The barriers of one CTA, by shared-window offset. Each function returns true when it completed the phase.
/// Throws Fault: no barrier there, misaligned, count or transaction count out of range, more arrivals than expected.
class MbarrierTable {
public:
  Mbarrier &init(uint32_t offset, uint32_t count, uint32_t line);
  void invalidate(uint32_t offset);
  Mbarrier &at(uint32_t offset, const char *what);
  Mbarrier *find(uint32_t offset);
  bool arrive(Mbarrier &b, uint32_t count);
  bool arriveDrop(Mbarrier &b, uint32_t count);
  bool expectTx(Mbarrier &b, uint32_t bytes);
  bool completeTx(Mbarrier &b, uint32_t bytes);
  const std::unordered_map<uint32_t, Mbarrier> &all() const { return table; }

private:
  std::unordered_map<uint32_t, Mbarrier> table;
  uint64_t nextId = 1;
  bool advance(Mbarrier &b);
};

} // namespace fovea::emulator
