// runtime/core/Stream.h - streams and events.
#ifndef FOVEA_RUNTIME_CORE_STREAM_H
#define FOVEA_RUNTIME_CORE_STREAM_H

#include "runtime/core/Device.h"

namespace fovea {

/// An order of work on one device. A handle: copies share the stream, the last one destroys it.
class Stream {
public:
  /// The device's default stream, which waits for all blocking streams.
  static Stream defaultOf(const Device &device);
  /// A stream of another library (torch's current stream); stays theirs.
  static Stream borrow(const Device &device, void *handle);
  /// A new stream that does not wait for the default stream.
  static Expected<Stream> create(const Device &device);

  const Device &device() const { return owner; }
  cu::CUstream handle() const { return stream.get(); }
  /// Waits for the work so far; reports failures of its kernels.
  Expected<void> synchronize() const;

private:
  Stream(Device device, std::shared_ptr<cu::CUstream_st> stream)
      : owner(std::move(device)), stream(std::move(stream)) {}
  Device owner;
  std::shared_ptr<cu::CUstream_st> stream;
};

/// A point in a stream that can be waited for and timed.
class Event {
public:
  static Expected<Event> create(const Device &device);
  Expected<void> record(const Stream &stream);
  Expected<void> synchronize() const;
  /// Later work of `stream` waits until this event has happened.
  Expected<void> makeWait(const Stream &stream) const;
  /// Milliseconds from `start` to this event; both must have happened.
  Expected<float> millisecondsSince(const Event &start) const;

private:
  Event(Device device, std::shared_ptr<cu::CUevent_st> event) : owner(std::move(device)), event(std::move(event)) {}
  Device owner;
  std::shared_ptr<cu::CUevent_st> event;
};

} // namespace fovea

#endif // FOVEA_RUNTIME_CORE_STREAM_H
