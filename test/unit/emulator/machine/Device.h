// test/unit/emulator/machine/Device.h - a small device for tests: buffers, tensor maps, parameters, launches.
#pragma once
#include "runtime/emulator/machine/Program.h"
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include "runtime/emulator/machine/tensor/TensorMap.h"
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <vector>

namespace fovea::emulator::test {

inline std::string readFile(const std::string &path) {
  std::ifstream in(path);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

/// Kernel parameters, laid out as the entry's .param list asks: each value at its natural alignment.
struct Params {
  std::vector<uint8_t> bytes;
  void add(const void *p, size_t n, size_t align) {
    bytes.resize((bytes.size() + align - 1) / align * align);
    bytes.insert(bytes.end(), static_cast<const uint8_t *>(p), static_cast<const uint8_t *>(p) + n);
  }
  template <class T> Params &operator<<(const T &v) {
    add(&v, sizeof v, sizeof v);
    return *this;
  }
};
struct Map128 { alignas(64) uint8_t bytes[128]; };
inline Params &operator<<(Params &p, const Map128 &m) {
  p.add(m.bytes, 128, 64);
  return p;
}

inline Map128 makeMap(MapType type, uint64_t address, std::vector<uint64_t> dims, std::vector<uint64_t> strides, std::vector<uint32_t> box, int swizzle) {
  std::vector<uint32_t> es(dims.size(), 1);
  TensorMapArguments a;
  a.type = int(type);
  a.rank = uint32_t(dims.size());
  a.address = address;
  a.dims = dims.data();
  a.strides = strides.data();
  a.box = box.data();
  a.elementStrides = es.data();
  a.swizzle = swizzle;
  TensorMap map;
  std::string bad = validateTensorMap(a, map);
  if (!bad.empty())
    throw std::runtime_error(bad);
  Map128 m;
  encodeTensorMap(map, m.bytes);
  return m;
}

/// bf16 numbers in [-1, 1).
inline std::vector<uint16_t> randomBf16(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<uint16_t> v(n);
  for (uint16_t &x : v)
    x = floatToBf16(float(int(rng() % 2001) - 1000) / 1000.0f);
  return v;
}

template <class T> uint64_t upload(AddressSpace &m, const std::vector<T> &v, const char *name) {
  uint64_t a = m.allocate(v.size() * sizeof(T), name);
  m.write(a, v.data(), v.size() * sizeof(T));
  return a;
}
template <class T> std::vector<T> download(AddressSpace &m, uint64_t a, size_t n) {
  std::vector<T> v(n);
  m.read(a, v.data(), n * sizeof(T));
  return v;
}

inline LaunchConfig launch(uint32_t grid, uint32_t block, uint32_t smem, const Params &p, AsyncPolicy policy, uint64_t seed = 0) {
  LaunchConfig c;
  c.grid[0] = grid;
  c.block[0] = block;
  c.dynamicShared = smem;
  c.params = p.bytes;
  c.policy = policy;
  c.seed = seed;
  return c;
}

} // namespace fovea::emulator::test
