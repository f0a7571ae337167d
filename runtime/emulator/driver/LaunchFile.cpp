// runtime/emulator/driver/LaunchFile.cpp - reads and runs launch.json.
#include "runtime/emulator/driver/LaunchFile.h"
#include "runtime/abi/Json.h"
#include "runtime/emulator/driver/NpyFile.h"
#include "runtime/emulator/driver/Policy.h"
#include "runtime/emulator/machine/Timeline.h"
#include "runtime/emulator/machine/tensor/TensorMap.h"
#include <cstring>
#include <fstream>
#include <limits>
#include <new>
#include <set>
#include <sstream>
#include <stdexcept>

namespace fovea::emulator {
namespace {

using Json = nlohmann::json;

[[noreturn]] void fail(const std::string &message) { throw std::runtime_error("launch file: " + message); }

void keys(const Json &j, const std::string &where, std::initializer_list<const char *> known) {
  if (!j.is_object())
    fail(where + ": expected an object");
  for (auto &item : j.items()) {
    bool ok = false;
    std::string list;
    for (const char *k : known) {
      ok |= item.key() == k;
      list += std::string(list.empty() ? "" : ", ") + k;
    }
    if (!ok)
      fail(where + ": unknown key '" + item.key() + "'; known are " + list);
  }
}
/// An integer that T cannot hold is refused.
template <class T> T number(const Json &j, const std::string &where) {
  constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  if (!j.is_number_integer())
    fail(where + ": expected an integer, found " + j.dump());
  const bool fits = j.is_number_unsigned() ? j.get<uint64_t>() <= uint64_t(most) : j.get<int64_t>() >= int64_t(least);
  if (!fits)
    fail(where + ": expected an integer from " + std::to_string(least) + " to " + std::to_string(most) + ", found " + j.dump());
  return j.get<T>();
}
double real(const Json &j, const std::string &where) {
  if (j.is_string()) {  // JSON has no infinities
    std::string s = j.get<std::string>();
    if (s == "inf" || s == "-inf" || s == "nan")
      return std::stod(s);
  }
  if (!j.is_number())
    fail(where + ": expected a number");
  return j.get<double>();
}
template <class T> std::vector<T> numbers(const Json &j, const std::string &where) {
  if (!j.is_array())
    fail(where + ": expected a list of integers");
  std::vector<T> v;
  for (const Json &e : j)
    v.push_back(number<T>(e, where));
  return v;
}
void triple(const Json &spec, const char *key, uint32_t out[3]) {
  if (!spec.contains(key))
    return;
  auto v = numbers<uint32_t>(spec[key], key);
  if (v.empty() || v.size() > 3)
    fail(std::string(key) + ": expected one to three integers");
  for (size_t k = 0; k < v.size(); ++k)
    out[k] = v[k];
}
std::vector<uint8_t> hexBytes(const std::string &s, const std::string &where) {
  std::vector<uint8_t> v;
  auto digit = [&](char c) -> int {
    const char *at = std::strchr("0123456789abcdef", std::tolower(c));
    if (!c || !at)
      fail(where + ": '" + std::string(1, c) + "' is no hexadecimal digit");
    return int(at - "0123456789abcdef");
  };
  if (s.size() % 2)
    fail(where + ": an odd number of hexadecimal digits");
  for (size_t k = 0; k < s.size(); k += 2)
    v.push_back(uint8_t(digit(s[k]) << 4 | digit(s[k + 1])));
  return v;
}
template <class T> int named(const Json &j, const char *key, const std::map<std::string, T> &table, int otherwise) {
  if (!j.contains(key))
    return otherwise;
  auto it = j[key].is_string() ? table.find(j[key].get<std::string>()) : table.end();
  if (it != table.end())
    return int(it->second);
  std::string list;
  for (auto &e : table)
    list += (list.empty() ? "" : ", ") + e.first;
  fail("tensor_map: " + std::string(key) + " is " + j[key].dump() + "; expected one of " + list);
}

struct Runner {
  std::string folder;
  const Chip *chip = nullptr;
  AddressSpace memory;
  std::map<std::string, std::pair<uint64_t, uint64_t>> buffers;  ///< address, bytes

