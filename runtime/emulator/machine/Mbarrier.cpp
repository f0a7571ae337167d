// runtime/emulator/machine/Mbarrier.cpp - the mbarrier object.
#include "runtime/emulator/machine/Mbarrier.h"

namespace fovea::emulator {

static constexpr int64_t kMaxTx = (1 << 20) - 1;

Mbarrier &MbarrierTable::init(uint32_t offset, uint32_t count, uint32_t line) {
  if (offset % 8)
    throw Fault("barrier: an mbarrier must be 8-byte aligned, found shared address " + std::to_string(offset));
  if (count < 1 || count > kMaxTx)
    throw Fault("barrier: mbarrier.init needs a count of 1 to 2^20 - 1, found " + std::to_string(count));
  Mbarrier b;
  b.expected = b.pending = count;
  b.line = line;
  b.id = nextId++;
  return table[offset] = b;
}

void MbarrierTable::invalidate(uint32_t offset) {
  at(offset, "mbarrier.inval");
  table.erase(offset);
}

Mbarrier *MbarrierTable::find(uint32_t offset) {
  auto it = table.find(offset);
  return it == table.end() ? nullptr : &it->second;
}

Mbarrier &MbarrierTable::at(uint32_t offset, const char *what) {
  if (Mbarrier *b = find(offset))
    return *b;
  throw Fault(std::string("barrier: ") + what + " on shared address " + std::to_string(offset) +
              ", where no mbarrier was initialised");
}

bool MbarrierTable::advance(Mbarrier &b) {
  if (!b.complete())
    return false;
  ++b.phase;
  b.pending = b.expected;
  return true;
}

bool MbarrierTable::arrive(Mbarrier &b, uint32_t count) {
  if (count < 1 || count > b.pending)
    throw Fault("barrier: " + std::to_string(count) + " arrivals on an mbarrier (init at line " + std::to_string(b.line) +
                ", count " + std::to_string(b.expected) + ") whose phase " + std::to_string(b.phase) + " misses only " +
                std::to_string(b.pending) + (b.tx ? "; it still waits for " + std::to_string(b.tx) + " bytes" : ""));
  b.pending -= count;
  return advance(b);
}

bool MbarrierTable::arriveDrop(Mbarrier &b, uint32_t count) {
  if (count > b.expected)
    throw Fault("barrier: arrive_drop of " + std::to_string(count) + " with an expected count of " + std::to_string(b.expected));
  b.expected -= count;
  return arrive(b, count);
}

bool MbarrierTable::expectTx(Mbarrier &b, uint32_t bytes) {
  b.tx += bytes;
  if (b.tx > kMaxTx)
    throw Fault("barrier: transaction count " + std::to_string(b.tx) + " exceeds 2^20 - 1 bytes");
  return advance(b);
}

bool MbarrierTable::completeTx(Mbarrier &b, uint32_t bytes) {
  b.tx -= bytes;
  if (b.tx < -kMaxTx)
    throw Fault("barrier: transaction count " + std::to_string(b.tx) + " is below -(2^20 - 1) bytes");
  if (b.tx < 0 && b.pending == 0)
    throw Fault("barrier: " + std::to_string(-b.tx) + " bytes more than expected completed on an mbarrier (init at line " +
                std::to_string(b.line) + ") with no arrival pending");
  return advance(b);
}

} // namespace fovea::emulator
