// runtime/abi/Sha256.h - SHA-256 (FIPS 180-4), so that a damaged PTX file is recognised.
#ifndef FOVEA_RUNTIME_ABI_SHA256_H
#define FOVEA_RUNTIME_ABI_SHA256_H

#include <string>
#include <string_view>

namespace fovea {

/// 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

} // namespace fovea

#endif // FOVEA_RUNTIME_ABI_SHA256_H
