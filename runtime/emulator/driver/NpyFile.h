// runtime/emulator/driver/NpyFile.h - .npy files as bytes: any element type goes through untouched.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace fovea::emulator {

/// The data of a C-order .npy file (version 1 to 3). Throws std::runtime_error that names the file.
std::vector<uint8_t> readNpyBytes(const std::string &path);
/// `dtype` as NumPy names it ("float32", "uint16"). Throws for an unknown one, or when shape and bytes disagree.
void writeNpyBytes(const std::string &path, const std::string &dtype, const std::vector<uint64_t> &shape, const std::vector<uint8_t> &bytes);
/// Bytes of one element, 0 for an unknown type.
size_t npyElementBytes(const std::string &dtype);

} // namespace fovea::emulator
