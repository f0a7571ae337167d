// runtime/emulator/machine/tensor/Memory.h - how the functional units see registers, shared and global memory
#pragma once
#include <cstdint>
#include <cstring>
#include <functional>

namespace fovea::emulator {

/// One CTA's shared memory. `data[0]` is the byte at shared::cta offset 0, so offsets here are the absolute window
/// addresses that swizzles and matrix descriptors are defined on (PTX ISA, "Shared Memory Matrix Layout").
struct SharedSpan {
  uint8_t *data = nullptr;
  uint32_t size = 0;
};

/// Global memory. Implementations check bounds and throw Fault; addresses are device virtual addresses.
class GlobalPort {
public:
  virtual ~GlobalPort() = default;
  virtual void read(uint64_t address, void *to, size_t bytes) = 0;
  virtual void write(uint64_t address, const void *from, size_t bytes) = 0;
  /// The bytes themselves, for reading, or null where an implementation has none to show.
  virtual const uint8_t *view(uint64_t address, size_t bytes) {
    (void)address, (void)bytes;
    return nullptr;
  }
  /// Read-modify-write of one element (1..8 bytes), atomic towards every other modify(). The default is not locked:
  /// override it where several host threads run CTAs.
  virtual void modify(uint64_t address, size_t bytes, const std::function<void(void *)> &change) {
    uint8_t value[8];
    read(address, value, bytes);
    change(value);
    write(address, value, bytes);
  }
};

/// One 32-bit register of the 32 lanes of one warp: lane l lives at `lanes + l * stride` bytes.
struct WarpRegister {
  void *lanes = nullptr;
  uint32_t stride = 4;

  uint32_t get(unsigned lane) const {
    uint32_t v;
    std::memcpy(&v, static_cast<const char *>(lanes) + size_t(lane) * stride, 4);
    return v;
  }
  void set(unsigned lane, uint32_t v) const {
    std::memcpy(static_cast<char *>(lanes) + size_t(lane) * stride, &v, 4);
  }
};

/// Bytes that one operation reads or writes, for the detectors; not checked against the memories' sizes (the operation is). `cta` is 0 for the executing CTA (the even one of a
/// pair), 1 for its peer. Shared: `address` is a window offset. Tensor: lane << 16 | column, `count` is in 32-bit
/// columns of that lane and the `lanes` - 1 after it. With `blocks`, shared memory in blocks of 16 bytes: bit k stands for the one at `address` + 16 k,
/// and `address` is a multiple of 1024.
struct Touched {
  enum Space : uint8_t { Shared, Tensor } space = Shared;
  bool write = false;
  uint8_t cta = 0;
  uint32_t address = 0;
  uint32_t count = 0;
  uint64_t blocks = 0;
  uint32_t lanes = 1;
};
using TouchedFn = std::function<void(const Touched &)>;

} // namespace fovea::emulator