  uint64_t address(const Json &p, const std::string &where) {
    std::string name = p.at("buffer").get<std::string>();
    auto it = buffers.find(name);
    if (it == buffers.end())
      fail(where + ": there is no buffer '" + name + "'");
    return it->second.first + (p.contains("offset") ? uint64_t(number<int64_t>(p["offset"], where + ".offset")) : 0);
  }

  std::vector<uint8_t> tensorMap(const Json &m) {
    keys(m, "tensor_map", {"buffer", "offset", "dtype", "dims", "strides", "box", "im2col", "element_strides", "interleave", "swizzle", "l2_promotion", "oob_fill"});
    static const std::map<std::string, int> types = {
        {"u8", 0}, {"u16", 1}, {"u32", 2}, {"i32", 3}, {"s32", 3}, {"u64", 4}, {"i64", 5}, {"s64", 5}, {"f16", 6}, {"f32", 7}, {"f64", 8}, {"bf16", 9},
        {"f32_ftz", 10}, {"tf32", 11}, {"tf32_ftz", 12}, {"b4x16", 13}, {"b4x16_p64", 14}, {"b6x16_p32", 15}};
    static const std::map<std::string, int> swizzles = {{"none", 0}, {"32B", 1}, {"64B", 2}, {"128B", 3}, {"128B_atom32B", 4}, {"128B_atom32B_flip8B", 5}, {"128B_atom64B", 6}};
    static const std::map<std::string, int> promotions = {{"none", 0}, {"64B", 1}, {"128B", 2}, {"256B", 3}};
    static const std::map<std::string, int> interleaves = {{"none", 0}, {"16B", 1}, {"32B", 2}};
    static const std::map<std::string, int> fills = {{"zero", 0}, {"nan", 1}};
    for (const char *k : {"buffer", "dtype", "dims"})
      if (!m.contains(k))
        fail(std::string("tensor_map: '") + k + "' is missing");
    if (m.contains("box") == m.contains("im2col"))
      fail(std::string("tensor_map: expected either 'box' or 'im2col', found ") + (m.contains("box") ? "both" : "neither"));
    auto dims = numbers<uint64_t>(m["dims"], "dims");
    std::vector<uint64_t> strides = m.contains("strides") ? numbers<uint64_t>(m["strides"], "strides") : std::vector<uint64_t>();
    auto box = m.contains("box") ? numbers<uint32_t>(m["box"], "box") : std::vector<uint32_t>(dims.size(), 1);
    std::vector<uint32_t> es = m.contains("element_strides") ? numbers<uint32_t>(m["element_strides"], "element_strides") : std::vector<uint32_t>(dims.size(), 1);
    if (dims.empty() || dims.size() > 5 || box.size() != dims.size() || es.size() != dims.size() || strides.size() + 1 != dims.size())
      fail("tensor_map: dims, box and element_strides have one entry a dimension (1 to 5), strides one less");
    TensorMapArguments a;
    a.type = named(m, "dtype", types, 0);
    a.rank = uint32_t(dims.size());
    a.address = address(m, "tensor_map");
    a.dims = dims.data();
    a.strides = strides.data();
    a.box = box.data();
    a.elementStrides = es.data();
    a.interleave = named(m, "interleave", interleaves, 0);
    a.swizzle = named(m, "swizzle", swizzles, 0);
    a.l2Promotion = named(m, "l2_promotion", promotions, 0);
    a.oobFill = named(m, "oob_fill", fills, 0);
    a.hasSubByteAndAtoms = chip->major >= 10;
    std::vector<int32_t> lower, upper;
    if (m.contains("im2col")) {
      const Json &j = m["im2col"];
      keys(j, "tensor_map.im2col", {"lower", "upper", "channels", "pixels"});
      for (const char *k : {"lower", "upper", "channels", "pixels"})
        if (!j.contains(k))
          fail(std::string("tensor_map.im2col: '") + k + "' is missing");
      lower = numbers<int32_t>(j["lower"], "lower"), upper = numbers<int32_t>(j["upper"], "upper");
      if (dims.size() < 3 || lower.size() + 2 != dims.size() || upper.size() != lower.size())
        fail("tensor_map.im2col: of 3 to 5 dimensions, lower and upper have one entry for each between the first and the last");
      a.im2col = true, a.lowerCorner = lower.data(), a.upperCorner = upper.data();
      a.channelsPerPixel = number<uint32_t>(j["channels"], "channels"), a.pixelsPerColumn = number<uint32_t>(j["pixels"], "pixels");
    }
    TensorMap map;
    std::string bad = validateTensorMap(a, map);
    if (!bad.empty())
      fail("tensor_map: " + bad);
    std::vector<uint8_t> bytes(128);
    encodeTensorMap(map, bytes.data());
    return bytes;
  }

