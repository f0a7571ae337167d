// runtime/abi/Error.h - how the runtime reports failure: a message, never an exception.
//
//   Expected<Device> device = Device::open("emulator");
//   if (!device)
//     return device.error();          // an Error converts to any Expected<T>
//   device->synchronize();
//
// Messages are lower case and say what was expected, what was found and what would work.
#ifndef FOVEA_RUNTIME_ABI_ERROR_H
#define FOVEA_RUNTIME_ABI_ERROR_H

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace fovea {

/// Why something was refused or failed. `driverCode` is the CUresult when a driver call failed, else 0.
struct Error {
  std::string message;
  int driverCode = 0;
};

/// A value, or the Error that stands in its place.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }
  T &operator*() & { return *std::get_if<0>(&state); }
  const T &operator*() const & { return *std::get_if<0>(&state); }
  T &&operator*() && { return std::move(*std::get_if<0>(&state)); }
  T *operator->() { return std::get_if<0>(&state); }
  const T *operator->() const { return std::get_if<0>(&state); }
  const Error &error() const { return *std::get_if<1>(&state); }
  const std::string &message() const { return error().message; }

private:
  std::variant<T, Error> state;
};

/// Success, or an Error.
template <> class [[nodiscard]] Expected<void> {
public:
  Expected() = default;
  Expected(Error error) : failure(std::move(error)) {}

  explicit operator bool() const { return !failure; }
  const Error &error() const { return *failure; }
  const std::string &message() const { return failure->message; }

private:
  std::optional<Error> failure;
};

} // namespace fovea

#endif // FOVEA_RUNTIME_ABI_ERROR_H
