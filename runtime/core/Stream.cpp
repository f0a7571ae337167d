// runtime/core/Stream.cpp - streams and events over the driver table.
#include "runtime/core/Stream.h"

namespace fovea {
using namespace cu;

Stream Stream::defaultOf(const Device &device) { return {device, nullptr}; }

Stream Stream::borrow(const Device &device, void *handle) {
  return {device, std::shared_ptr<CUstream_st>(static_cast<CUstream>(handle), [](CUstream) {})};
}

Expected<Stream> Stream::create(const Device &device) {
  ContextScope scope(device);
  CUstream stream = nullptr;
  if (auto ok = device.driver().check(device.driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                                      "cuStreamCreate");
      !ok)
    return ok.error();
  return Stream(device, std::shared_ptr<CUstream_st>(stream, [device](CUstream s) {
                  ContextScope scope(device);
                  (void)device.driver().cuStreamDestroy_v2(s);
                }));
}

Expected<void> Stream::synchronize() const {
  ContextScope scope(owner);
  return owner.driver().check(owner.driver().cuStreamSynchronize(handle()), "cuStreamSynchronize",
                              "wait for a stream of " + owner.spec());
}

Expected<Event> Event::create(const Device &device) {
  ContextScope scope(device);
  CUevent event = nullptr;
  if (auto ok = device.driver().check(device.driver().cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate"); !ok)
    return ok.error();
  return Event(device, std::shared_ptr<CUevent_st>(event, [device](CUevent e) {
                 ContextScope scope(device);
                 (void)device.driver().cuEventDestroy_v2(e);
               }));
}

Expected<void> Event::record(const Stream &stream) {
  ContextScope scope(owner);
  return owner.driver().check(owner.driver().cuEventRecord(event.get(), stream.handle()), "cuEventRecord");
}

Expected<void> Event::synchronize() const {
  ContextScope scope(owner);
  return owner.driver().check(owner.driver().cuEventSynchronize(event.get()), "cuEventSynchronize");
}

Expected<void> Event::makeWait(const Stream &stream) const {
  ContextScope scope(owner);
  return owner.driver().check(owner.driver().cuStreamWaitEvent(stream.handle(), event.get(), 0), "cuStreamWaitEvent");
}

Expected<float> Event::millisecondsSince(const Event &start) const {
  ContextScope scope(owner);
  float milliseconds = 0;
  if (auto ok = owner.driver().check(owner.driver().cuEventElapsedTime(&milliseconds, start.event.get(), event.get()),
                                     "cuEventElapsedTime");
      !ok)
    return ok.error();
  return milliseconds;
}

} // namespace fovea