  /// Bytes of one parameter or struct field.
  std::vector<uint8_t> value(const Json &p, bool field) {
    auto scalar = [](auto v) {
      std::vector<uint8_t> b(sizeof v);
      std::memcpy(b.data(), &v, sizeof v);
      return b;
    };
    for (auto &item : p.items()) {
      const std::string &k = item.key();
      if (k == "at" && field)
        continue;
      const Json &v = item.value();
      if (k == "buffer") {
        if (field)
          keys(p, "field", {"at", "buffer", "offset"});
        else
          keys(p, "params", {"buffer", "offset"});
        return scalar(address(p, "params"));
      }
      if (k == "offset")
        continue;
      if (p.size() != (field ? 2u : 1u))
        fail("params: " + p.dump() + " has more than one value");
      if (k == "tensor_map") return tensorMap(v);
      if (k == "u8") return scalar(number<uint8_t>(v, k));
      if (k == "u16") return scalar(number<uint16_t>(v, k));
      if (k == "u32") return scalar(number<uint32_t>(v, k));
      if (k == "u64") return scalar(number<uint64_t>(v, k));
      if (k == "i8") return scalar(number<int8_t>(v, k));
      if (k == "i16") return scalar(number<int16_t>(v, k));
      if (k == "i32") return scalar(number<int32_t>(v, k));
      if (k == "i64") return scalar(number<int64_t>(v, k));
      if (k == "f32") return scalar(float(real(v, k)));
      if (k == "f64") return scalar(real(v, k));
      if (k == "hex") return hexBytes(v.get<std::string>(), k);
      if (k == "struct" && !field) return structure(v);
      fail("params: unknown kind '" + k + "'; known are buffer, tensor_map, u8 to u64, i8 to i64, f32, f64, hex, struct");
    }
    fail("params: an empty entry");
  }
  std::vector<uint8_t> structure(const Json &s) {
    keys(s, "struct", {"bytes", "hex", "fields"});
    std::vector<uint8_t> b(number<uint16_t>(s.at("bytes"), "struct.bytes"), 0);  // all parameters of a kernel: 32764 at most
    if (s.contains("hex")) {
      auto h = hexBytes(s["hex"].get<std::string>(), "struct.hex");
      if (h.size() > b.size())
        fail("struct: hex is longer than the struct");
      std::copy(h.begin(), h.end(), b.begin());
    }
    if (s.contains("fields"))
      for (const Json &f : s["fields"]) {
        auto v = value(f, true);
        uint64_t at = number<uint64_t>(f.at("at"), "struct.at");
        if (at > b.size() || v.size() > b.size() - at)
          fail("struct: a field at " + std::to_string(at) + " reaches beyond its " + std::to_string(b.size()) + " bytes");
        std::copy(v.begin(), v.end(), b.begin() + long(at));
      }
    return b;
  }

  static std::string noMemory(const std::string &name, const Json &b) {
    return "buffers." + name + ": this machine has no memory for its " + (b.contains("bytes") ? b["bytes"].dump() + " bytes" : b["npy"].dump());
  }

