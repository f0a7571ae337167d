// runtime/core/Buffer.cpp - allocation and copies.
#include "runtime/core/Buffer.h"

#include <algorithm>

namespace fovea {

Expected<Buffer> Buffer::allocate(const Device &device, size_t bytes) {
  ContextScope scope(device);
  Buffer buffer;
  // The driver refuses 0 bytes, but an empty tensor still wants a valid address.
  if (auto ok = device.driver().check(device.driver().cuMemAlloc_v2(&buffer.pointer, std::max<size_t>(bytes, 16)),
                                      "cuMemAlloc", "allocate " + std::to_string(bytes) + " bytes on " + device.spec());
      !ok)
    return ok.error();
  buffer.device = device;
  buffer.length = bytes;
  return buffer;
}

Expected<Buffer> Buffer::fromHost(const Device &device, const void *data, size_t bytes) {
  Expected<Buffer> buffer = allocate(device, bytes);
  if (buffer)
    if (auto ok = buffer->upload(data, bytes); !ok)
      return ok.error();
  return buffer;
}

Buffer::~Buffer() {
  if (!pointer)
    return;
  ContextScope scope(*device);
  (void)device->driver().cuMemFree_v2(pointer); // a lost context has freed it already
}

void Buffer::swap(Buffer &other) noexcept {
  std::swap(device, other.device);
  std::swap(pointer, other.pointer);
  std::swap(length, other.length);
}

Expected<void> Buffer::checkRange(const char *verb, size_t bytes, size_t offset) const {
  if (offset <= length && bytes <= length - offset)
    return {};
  return Error{std::string("cannot ") + verb + " " + std::to_string(bytes) + " bytes at offset " +
               std::to_string(offset) + ": the buffer has " + std::to_string(length) + " bytes"};
}

Expected<void> Buffer::upload(const void *from, size_t bytes, size_t offset) {
  if (auto ok = checkRange("upload", bytes, offset); !ok || bytes == 0)
    return ok;
  ContextScope scope(*device);
  return device->driver().check(device->driver().cuMemcpyHtoD_v2(pointer + offset, from, bytes), "cuMemcpyHtoD");
}

Expected<void> Buffer::download(void *to, size_t bytes, size_t offset) const {
  if (auto ok = checkRange("download", bytes, offset); !ok || bytes == 0)
    return ok;
  ContextScope scope(*device);
  return device->driver().check(device->driver().cuMemcpyDtoH_v2(to, pointer + offset, bytes), "cuMemcpyDtoH");
}

Expected<void> Buffer::fill(unsigned char byte) {
  if (length == 0)
    return {};
  ContextScope scope(*device);
  return device->driver().check(device->driver().cuMemsetD8_v2(pointer, byte, length), "cuMemsetD8");
}

Tensor Buffer::view(std::string name, DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides,
                    size_t offset) const {
  Tensor tensor{std::move(name), pointer + offset, dtype, std::move(shape), std::move(strides)};
  if (tensor.strides.empty())
    tensor.strides = contiguousStrides(tensor.shape);
  tensor.capacity = offset <= length ? length - offset : 0;
  tensor.capacityKnown = true;
  return tensor;
}

} // namespace fovea
