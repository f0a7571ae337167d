// runtime/abi/ManifestWrite.cpp - Manifest to JSON.
#include "runtime/abi/Manifest.h"
#include "runtime/abi/Sha256.h"

#include <nlohmann/json.hpp>

namespace fovea {

namespace {

using Json = nlohmann::ordered_json; // keys in the order of the documentation

Json write(const Expr &expr) {
  if (expr.getKind() == Expr::Kind::Constant)
    return expr.getConstant();
  if (expr.getKind() == Expr::Kind::Name)
    return expr.getName();
  return Json::array({Expr::opName(expr.getKind()), write(expr.getOperands()[0]), write(expr.getOperands()[1])});
}

template <typename Range> Json writeAll(const Range &exprs) {
  Json array = Json::array();
  for (const Expr &expr : exprs)
    array.push_back(write(expr));
  return array;
}

Json write(const TensorSpec &tensor) {
  static constexpr const char *roles[] = {"input", "output", "offsets"};
  std::string dtypes;
  for (DType type : tensor.dtypes)
    dtypes += (dtypes.empty() ? "" : "|") + std::string(dtypeName(type));
  Json json = {{"name", tensor.name},
               {"role", roles[int(tensor.role)]},
               {"dtype", dtypes},
               {"shape", writeAll(tensor.shape)},
               {"min_alignment", tensor.minAlignment},
               {"stride_multiple_bytes", tensor.strideMultipleBytes},
               {"optional", tensor.optional}};
  if (tensor.strided)
    json["strided"] = true;
  if (!tensor.jagged.empty())
    json["jagged"] = tensor.jagged;
  if (!tensor.positions.empty())
    json["positions"] = tensor.positions;
  return json;
}

bool isZero(const Expr &expr) { return expr == Expr(0); }

Json write(const ParamSpec &param) {
  switch (param.kind) {
  case ParamSpec::Kind::TensorMap: {
    Json json = {{"kind", "tensor_map"},          {"tensor", param.tensor},
                 {"dims", writeAll(param.dims)},  {"strides", writeAll(param.strides)},
                 {"box", param.box},              {"swizzle", param.swizzle},
                 {"l2_promotion", param.l2Promotion}};
    if (!isZero(param.offset))
      json["offset"] = write(param.offset);
    return json;
  }
  case ParamSpec::Kind::Pointer: {
    Json json = {{"kind", "pointer"}, {"tensor", param.tensor}};
    if (!isZero(param.offset))
      json["offset"] = write(param.offset);
    return json;
  }
  case ParamSpec::Kind::I32:
    return {{"kind", "i32"}, {"value", write(param.value)}};
  case ParamSpec::Kind::I64:
    return {{"kind", "i64"}, {"value", write(param.value)}};
  case ParamSpec::Kind::F32:
    return {{"kind", "f32"}, {"value", param.number}};
  case ParamSpec::Kind::Scratch:
    return {{"kind", "scratch"}, {"name", param.name}, {"bytes", write(param.bytes)}, {"zero", param.zero}};
  }
  return nullptr;
}

Json write(const KernelSpec &kernel) {
  Json params = Json::array();
  for (const ParamSpec &param : kernel.params)
    params.push_back(write(param));
  Json json = {{"name", kernel.name}, {"entry", kernel.entry}};
  if (!kernel.variant.empty())
    json["variant"] = kernel.variant;
  if (kernel.clocks)
    json["clocks"] = write(*kernel.clocks);
  json["block"] = kernel.block;
  json["cluster"] = kernel.cluster;
  json["ctas_per_sm"] = kernel.ctasPerSm;
  json["dynamic_smem"] = kernel.dynamicSmem;
  json["tmem_columns"] = kernel.tmemColumns;
  for (const auto &[name, value] : kernel.values)
    json["values"].push_back(Json::array({name, write(value)}));
  json["grid"] = writeAll(kernel.grid);
  json["params"] = params;
  return json;
}

} // namespace

std::string toJson(const Manifest &manifest) {
  Json tensors = Json::array(), kernels = Json::array();
  for (const TensorSpec &tensor : manifest.tensors)
    tensors.push_back(write(tensor));
  for (const KernelSpec &kernel : manifest.kernels)
    kernels.push_back(write(kernel));
  Json json = {{"fovea_manifest", kManifestVersion}, {"spec", manifest.spec},
               {"target", manifest.target},          {"ptx", manifest.ptx},
               {"ptx_sha256", manifest.ptxSha256},   {"tensors", tensors},
               {"kernels", kernels}};
  json["sha256"] = sha256(nlohmann::json::parse(json.dump()).dump()); // keys sorted, as the reader has them
  return json.dump(1) + "\n";
}

} // namespace fovea
