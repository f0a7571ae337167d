// runtime/emulator/machine/AddressSpace.cpp - device memory: allocations, addresses, bounds.
#include "runtime/emulator/machine/AddressSpace.h"
#include <cstdio>
#include <new>
#include <stdexcept>

namespace fovea::emulator {

void poison(void *to, size_t bytes, uint32_t word) {
  auto *p = static_cast<uint8_t *>(to);
  size_t i = 0;
  for (; i + 4 <= bytes; i += 4)
    std::memcpy(p + i, &word, 4);
  for (; i < bytes; ++i)
    p[i] = uint8_t(word >> (8 * (i & 3)));
}

static std::string hex(uint64_t v) {
  char s[24];
  std::snprintf(s, sizeof s, "0x%llx", static_cast<unsigned long long>(v));
  return s;
}

uint64_t AddressSpace::allocate(uint64_t bytes, std::string name, uint64_t align) {
  std::lock_guard<std::mutex> hold(lock);
  if (bytes > (uint64_t(1) << 40))
    throw std::bad_alloc();
  align = align < 512 ? 512 : align;
  Allocation a;
  a.base = (next + align - 1) / align * align;
  a.size = bytes;
  a.owned.reset(new uint8_t[bytes + 16]);
  a.host = a.owned.get();
  poison(a.host, bytes);
  a.name = name.empty() ? "buffer#" + std::to_string(++unnamed) : std::move(name);
  next = a.base + bytes + 65536;
  next = (next + 65535) & ~uint64_t(65535);
  usedBytes += bytes;
  uint64_t base = a.base;
  allocations.emplace(base, std::move(a));
  return base;
}

void AddressSpace::adopt(void *host, uint64_t bytes, std::string name) {
  std::lock_guard<std::mutex> hold(lock);
  Allocation a;
  a.base = reinterpret_cast<uintptr_t>(host);
  a.size = bytes;
  a.host = static_cast<uint8_t *>(host);
  a.name = name.empty() ? "host#" + std::to_string(++unnamed) : std::move(name);
  allocations[a.base] = std::move(a);
}

std::vector<const Allocation *> AddressSpace::all() const {
  std::vector<const Allocation *> v;
  for (auto &entry : allocations)
    v.push_back(&entry.second);
  return v;
}

void AddressSpace::place(uint64_t address, uint64_t bytes, std::string name) {
  std::lock_guard<std::mutex> hold(lock);
  if (bytes > (uint64_t(1) << 40))
    throw std::bad_alloc();
  auto above = allocations.upper_bound(address);
  bool overlaps = address + bytes < address || (address + bytes) & kWindowMask || (above != allocations.end() && address + bytes > above->first);
  if (above != allocations.begin()) {
    const Allocation &below = std::prev(above)->second;
    overlaps |= below.base + std::max<uint64_t>(below.size, 1) > address;
  }
  if (overlaps)
    throw std::invalid_argument("'" + name + "' cannot lie at " + hex(address) + ": other memory is there");
  Allocation a;
  a.base = address;
  a.size = bytes;
  a.owned.reset(new uint8_t[bytes + 16]);
  a.host = a.owned.get();
  poison(a.host, bytes);
  a.name = std::move(name);
  usedBytes += bytes;
  if (address < (uint64_t(1) << 47))
    next = std::max(next, (address + bytes + 65536 + 65535) & ~uint64_t(65535));
  allocations.emplace(address, std::move(a));
}

bool AddressSpace::release(uint64_t address) {
  std::lock_guard<std::mutex> hold(lock);
  auto it = allocations.find(address);
  if (it == allocations.end())
    return false;
  if (it->second.owned)
    usedBytes -= it->second.size;
  allocations.erase(it);
  return true;
}

Allocation *AddressSpace::find(uint64_t address, uint64_t bytes) {
  auto it = allocations.upper_bound(address);
  if (it == allocations.begin())
    return nullptr;
  Allocation &a = std::prev(it)->second;
  uint64_t offset = address - a.base;
  return offset <= a.size && bytes <= a.size - offset ? &a : nullptr;
}

std::string AddressSpace::describe(uint64_t address) const {
  auto it = allocations.upper_bound(address);
  std::string s = hex(address);
  if (it != allocations.begin()) {
    const Allocation &a = std::prev(it)->second;
    if (address - a.base < a.size)
      return s + " (" + a.name + " + " + std::to_string(address - a.base) + ")";
    if (address - a.base - a.size < (1u << 20))
      return s + " (" + std::to_string(address - a.base - a.size) + " bytes beyond the end of " + a.name + ", " +
             std::to_string(a.size) + " bytes)";
  }
  if (it != allocations.end() && it->first - address < (1u << 20))
    return s + " (" + std::to_string(it->first - address) + " bytes before " + it->second.name + ")";
  return s + " (in no buffer)";
}

uint8_t *AddressSpace::at(uint64_t address, uint64_t bytes, const char *what) {
  Allocation *a = find(address, bytes);
  if (!a)
    throw Fault(std::string("out of bounds: ") + what + " of " + std::to_string(bytes) + " bytes of global memory at " +
                describe(address));
  return a->host + (address - a->base);
}

void AddressSpace::read(uint64_t address, void *to, size_t bytes) { std::memcpy(to, at(address, bytes, "read"), bytes); }

void AddressSpace::write(uint64_t address, const void *from, size_t bytes) {
  std::memcpy(at(address, bytes, "write"), from, bytes);
}

void AddressSpace::modify(uint64_t address, size_t bytes, const std::function<void(void *)> &change) {
  uint8_t *p = at(address, bytes, "atomic");
  std::lock_guard<std::mutex> hold(modifyLock);
  change(p);
}

} // namespace fovea::emulator
