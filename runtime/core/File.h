// runtime/core/File.h - whole files in, whole files out.
#ifndef FOVEA_RUNTIME_CORE_FILE_H
#define FOVEA_RUNTIME_CORE_FILE_H

#include "runtime/abi/Error.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fovea {

/// The contents of a file. At most `limit` bytes are read; the rest of a longer file is left.
Expected<std::string> readFile(const std::string &path, size_t limit = SIZE_MAX);

/// Writes `path` by a temporary file in the same folder and a rename: readers see the old file or the new one,
/// and a kill in between leaves `path` as it was.
/// What is there and is no file (a device, a pipe) is written into, and stays what it is.
Expected<void> writeFileAtomically(const std::string &path, std::string_view bytes);

} // namespace fovea

#endif // FOVEA_RUNTIME_CORE_FILE_H
