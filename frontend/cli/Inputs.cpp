// frontend/cli/Inputs.cpp - reading inputs, and handing them to the evaluator.
#include "frontend/cli/Inputs.h"
#include "frontend/cli/Elements.h"

#include <set>

namespace fovea {
using namespace attn;

DType dtypeOf(mlir::Type type) {
  if (type.isBF16())
    return DType::BF16;
  if (type.isF16())
    return DType::F16;
  if (type.isF32())
    return DType::F32;
  if (llvm::isa<mlir::Float8E4M3FNType>(type))
    return DType::E4M3;
  if (llvm::isa<mlir::Float8E8M0FNUType>(type))
    return DType::UE8M0;
  return type.isInteger(64) ? DType::I64 : DType::I32;
}

static std::vector<std::string> namesOfRows(SpecOp spec, RowsKind kind) {
  std::set<std::string> names;
  auto collect = [&](mlir::Type type) {
    for (AxisAttr axis : llvm::cast<AttnTensorType>(type).getAxes())
      if (axis.getRows() && axis.getRows().getKind() == kind)
        names.insert(axis.getRows().getName().str());
  };
  for (mlir::BlockArgument argument : spec.getBody().getArguments())
    collect(argument.getType());
  for (mlir::Value value : spec.getYield().getValues())
    collect(value.getType());
  return {names.begin(), names.end()};
}
std::vector<std::string> offsetsNames(SpecOp spec) { return namesOfRows(spec, RowsKind::Jagged); }
std::vector<std::string> denseNames(SpecOp spec) { return namesOfRows(spec, RowsKind::Dense); }

static std::string allNames(SpecOp spec) {
  std::string text;
  for (unsigned i = 0; i < spec.getBody().getNumArguments(); ++i)
    text += (text.empty() ? "" : ", ") + spec.getInputName(i).str();
  for (const std::string &name : offsetsNames(spec))
    text += ", " + name;
  return text;
}

static Expected<NpyArray> readOffsets(const std::string &path) {
  Expected<NpyArray> wide = readNpy(path, DType::I64);
  if (wide)
    return wide;
  Expected<NpyArray> narrow = readNpy(path, DType::I32);
  if (narrow)
    return narrow;
  return Error{narrow.message() + " ('<i8' is taken, too)"};
}

Expected<Arrays> readInputs(SpecOp spec, const std::map<std::string, std::string> &files, const Arrays &given) {
  Arrays arrays;
  auto missing = [&](const std::string &name) {
    return Error{"no file was given for '" + name + "': pass --" + name + " FILE.npy (the spec takes " +
                 allNames(spec) + ")"};
  };
  std::set<std::string> known;
  for (unsigned i = 0; i < spec.getBody().getNumArguments(); ++i) {
    std::string name = spec.getInputName(i).str();
    known.insert(name);
    auto file = files.find(name);
    if (auto array = given.find(name); file == files.end() && array != given.end()) {
      arrays[name] = array->second;
      continue;
    }
    if (file == files.end())
      return missing(name);
    auto type = llvm::cast<AttnTensorType>(spec.getBody().getArgument(i).getType());
    Expected<NpyArray> array = readNpy(file->second, dtypeOf(type.getElementType()));
    if (!array)
      return array.error();
    arrays[name] = std::move(*array);
  }
  for (const std::string &name : offsetsNames(spec)) {
    known.insert(name);
    auto file = files.find(name);
    if (file == files.end())
      return missing(name);
    Expected<NpyArray> array = readOffsets(file->second);
    if (!array)
      return array.error();
    if (array->shape.size() != 1)
      return Error{file->second + ": offsets have one dimension, found " + std::to_string(array->shape.size())};
    arrays[name] = std::move(*array);
  }
  for (const auto &[name, path] : files)
    if (!known.count(name))
      return Error{"the spec has no input '" + name + "' (for " + path + "); it takes " + allNames(spec)};
  return arrays;
}

reference::NamedTensors toNamedTensors(SpecOp spec, const Arrays &arrays) {
  reference::NamedTensors result;
  std::vector<std::string> offsets = offsetsNames(spec);
  for (const auto &[name, array] : arrays) {
    std::vector<double> values = decodeElements(array.bytes, array.dtype);
    if (llvm::is_contained(offsets, name)) {
      result.offsets[name] = std::vector<int64_t>(values.begin(), values.end());
      continue;
    }
    reference::HostTensor tensor(array.shape);
    tensor.values = std::move(values);
    result.tensors[name] = std::move(tensor);
  }
  return result;
}

NpyArray toArray(const reference::HostTensor &tensor, DType dtype) {
  return {dtype, tensor.shape, encodeElements(tensor.values, dtype)};
}

} // namespace fovea
