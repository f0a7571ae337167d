// runtime/emulator/machine/AddressSpace.h - device memory: allocations, addresses, bounds.
#pragma once
#include "runtime/emulator/machine/tensor/Fault.h"
#include "runtime/emulator/machine/tensor/Memory.h"
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace fovea::emulator {

/// Generic-address windows. Device allocations lie below 2^47; the low 32 bits of a shared, local or parameter
/// generic address are the address inside its own state space, so that `cvta` is an addition.
constexpr uint64_t kSharedWindow = uint64_t(1) << 56, kLocalWindow = uint64_t(2) << 56, kParamWindow = uint64_t(3) << 56;
constexpr uint64_t kWindowMask = uint64_t(0xff) << 56;

/// What unwritten memory holds: a signalling NaN as f32, NaNs as bf16 pairs and as f64.
constexpr uint32_t kPoison = 0x7FA0DEAD;
void poison(void *to, size_t bytes, uint32_t word = kPoison);

struct Allocation {
  uint64_t base = 0, size = 0;
  uint8_t *host = nullptr;
  std::string name;
  bool readOnly = false;
  std::unique_ptr<uint8_t[]> owned;
};

/// All of a device's global memory. Allocation is locked; look-ups are not, since kernels run between driver calls.
class AddressSpace final : public GlobalPort {
public:
  /// 512-byte aligned, poisoned, with unmapped space around. Throws std::bad_alloc.
  uint64_t allocate(uint64_t bytes, std::string name, uint64_t align = 512);
  /// Makes host memory visible at its own address (cuMemHostAlloc, cuMemHostRegister).
  void adopt(void *host, uint64_t bytes, std::string name);
  bool release(uint64_t address);
  /// The allocation that holds [address, address + bytes), or null.
  Allocation *find(uint64_t address, uint64_t bytes);
  /// Same, but throws a Fault that names the nearest buffer.
  uint8_t *at(uint64_t address, uint64_t bytes, const char *what);
  /// "buffer + offset" for messages.
  std::string describe(uint64_t address) const;
  uint64_t used() const { return usedBytes; }
  /// Every allocation, in the order of their addresses.
  std::vector<const Allocation *> all() const;
  /// Poisoned memory at a given address, for repeating a recorded launch. Throws std::invalid_argument when it would
  /// overlap what is there.
  void place(uint64_t address, uint64_t bytes, std::string name);

  void read(uint64_t address, void *to, size_t bytes) override;
  void write(uint64_t address, const void *from, size_t bytes) override;
  const uint8_t *view(uint64_t address, size_t bytes) override { return at(address, bytes, "read"); }
  void modify(uint64_t address, size_t bytes, const std::function<void(void *)> &change) override;

private:
  std::map<uint64_t, Allocation> allocations;  ///< by base
  std::mutex lock, modifyLock;
  uint64_t next = uint64_t(1) << 33, usedBytes = 0;
  int unnamed = 0;
};

} // namespace fovea::emulator