  void makeBuffers(const Json &all) {
    for (auto &item : all.items())
      try {
        makeBuffer(item.key(), item.value());
      } catch (const std::bad_alloc &) {
        fail(noMemory(item.key(), item.value()));
      } catch (const std::length_error &) {
        fail(noMemory(item.key(), item.value()));
      }
  }

  void makeBuffer(const std::string &name, const Json &b) {
    keys(b, "buffers." + name, {"npy", "bytes", "fill", "save", "dtype", "shape", "align", "address"});
    uint64_t align = b.contains("align") ? number<uint64_t>(b["align"], "align") : 256;
    if (!align || align & (align - 1) || align > (1u << 30))
      fail("buffers." + name + ": align must be a power of two");
    std::vector<uint8_t> data;
    uint64_t bytes;
    if (b.contains("npy")) {
      data = readNpyBytes(folder + b["npy"].get<std::string>());
      bytes = data.size();
    } else {
      if (!b.contains("bytes"))
        fail("buffers." + name + ": needs npy or bytes");
      bytes = number<uint64_t>(b["bytes"], "buffers." + name + ".bytes");
      std::string fill = b.contains("fill") ? b["fill"].get<std::string>() : "poison";
      if (fill == "zero")
        data.assign(size_t(bytes), 0);
      else if (fill != "poison")
        fail("buffers." + name + ": fill is poison or zero, found '" + fill + "'");
    }
    uint64_t a;
    if (b.contains("address")) {
      a = number<uint64_t>(b["address"], "address");
      try {
        memory.place(a, bytes, name);
      } catch (const std::invalid_argument &e) {
        fail("buffers." + name + ": " + e.what());
      }
    } else {
      a = memory.allocate(bytes, name, align);
    }
    if (!data.empty())
      memory.write(a, data.data(), data.size());
    buffers[name] = {a, bytes};
  }
};

} // namespace

std::string readText(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw std::runtime_error(path + ": cannot be opened");
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

Report runLaunchFile(const std::string &path, const LaunchOptions &options) {
  Json spec;
  try {
    std::optional<std::string> repeated;
    spec = parseJson(readText(path), repeated, /*exceptions=*/true);
    if (repeated)
      fail(path + ": the key '" + *repeated + "' stands twice in one object");
  } catch (const Json::exception &e) {
    fail(path + ": " + e.what());
  }
  try {
    bool several = spec.is_object() && spec.contains("launches");
    if (several)
      keys(spec, "launch file", {"launches", "buffers", "chip", "async", "seed"});
    else
      keys(spec, "launch file", {"kernel", "chip", "grid", "block", "cluster", "dynamic_smem", "buffers", "params", "async", "seed"});
    Runner run;
    size_t slash = path.rfind('/');
    run.folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    std::string chipName = spec.contains("chip") ? spec["chip"].get<std::string>() : "sm_100a";
    const Chip *chip = findChip(chipName);
    if (!chip)
      fail("chip '" + chipName + "' is not emulated; sm_100a and sm_90a are");
    run.chip = chip;
    if (spec.contains("buffers"))
      run.makeBuffers(spec["buffers"]);
    Json launches = several ? spec["launches"] : Json::array({spec});
    Report report;
    std::unique_ptr<Timeline> timeline = options.trace.empty() ? nullptr : makeTimeline();
    for (const Json &l : launches) {
      if (several)
        keys(l, "launches", {"ptx", "kernel", "grid", "block", "cluster", "dynamic_smem", "params"});
      std::string ptx = several && l.contains("ptx") ? run.folder + l["ptx"].get<std::string>() : options.ptx;
      if (ptx.empty() && !options.text)
        fail("no PTX file is named");
      Program program(options.text ? *options.text : readText(ptx), *chip, run.memory);
      LaunchConfig c;
      triple(l, "grid", c.grid);
      triple(l, "block", c.block);
      triple(l, "cluster", c.cluster);
      if (l.contains("dynamic_smem"))
        c.dynamicShared = number<uint32_t>(l["dynamic_smem"], "dynamic_smem");
      if (!cu::applyPolicy(c))
        throw std::runtime_error("the environment sets what no launch can have");
      std::string policy = !options.policy.empty() ? options.policy : spec.contains("async") ? spec["async"].get<std::string>() : "";
      if (policy == "lazy" || policy == "eager" || policy == "random")
        c.policy = policy == "lazy" ? AsyncPolicy::Lazy : policy == "eager" ? AsyncPolicy::Eager : AsyncPolicy::Random;
      else if (!policy.empty())
        fail("async is lazy, eager or random, found '" + policy + "'");
      if (options.hasSeed || spec.contains("seed"))
        c.seed = options.hasSeed ? options.seed : number<uint64_t>(spec["seed"], "seed");
      if (options.limit)
        c.limit = options.limit;
      if (options.threads)
        c.threads = options.threads;
      c.smArch = chip->major * 10;
      c.smCount = chip->smCount;
      std::string name = l.contains("kernel") ? l["kernel"].get<std::string>() : "";
      const Code *code = program.kernel(name);
      if (!code) {
        std::string list;
        for (const std::string &k : program.kernels())
          list += (list.empty() ? "" : ", ") + k;
        fail("there is no kernel '" + name + "' in " + ptx + "; it has " + list);
      }
      const Json params = l.contains("params") ? l["params"] : Json::array();
      if (params.size() != code->params.size())
        fail("kernel '" + name + "' takes " + std::to_string(code->params.size()) + " parameters, the file gives " + std::to_string(params.size()));
      c.params.assign(code->paramBytes, 0);
      for (size_t k = 0; k < params.size(); ++k) {
        auto v = run.value(params[k], false);
        if (v.size() != code->params[k].bytes)
          fail("parameter " + std::to_string(k) + " has " + std::to_string(code->params[k].bytes) + " bytes, the file gives " + std::to_string(v.size()));
        std::copy(v.begin(), v.end(), c.params.begin() + code->params[k].offset);
      }
      if (timeline) {
        timeline->beginKernel(code->name);
        c.observer = timeline.get();
      }
      if (options.observer)
        c.observer = options.observer;
      Report r = c.observer ? program.run(*code, c) : cu::runWithDetectors(program, *code, c, options.detect);
      report.findings.insert(report.findings.end(), r.findings.begin(), r.findings.end());
      report.warpInstructions += r.warpInstructions;
      report.impliedWaits.insert(report.impliedWaits.end(), r.impliedWaits.begin(), r.impliedWaits.end());
      if (r.failed())
        break;
    }
    if (timeline) {
      std::ofstream out(options.trace, std::ios::binary);
      if (!(out << timeline->json()) || !out.flush())
        throw std::runtime_error(options.trace + ": the trace cannot be written");
    }
    if (spec.contains("buffers"))
      for (auto &item : spec["buffers"].items()) {
        const Json &b = item.value();
        if (!b.contains("save"))
          continue;
        auto [at, bytes] = run.buffers[item.key()];
        std::vector<uint8_t> data(bytes);
        run.memory.read(at, data.data(), bytes);
        if (options.results) {
          (*options.results)[item.key()] = std::move(data);
          continue;
        }
        std::string dtype = b.contains("dtype") ? b["dtype"].get<std::string>() : "uint8";
        std::vector<uint64_t> shape = b.contains("shape") ? numbers<uint64_t>(b["shape"], "shape") : std::vector<uint64_t>{bytes / std::max<size_t>(1, npyElementBytes(dtype))};
        std::string to = options.outputs.empty() ? run.folder : options.outputs + "/";
        writeNpyBytes(to + b["save"].get<std::string>(), dtype, shape, data);
      }
    return report;
  } catch (const Json::exception &e) {
    fail(e.what());
  }
}

} // namespace fovea::emulator
