// runtime/core/File.cpp - reading, and writing by rename, or into a device.
#include "runtime/core/File.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fovea {

namespace {
Error systemError(const std::string &what) { return Error{what + ": " + std::strerror(errno)}; }

bool writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR)
      return false;
    bytes.remove_prefix(count < 0 ? 0 : size_t(count));
  }
  return true;
}

// A rename would put a file in the place of the device or the pipe: as root, in the place of /dev/null.
Expected<void> writeInPlace(const std::string &path, std::string_view bytes) {
  int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return systemError("cannot write " + path);
  Expected<void> result;
  if (!writeAll(file, bytes))
    result = systemError("cannot write " + path);
  if (close(file) != 0 && result)
    result = systemError("cannot write " + path);
  return result;
}
} // namespace

Expected<std::string> readFile(const std::string &path, size_t limit) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return systemError("cannot read " + path);
  struct stat info;
  if (fstat(file, &info) == 0 && S_ISDIR(info.st_mode)) {
    close(file);
    return Error{"cannot read " + path + ": it is a folder"};
  }
  std::string bytes;
  char block[65536];
  ssize_t count;
  while ((count = read(file, block, std::min(sizeof block, limit - bytes.size()))) > 0)
    bytes.append(block, size_t(count));
  Error failure = systemError("cannot read " + path);
  close(file);
  if (count < 0)
    return failure;
  return bytes;
}

Expected<void> writeFileAtomically(const std::string &path, std::string_view bytes) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode))
      return Error{"cannot write " + path + ": it is a folder"};
    if (!S_ISREG(info.st_mode))
      return writeInPlace(path, bytes);
  }
  std::string temporary = path + ".XXXXXX";
  int file = mkstemp(temporary.data());
  if (file < 0)
    return systemError("cannot write " + path);
  auto fail = [&]() -> Expected<void> {
    Error error = systemError("cannot write " + path);
    if (file >= 0)
      close(file);
    unlink(temporary.c_str());
    return error;
  };
  if (!writeAll(file, bytes))
    return fail();
  // mkstemp makes the file private; give it the usual permissions.
  mode_t mask = umask(0);
  umask(mask);
  if (fchmod(file, 0666 & ~mask) != 0)
    return fail();
  int closed = close(file);
  file = -1;
  if (closed != 0 || rename(temporary.c_str(), path.c_str()) != 0)
    return fail();
  return {};
}

} // namespace fovea
