// runtime/abi/ManifestRead.cpp - JSON to Manifest; every refusal names the place and the rule.
#include "runtime/abi/Json.h"
#include "runtime/abi/Manifest.h"
#include "runtime/abi/Sha256.h"
#include "runtime/abi/Target.h"

#include <algorithm>

namespace fovea {

namespace {

using Json = nlohmann::json;

/// Reads one JSON document. The first problem is kept; later reads go on with defaults and are discarded.
class Reader {
public:
  explicit Reader(std::string origin) : origin(std::move(origin)) {}

  Expected<Manifest> read(const Json &json);

private:
  std::string origin;
  std::string problem;

  void fail(const std::string &path, const std::string &text) {
    if (problem.empty())
      problem = origin + ": " + (path.empty() ? "" : path + ": ") + text;
  }

  /// The member `key` of `object`, or null with a failure recorded.
  const Json *member(const Json &object, const std::string &path, const char *key, bool required = true) {
    auto it = object.find(key);
    if (it != object.end())
      return &*it;
    if (required)
      fail(path, std::string("the key \"") + key + "\" is missing");
    return nullptr;
  }

  void allowKeys(const Json &object, const std::string &path, std::initializer_list<const char *> allowed) {
    for (auto it = object.begin(); it != object.end(); ++it) {
      bool known = false;
      for (const char *key : allowed)
        known |= it.key() == key;
      if (!known)
        fail(path, "unknown key \"" + it.key() + "\"");
    }
  }

  bool isObject(const Json &json, const std::string &path) {
    if (!json.is_object())
      fail(path, std::string("expected an object, found ") + json.type_name());
    return json.is_object();
  }

  std::string text(const Json &object, const std::string &path, const char *key, bool required = true,
                   std::string fallback = "") {
    const Json *value = member(object, path, key, required);
    if (value && value->is_string())
      return value->get<std::string>();
    if (value)
      fail(path + "." + key, std::string("expected a string, found ") + value->type_name());
    return fallback;
  }

  int64_t integer(const Json &value, const std::string &path, int64_t low, int64_t high) {
    if (!value.is_number_integer()) {
      fail(path, std::string("expected an integer, found ") + value.dump());
      return low;
    }
    bool huge = value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX);
    int64_t number = huge ? 0 : value.get<int64_t>();
    if (huge || number < low || number > high) {
      fail(path, "expected " + std::to_string(low) + " to " + std::to_string(high) + ", found " + value.dump());
      return low;
    }
    return number;
  }

  int64_t integer(const Json &object, const std::string &path, const char *key, int64_t low, int64_t high) {
    const Json *value = member(object, path, key);
    return value ? integer(*value, path + "." + key, low, high) : low;
  }

  bool boolean(const Json &object, const std::string &path, const char *key, bool fallback) {
    const Json *value = member(object, path, key, /*required=*/false);
    if (value && !value->is_boolean())
      fail(path + "." + key, "expected true or false, found " + value->dump());
    return value && value->is_boolean() ? value->get<bool>() : fallback;
  }

  Expr expr(const Json &json, const std::string &path, int depth = 0) {
    if (json.is_number_integer())
      return integer(json, path, INT64_MIN, INT64_MAX);
    if (json.is_string() && !json.get<std::string>().empty())
      return json.get<std::string>();
    if (depth > 32)
      fail(path, "the expression is nested deeper than 32");
    else if (json.is_array() && json.size() == 3 && json[0].is_string()) {
      std::string word = json[0].get<std::string>();
      if (std::optional<Expr::Kind> op = Expr::parseOp(word))
        return {*op, expr(json[1], path, depth + 1), expr(json[2], path, depth + 1)};
      fail(path, "unknown operator \"" + word + "\"; expected add, sub, mul, ceildiv, floordiv, min, max or mod");
    } else
      fail(path, "expected an integer, a name or [operator, a, b], found " + json.dump());
    return 0;
  }

  Expr expr(const Json &object, const std::string &path, const char *key) {
    const Json *value = member(object, path, key);
    return value ? expr(*value, path + "." + key) : Expr(0);
  }

