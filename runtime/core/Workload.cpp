// runtime/core/Workload.cpp - shapes from the manifest, random bytes for what the kernels read.
#include "runtime/core/Workload.h"
#include "runtime/core/TileList.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>

namespace fovea {

Expected<Lengths> parseLengths(const std::string &text) {
  Lengths lengths;
  constexpr int64_t most = int64_t(1) << 31;
  const char *at = text.c_str();
  auto number = [&](int64_t &value) {
    char *end = nullptr;
    value = *at >= '0' && *at <= '9' ? std::strtoll(at, &end, 10) : -1;
    at = end ? end : at;
    return end != nullptr;
  };
  bool good = number(lengths.shortest);
  if (good && *at == ':') {
    ++at;
    good = number(lengths.longest) && !*at && lengths.shortest <= lengths.longest && lengths.longest <= most;
  } else if (good) {
    int64_t length = lengths.shortest, count = 1;
    lengths.longest = length;
    while (good) {
      count = 1;
      good = *at != 'x' || (++at, number(count));
      if (!good || length > most || count < 1 || count > most - int64_t(lengths.listed.size())) {
        good = false;
        break;
      }
      lengths.listed.insert(lengths.listed.end(), size_t(count), length);
      lengths.shortest = std::min(lengths.shortest, length), lengths.longest = std::max(lengths.longest, length);
      if (!*at)
        break;
      good = *at == ',' && (++at, number(length));
    }
  }
  if (!good)
    return Error{"expected lengths A:B with A <= B, or a list such as 140x500,65536 (500 of 140 rows, one of 65536), found '" + text + "'"};
  return lengths;
}

std::vector<int64_t> drawLengths(const WorkloadSize &size) {
  if (!size.listed.empty())
    return size.listed;
  std::mt19937_64 engine(size.seed);
  std::vector<int64_t> lengths;
  uint64_t span = uint64_t(size.longest - size.shortest + 1);
  for (int64_t b = 0; b < size.batch; ++b)
    lengths.push_back(size.shortest + int64_t(engine() % span));
  return lengths;
}

namespace {

/// 64 KiB of numbers between 2^-2 and 2^1 with either sign; no NaN in any of the formats.
Expected<std::string> randomElements(const TensorSpec &tensor, DType dtype, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::string bytes(65536, '\0');
  auto fill = [&](auto element) {
    for (size_t at = 0; at < bytes.size(); at += sizeof element) {
      element = decltype(element)(engine());
      if constexpr (sizeof element == 1)
        element = (element & 0x9f) | 0x28;
      else if (dtype == DType::F16)
        element = (element & 0x87ff) | (13 << 10) | ((element & 1) << 11);
      else if (dtype == DType::BF16)
        element = (element & 0x80ff) | 0x3e80;
      std::memcpy(&bytes[at], &element, sizeof element);
    }
  };
  switch (dtype) {
  case DType::BF16:
  case DType::F16:
    fill(uint16_t());
    break;
  case DType::E4M3:
  case DType::E5M2:
    fill(uint8_t());
    break;
  case DType::F32:
    for (size_t at = 0; at < bytes.size(); at += 4) {
      float value = float(int64_t(engine() >> 40) - (1 << 23)) * 0x1p-22f;
      std::memcpy(&bytes[at], &value, 4);
    }
    break;
  default:
    return Error{"input '" + tensor.name + "' is of type " + std::string(dtypeName(dtype)) +
                 ", for which no random values are known here; use `fovea check` or `fovea run`"};
  }
  return bytes;
}

Expected<void> uploadRepeated(Buffer &buffer, const std::string &pattern) {
  std::string chunk;
  while (chunk.size() < std::min<size_t>(buffer.size(), size_t(64) << 20))
    chunk += pattern;
  for (size_t at = 0; at < buffer.size(); at += chunk.size())
    if (auto ok = buffer.upload(chunk.data(), std::min(chunk.size(), buffer.size() - at), at); !ok)
      return ok;
  return {};
}

std::string encodeOffsets(const std::vector<int64_t> &offsets, bool wide) {
  std::string bytes;
  auto put = [&](auto value) { bytes.append(reinterpret_cast<const char *>(&value), sizeof value); };
  for (int64_t offset : offsets)
    wide ? put(offset) : put(int32_t(offset));
  return bytes;
}

/// The rows of a tile when `tensor` is such a list, else 0.
int64_t tileRowsOf(const TensorSpec &tensor) {
  const std::string prefix = "tiles_";
  if (tensor.role != TensorSpec::Role::Input || !tensor.optional || tensor.name.compare(0, prefix.size(), prefix) != 0)
    return 0;
  return std::strtoll(tensor.name.c_str() + prefix.size(), nullptr, 10);
}

} // namespace

Expected<Workload> Workload::create(const Module &module, const std::string &operation, const WorkloadSize &size) {
  if (size.batch < 0 || size.shortest < 0 || size.shortest > size.longest)
    return Error{"a batch needs a size of at least 0 and lengths A:B with 0 <= A <= B, found batch " +
                 std::to_string(size.batch) + " and lengths " + std::to_string(size.shortest) + ":" +
                 std::to_string(size.longest)};
  const Manifest &manifest = module.manifest();
  std::set<std::string> used;
  for (const KernelSpec &kernel : manifest.kernels)
    if (kernel.name == operation)
      for (const ParamSpec &param : kernel.params)
        if (!param.tensor.empty())
          used.insert(param.tensor);
  if (used.empty())
    return Error{"'" + manifest.spec + "' has no operation '" + operation + "'; it has " + operationNames(manifest)};

  std::vector<int64_t> offsets = {0};
  for (int64_t length : drawLengths(size))
    offsets.push_back(offsets.back() + length);
  Workload result;
  result.rows = offsets.back();
  if (!size.wideOffsets && result.rows > INT32_MAX)
    return Error{"the batch has " + std::to_string(result.rows) + " rows, more than i32 offsets can count"};
  std::map<std::string, int64_t> symbols = {{"batch", size.batch}, {"seq", size.longest}, {"heads", 4}};
  for (const TensorSpec &tensor : manifest.tensors)
    if (!tensor.jagged.empty() && !tensor.shape.empty() && tensor.shape[0].getKind() == Expr::Kind::Name)
      symbols[tensor.shape[0].getName()] = result.rows;
    else if (!tensor.positions.empty() && !tensor.shape.empty() && tensor.shape[0].getKind() == Expr::Kind::Name)
      symbols[tensor.shape[0].getName()] = size.longest;
    else if (tensor.shape.size() == 4 && tensor.shape[1].getKind() == Expr::Kind::Name) // dense rows by a name of their own
      symbols.emplace(tensor.shape[1].getName(), size.longest);

  for (const TensorSpec &tensor : manifest.tensors) {
    bool isOffsets = tensor.role == TensorSpec::Role::Offsets;
    int64_t tileRows = size.tileList ? tileRowsOf(tensor) : 0;
    bool leftOut = tensor.optional && tensor.role == TensorSpec::Role::Input && tileRows == 0;
    if (!isOffsets && (leftOut || !used.count(tensor.name)))
      continue;
    std::vector<int64_t> shape, tiles;
    if (tileRows > 0) {
      tiles = tileList(offsets.data(), size.batch, tileRows);
      shape = {int64_t(tiles.size())};
    }
    for (const Expr &extent : tileRows > 0 ? std::vector<Expr>() : tensor.shape) {
      Expected<int64_t> value = extent.evaluate([&](const std::string &name) -> std::optional<int64_t> {
        auto found = symbols.find(name);
        return found == symbols.end() ? std::nullopt : std::optional<int64_t>(found->second);
      });
      if (!value)
        return Error{"tensor '" + tensor.name + "': " + value.message()};
      shape.push_back(*value);
    }
    DType dtype = isOffsets ? (size.wideOffsets ? DType::I64 : DType::I32) : tensor.dtypes.front();
    size_t bytes = dtypeBytes(dtype);
    for (int64_t extent : shape)
      bytes *= size_t(extent);
    Expected<Buffer> buffer = Buffer::allocate(module.device(), bytes);
    if (!buffer)
      return buffer.error();
    Expected<void> filled;
    if (isOffsets) {
      std::string values = encodeOffsets(offsets, size.wideOffsets);
      filled = buffer->upload(values.data(), std::min(values.size(), bytes));
    } else if (tileRows > 0) {
      filled = buffer->upload(tiles.data(), bytes);
    } else if (tensor.role == TensorSpec::Role::Input) {
      Expected<std::string> pattern = randomElements(tensor, dtype, size.seed + 1 + result.buffers.size());
      if (!pattern)
        return pattern.error();
      filled = uploadRepeated(*buffer, *pattern);
    }
    if (!filled)
      return filled.error();
    result.bytes += int64_t(bytes);
    result.tensors.push_back(buffer->view(tensor.name, dtype, shape));
    result.buffers.push_back(std::move(*buffer));
  }
  return result;
}

} // namespace fovea
