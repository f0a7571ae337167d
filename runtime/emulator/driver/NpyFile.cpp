// runtime/emulator/driver/NpyFile.cpp - .npy files as bytes.
#include "runtime/emulator/driver/NpyFile.h"
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace fovea::emulator {

static const std::map<std::string, std::string> &types() {
  static const std::map<std::string, std::string> t = {
      {"float16", "<f2"}, {"float32", "<f4"}, {"float64", "<f8"}, {"int8", "|i1"}, {"int16", "<i2"}, {"int32", "<i4"}, {"int64", "<i8"},
      {"uint8", "|u1"}, {"uint16", "<u2"}, {"uint32", "<u4"}, {"uint64", "<u8"}, {"bool", "|b1"}};
  return t;
}

size_t npyElementBytes(const std::string &dtype) {
  auto it = types().find(dtype);
  return it == types().end() ? 0 : size_t(it->second[2] - '0');
}

std::vector<uint8_t> readNpyBytes(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw std::runtime_error(path + ": cannot be opened");
  std::stringstream s;
  s << in.rdbuf();
  std::string data = s.str();
  if (data.size() < 10 || data.compare(0, 6, "\x93NUMPY") != 0)
    throw std::runtime_error(path + ": is no .npy file");
  int version = data[6];
  size_t begin = version == 1 ? 10 : 12, length = uint8_t(data[8]) | size_t(uint8_t(data[9])) << 8;
  if (version > 1 && data.size() >= 12)
    length |= size_t(uint8_t(data[10])) << 16 | size_t(uint8_t(data[11])) << 24;
  if (data.size() < begin + length)
    throw std::runtime_error(path + ": ends inside its header");
  std::string header = data.substr(begin, length);
  if (header.find("'fortran_order': True") != std::string::npos)
    throw std::runtime_error(path + ": is in Fortran order; expected C order");
  return std::vector<uint8_t>(data.begin() + long(begin + length), data.end());
}

void writeNpyBytes(const std::string &path, const std::string &dtype, const std::vector<uint64_t> &shape, const std::vector<uint8_t> &bytes) {
  auto it = types().find(dtype);
  if (it == types().end())
    throw std::runtime_error("unknown dtype '" + dtype + "'; expected a NumPy name such as float32 or uint16");
  uint64_t count = 1;
  std::string tuple = "(";
  for (uint64_t d : shape) {
    count *= d;
    tuple += std::to_string(d) + ", ";
  }
  if (count * npyElementBytes(dtype) != bytes.size())
    throw std::runtime_error(path + ": shape and dtype give " + std::to_string(count * npyElementBytes(dtype)) + " bytes, the buffer has " + std::to_string(bytes.size()));
  tuple += ")";
  std::string header = "{'descr': '" + it->second + "', 'fortran_order': False, 'shape': " + tuple + ", }";
  while ((10 + header.size() + 1) % 64)
    header += ' ';
  header += '\n';
  std::ofstream out(path, std::ios::binary);
  out.write("\x93NUMPY\x01\x00", 8);
  char size[2] = {char(header.size() & 255), char(header.size() >> 8)};
  out.write(size, 2);
  out << header;
  out.write(reinterpret_cast<const char *>(bytes.data()), long(bytes.size()));
  if (!out)
    throw std::runtime_error(path + ": cannot be written");
}

} // namespace fovea::emulator