  std::vector<Expr> exprs(const Json &object, const std::string &path, const char *key) {
    std::vector<Expr> result;
    for (const Json &item : array(object, path, key))
      result.push_back(expr(item, path + "." + key + "[" + std::to_string(result.size()) + "]"));
    return result;
  }

  const Json &array(const Json &object, const std::string &path, const char *key) {
    static const Json empty = Json::array();
    const Json *value = member(object, path, key);
    if (value && !value->is_array())
      fail(path + "." + key, std::string("expected an array, found ") + value->type_name());
    return value && value->is_array() ? *value : empty;
  }

  std::array<int, 3> triple(const Json &object, const std::string &path, const char *key, int high) {
    std::array<int, 3> result = {1, 1, 1};
    const Json &items = array(object, path, key);
    if (items.size() != 3)
      fail(path + "." + key, "expected three integers, found " + std::to_string(items.size()));
    for (size_t i = 0; i < 3 && i < items.size(); ++i)
      result[i] = int(integer(items[i], path + "." + key, 1, high));
    return result;
  }

  TensorSpec tensor(const Json &json, const std::string &path);
  ParamSpec param(const Json &json, const std::string &path);
  void tensorMap(const Json &json, const std::string &path, ParamSpec &param);
  KernelSpec kernel(const Json &json, const std::string &path);
  void checkReferences(const Manifest &manifest);
  void checkVariants(const Manifest &manifest);
};

TensorSpec Reader::tensor(const Json &json, const std::string &path) {
  TensorSpec result;
  if (!isObject(json, path))
    return result;
  allowKeys(json, path,
            {"name", "role", "dtype", "shape", "min_alignment", "stride_multiple_bytes", "strided", "optional", "jagged", "positions"});
  result.name = text(json, path, "name");
  std::string role = text(json, path, "role");
  if (role == "output")
    result.role = TensorSpec::Role::Output;
  else if (role == "offsets")
    result.role = TensorSpec::Role::Offsets;
  else if (role != "input")
    fail(path + ".role", "expected input, output or offsets, found \"" + role + "\"");
  std::string dtypes = text(json, path, "dtype");
  for (size_t at = 0; at <= dtypes.size();) {
    size_t end = std::min(dtypes.find('|', at), dtypes.size());
    std::string word = dtypes.substr(at, end - at);
    if (std::optional<DType> type = parseDType(word))
      result.dtypes.push_back(*type);
    else
      fail(path + ".dtype", "unknown element type \"" + word + "\"");
    at = end + 1;
  }
  result.shape = exprs(json, path, "shape");
  if (result.shape.empty() || result.shape.size() > 8)
    fail(path + ".shape", "expected 1 to 8 dimensions, found " + std::to_string(result.shape.size()));
  result.minAlignment = int(integer(json, path, "min_alignment", 1, 4096));
  result.strideMultipleBytes = int(integer(json, path, "stride_multiple_bytes", 1, 4096));
  result.strided = boolean(json, path, "strided", false);
  result.optional = boolean(json, path, "optional", false);
  result.jagged = text(json, path, "jagged", /*required=*/false);
  result.positions = text(json, path, "positions", /*required=*/false);
  return result;
}

void Reader::tensorMap(const Json &json, const std::string &path, ParamSpec &param) {
  allowKeys(json, path, {"kind", "tensor", "dims", "strides", "box", "swizzle", "l2_promotion", "offset"});
  param.dims = exprs(json, path, "dims");
  param.strides = exprs(json, path, "strides");
  for (const Json &item : array(json, path, "box"))
    param.box.push_back(int(integer(item, path + ".box", 1, 256)));
  param.swizzle = text(json, path, "swizzle", /*required=*/false, "none");
  param.l2Promotion = text(json, path, "l2_promotion", /*required=*/false, "none");
  size_t rank = param.dims.size();
  if (rank < 1 || rank > 5)
    fail(path + ".dims", "a tensor map has 1 to 5 dimensions, found " + std::to_string(rank));
  else if (param.strides.size() != rank - 1 || param.box.size() != rank)
    fail(path, "a tensor map of " + std::to_string(rank) + " dimensions needs " + std::to_string(rank - 1) +
                   " strides and " + std::to_string(rank) + " box extents, found " +
                   std::to_string(param.strides.size()) + " and " + std::to_string(param.box.size()));
  static const std::set<std::string> swizzles = {"none", "32B", "64B", "128B", "128B_atom32B", "128B_atom32B_flip8B",
                                                 "128B_atom64B"};
  static const std::set<std::string> promotions = {"none", "64B", "128B", "256B"};
  if (!swizzles.count(param.swizzle))
    fail(path + ".swizzle", "unknown swizzle \"" + param.swizzle + "\"");
  if (!promotions.count(param.l2Promotion))
    fail(path + ".l2_promotion", "expected none, 64B, 128B or 256B, found \"" + param.l2Promotion + "\"");
}

ParamSpec Reader::param(const Json &json, const std::string &path) {
  ParamSpec result;
  if (!isObject(json, path))
    return result;
  std::string kind = text(json, path, "kind");
  if (kind == "tensor_map" || kind == "pointer") {
    result.kind = kind == "pointer" ? ParamSpec::Kind::Pointer : ParamSpec::Kind::TensorMap;
    result.tensor = text(json, path, "tensor");
    if (json.contains("offset"))
      result.offset = expr(json, path, "offset");
    if (kind == "tensor_map")
      tensorMap(json, path, result);
    else
      allowKeys(json, path, {"kind", "tensor", "offset"});
  } else if (kind == "i32" || kind == "i64") {
    result.kind = kind == "i32" ? ParamSpec::Kind::I32 : ParamSpec::Kind::I64;
    allowKeys(json, path, {"kind", "value"});
    result.value = expr(json, path, "value");
  } else if (kind == "f32") {
    result.kind = ParamSpec::Kind::F32;
    allowKeys(json, path, {"kind", "value"});
    const Json *value = member(json, path, "value");
    if (value && !value->is_number())
      fail(path + ".value", std::string("expected a number, found ") + value->type_name());
    result.number = value && value->is_number() ? value->get<double>() : 0;
  } else if (kind == "scratch") {
    result.kind = ParamSpec::Kind::Scratch;
    allowKeys(json, path, {"kind", "name", "bytes", "zero"});
    result.name = text(json, path, "name");
    result.bytes = expr(json, path, "bytes");
    result.zero = boolean(json, path, "zero", false);
  } else
    fail(path + ".kind", "expected tensor_map, pointer, i32, i64, f32 or scratch, found \"" + kind + "\"");
  return result;
}

KernelSpec Reader::kernel(const Json &json, const std::string &path) {
  KernelSpec result;
  if (!isObject(json, path))
    return result;
  allowKeys(json, path,
            {"name", "entry", "variant", "clocks", "block", "cluster", "ctas_per_sm", "dynamic_smem", "tmem_columns", "values", "grid", "params"});
  result.name = text(json, path, "name");
  result.entry = text(json, path, "entry");
  if (json.contains("variant"))
    result.variant = text(json, path, "variant");
  if (json.contains("clocks"))
    result.clocks = expr(json, path, "clocks");
  result.block = triple(json, path, "block", 1024);
  result.cluster = triple(json, path, "cluster", 16);
  result.ctasPerSm = int(integer(json, path, "ctas_per_sm", 1, 64));
  result.dynamicSmem = int(integer(json, path, "dynamic_smem", 0, 1 << 20));
  result.tmemColumns = int(integer(json, path, "tmem_columns", 0, 512));
  if (json.contains("values"))
    for (const Json &item : array(json, path, "values")) {
      const std::string where = path + ".values[" + std::to_string(result.values.size()) + "]";
      if (!item.is_array() || item.size() != 2 || !item[0].is_string() || item[0].get<std::string>().substr(0, 1) != "$")
        fail(where, "expected a name that begins with $ and an expression, found " + item.dump());
      else
        result.values.push_back({item[0].get<std::string>(), expr(item[1], where)});
      for (size_t k = 0; k + 1 < result.values.size(); ++k)
        if (result.values[k].first == result.values.back().first)
          fail(where, "the name \"" + result.values[k].first + "\" is taken by values[" + std::to_string(k) + "]; expected one of its own");
    }
  std::set<std::string> given;
  for (const auto &[name, value] : result.values) {
    value.forEachName([&, &name = name](const std::string &used) {
      if (used[0] == '$' && !given.count(used))
        fail(path + ".values", "\"" + name + "\" uses \"" + used + "\", which no value before it gives");
    });
    given.insert(name);
  }
  std::vector<Expr> grid = exprs(json, path, "grid");
  if (grid.size() != 3)
    fail(path + ".grid", "expected three expressions, found " + std::to_string(grid.size()));
  for (size_t i = 0; i < 3 && i < grid.size(); ++i)
    result.grid[i] = grid[i];
  for (const Json &item : array(json, path, "params"))
    result.params.push_back(param(item, path + ".params[" + std::to_string(result.params.size()) + "]"));
  return result;
}

void Reader::checkReferences(const Manifest &manifest) {
  std::set<std::string> names;
  for (const TensorSpec &tensor : manifest.tensors) {
    if (tensor.name.empty() || tensor.name.find('.') != std::string::npos)
      fail("tensors", "a tensor's name must be non-empty and without '.', found \"" + tensor.name + "\"");
    if (!names.insert(tensor.name).second)
      fail("tensors", "the tensor \"" + tensor.name + "\" is declared twice");
  }
  for (const TensorSpec &tensor : manifest.tensors)
    if (!tensor.jagged.empty() && !names.count(tensor.jagged))
      fail("tensors", "\"" + tensor.name + "\" is jagged by \"" + tensor.jagged + "\", which is not declared");
    else if (!tensor.positions.empty() && !names.count(tensor.positions))
      fail("tensors", "\"" + tensor.name + "\" has the positions of \"" + tensor.positions + "\", which is not declared");
  if (manifest.kernels.empty())
    fail("kernels", "expected at least one kernel");
  for (const KernelSpec &kernel : manifest.kernels)
    for (const ParamSpec &param : kernel.params)
      if (!param.tensor.empty() && !names.count(param.tensor))
        fail("kernel " + kernel.entry, "a parameter names the tensor \"" + param.tensor + "\", which is not declared");
  for (const KernelSpec &kernel : manifest.kernels) {
    if (!kernel.clocks)
      continue;
    std::set<std::string> given;
    for (const auto &[name, value] : kernel.values)
      given.insert(name);
    kernel.clocks->forEachName([&](const std::string &name) {
      const size_t dot = name.find('.');
      if (name[0] == '$' ? !given.count(name) : dot != std::string::npos && !names.count(name.substr(0, dot)))
        fail("kernel " + kernel.entry, "its clocks use \"" + name + "\", which " +
                                           (name[0] == '$' ? "no value of this kernel gives" : "belongs to no tensor that is declared"));
    });
  }
  checkVariants(manifest);
}

void Reader::checkVariants(const Manifest &manifest) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const KernelSpec &kernel : manifest.kernels) {
    const bool several = !variantsOf(manifest, kernel.name).empty();
    const bool first = seen.insert({kernel.name, kernel.variant}).second;
    if (several && kernel.variant.empty())
      fail("kernel " + kernel.entry, "expected a \"variant\", as other kernels of " + kernel.name + " have one");
    else if (several && first && !kernel.clocks)
      fail("kernel " + kernel.entry, "expected \"clocks\", by which a launch chooses, of the first kernel of the variant \"" + kernel.variant + "\"");
    else if (kernel.clocks && !(several && first))
      fail("kernel " + kernel.entry, "expected \"clocks\" only of the first kernel of a variant");
  }
}

