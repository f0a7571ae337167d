// runtime/core/Buffer.h - device memory that frees itself.
#ifndef FOVEA_RUNTIME_CORE_BUFFER_H
#define FOVEA_RUNTIME_CORE_BUFFER_H

#include "runtime/core/Device.h"
#include "runtime/core/Tensor.h"

namespace fovea {

/// An allocation on one device, at least 256-byte aligned. Move-only. Copies block until the host side is done;
/// they are ordered with the default stream, not with streams of one's own.
class Buffer {
public:
  Buffer() = default;
  /// `bytes` may be 0: the address is then valid, and nothing may be copied.
  static Expected<Buffer> allocate(const Device &device, size_t bytes);
  /// Allocates and copies `bytes` from the host.
  static Expected<Buffer> fromHost(const Device &device, const void *data, size_t bytes);

  Buffer(Buffer &&other) noexcept { swap(other); }
  Buffer &operator=(Buffer &&other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer();

  cu::CUdeviceptr address() const { return pointer; }
  size_t size() const { return length; } ///< bytes

  Expected<void> upload(const void *from, size_t bytes, size_t offset = 0);
  Expected<void> download(void *to, size_t bytes, size_t offset = 0) const;
  Expected<void> fill(unsigned char byte);

  /// A tensor that begins `offset` bytes into the buffer. Empty `strides` means contiguous (C order).
  Tensor view(std::string name, DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides = {},
              size_t offset = 0) const;

private:
  void swap(Buffer &other) noexcept;
  Expected<void> checkRange(const char *verb, size_t bytes, size_t offset) const;

  std::optional<Device> device;
  cu::CUdeviceptr pointer = 0;
  size_t length = 0;
};

} // namespace fovea

#endif // FOVEA_RUNTIME_CORE_BUFFER_H