Expected<Manifest> Reader::read(const Json &json) {
  if (!json.is_object() || !json.contains("fovea_manifest"))
    return Error{origin + ": not a Fovea manifest: the key \"fovea_manifest\" is missing"};
  const Json &version = json["fovea_manifest"];
  if (!version.is_number_integer() || version != kManifestVersion)
    return Error{origin + ": the manifest has version " + version.dump() + ", but this runtime reads version " +
                 std::to_string(kManifestVersion) + "; recompile the spec with the matching fovea"};
  Manifest manifest;
  allowKeys(json, "", {"fovea_manifest", "spec", "target", "ptx", "ptx_sha256", "tensors", "kernels", "sha256"});
  manifest.spec = text(json, "", "spec");
  manifest.target = text(json, "", "target");
  if (!findTarget(manifest.target))
    fail("target", "unknown target \"" + manifest.target + "\"; this runtime knows " + targetNames());
  manifest.ptx = text(json, "", "ptx");
  if (manifest.ptx.find('/') != std::string::npos)
    fail("ptx", "expected the name of a file beside the manifest, found \"" + manifest.ptx + "\"");
  manifest.ptxSha256 = text(json, "", "ptx_sha256");
  for (const Json &item : array(json, "", "tensors"))
    manifest.tensors.push_back(tensor(item, "tensors[" + std::to_string(manifest.tensors.size()) + "]"));
  for (const Json &item : array(json, "", "kernels"))
    manifest.kernels.push_back(kernel(item, "kernels[" + std::to_string(manifest.kernels.size()) + "]"));
  checkReferences(manifest);
  if (!problem.empty())
    return Error{problem};
  return manifest;
}

} // namespace

const TensorSpec *Manifest::findTensor(std::string_view name) const {
  for (const TensorSpec &tensor : tensors)
    if (tensor.name == name)
      return &tensor;
  return nullptr;
}

Expected<Manifest> parseManifest(std::string_view json, const std::string &origin) {
  std::optional<std::string> repeated;
  Json document = parseJson(json, repeated);
  if (document.is_discarded())
    return Error{origin + ": not valid JSON (the file may be truncated or edited); recompile the spec"};
  if (repeated)
    return Error{origin + ": the key \"" + *repeated + "\" stands twice in one object (the file may be edited); recompile the spec"};
  Expected<Manifest> manifest = Reader(origin).read(document);
  // The compiler seals what it writes; a manifest written by hand from the start has no seal.
  if (manifest && document.contains("sha256")) {
    Json sealed = document;
    sealed.erase("sha256");
    if (document["sha256"] != sha256(sealed.dump()))
      return Error{origin + ": the manifest was edited after it was written (its sha256 does not match); recompile the spec"};
  }
  return manifest;
}

Expected<void> checkPtx(const Manifest &manifest, std::string_view ptx) {
  std::string found = sha256(ptx);
  if (found == manifest.ptxSha256)
    return {};
  return Error{"the PTX of '" + manifest.spec + "' (" + std::to_string(ptx.size()) + " bytes, sha256 " +
               found.substr(0, 12) + "...) is not the one its manifest was written for (sha256 " +
               manifest.ptxSha256.substr(0, 12) + "...); it was edited or truncated, recompile the spec"};
}

std::vector<std::string> variantsOf(const Manifest &manifest, const std::string &operation) {
  std::vector<std::string> variants;
  for (const KernelSpec &kernel : manifest.kernels)
    if (kernel.name == operation && !kernel.variant.empty() && std::find(variants.begin(), variants.end(), kernel.variant) == variants.end())
      variants.push_back(kernel.variant);
  return variants;
}

std::set<std::string> usedTensors(const Manifest &manifest, const std::string &operation) {
  std::set<std::string> used;
  auto visit = [&](const std::string &name) {
    size_t dot = name.find('.');
    if (dot != std::string::npos)
      used.insert(name.substr(0, dot));
  };
  for (const KernelSpec &kernel : manifest.kernels) {
    if (kernel.name != operation)
      continue;
    for (const auto &[name, value] : kernel.values)
      value.forEachName(visit);
    if (kernel.clocks)
      kernel.clocks->forEachName(visit);
    for (const Expr &extent : kernel.grid)
      extent.forEachName(visit);
    for (const ParamSpec &param : kernel.params) {
      used.insert(param.tensor);
      for (const Expr *expr : {&param.offset, &param.value, &param.bytes})
        expr->forEachName(visit);
      for (const std::vector<Expr> *exprs : {&param.dims, &param.strides})
        for (const Expr &expr : *exprs)
          expr.forEachName(visit);
    }
  }
  return used;
}

} // namespace fovea
