// frontend/cli/Eval.cpp - `fovea eval` and `fovea run`: a spec on data, by its meaning or by its kernel.
#include "frontend/cli/Commands.h"
#include "frontend/cli/Execution.h"
#include "frontend/cli/Session.h"

#include <cmath>
#include <llvm/Support/Format.h>
#include <llvm/Support/JSON.h>

namespace fovea::cli {
using namespace attn;

static int writeArrays(const Arrays &arrays, const std::string &folder) {
  if (auto ok = makeFolder(folder); !ok)
    return fail(ok.message());
  for (const auto &[name, array] : arrays)
    if (auto ok = writeNpy(folder + "/" + name + ".npy", array); !ok)
      return fail(ok.message());
  return kSuccess;
}

namespace {
/// A tensor in five numbers, over what sequences own.
struct Summary {
  int64_t elements = 0, infinities = 0;
  double least = INFINITY, most = -INFINITY, sum = 0, squares = 0;

  explicit Summary(const std::vector<double> &values) {
    for (double value : values) {
      if (std::isnan(value))
        continue;
      ++elements;
      if (std::isinf(value)) {
        ++infinities;
        continue;
      }
      least = std::min(least, value);
      most = std::max(most, value);
      sum += value;
      squares += value * value;
    }
  }
  int64_t finite() const { return elements - infinities; }
  double mean() const { return finite() ? sum / double(finite()) : 0; }
  double rms() const { return finite() ? std::sqrt(squares / double(finite())) : 0; }
};
} // namespace

static void printSummaries(const reference::Evaluation &evaluation, llvm::ArrayRef<SpecOp> specs, bool json) {
  llvm::json::Array list;
  if (!json)
    llvm::outs() << llvm::formatv("{0,-10} {1,-18} {2,12} {3,12} {4,12} {5,12}\n", "output", "shape", "least", "most",
                                  "mean", "rms");
  std::vector<std::string> names;
  for (SpecOp spec : specs)
    for (mlir::StringAttr name : spec.getYield().getResultNames().getAsRange<mlir::StringAttr>())
      names.push_back(name.str());
  for (const std::string &name : names) {
    const reference::HostTensor &tensor = evaluation.tensors.at(name);
    Summary s(tensor.values);
    std::string shape;
    for (int64_t extent : tensor.shape)
      shape += (shape.empty() ? "" : " ") + std::to_string(extent);
    double least = s.finite() ? s.least : 0, most = s.finite() ? s.most : 0;
    if (json)
      list.push_back(llvm::json::Object{{"output", name}, {"shape", tensor.shape}, {"owned", s.elements},
                                        {"infinite", s.infinities}, {"least", least}, {"most", most},
                                        {"mean", s.mean()}, {"rms", s.rms()}});
    else
      llvm::outs() << llvm::formatv("{0,-10} {1,-18} {2,12:E4} {3,12:E4} {4,12:E4} {5,12:E4}\n", name, shape, least,
                                    most, s.mean(), s.rms());
  }
  if (json)
    llvm::outs() << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(list)));
}

static bool takes(SpecOp spec, const std::string &name) {
  return spec.getInput(name) || llvm::is_contained(offsetsNames(spec), name);
}

/// Without the files of inputs that only `other` takes.
static std::map<std::string, std::string> filesOf(SpecOp spec, SpecOp other, const std::map<std::string, std::string> &files) {
  std::map<std::string, std::string> own;
  for (const auto &[name, path] : files)
    if (takes(spec, name) || !takes(other, name))
      own[name] = path;
  return own;
}

int evalCommand(const EvalArguments &arguments) {
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module = session.read(arguments.spec);
  if (!module)
    return kFailure;
  SpecOp forward = Session::forwardOf(*module), spec = forward;
  if (arguments.backward) {
    Expected<SpecOp> backward = Session::backwardOf(*module);
    if (!backward)
      return fail(backward.message());
    spec = *backward;
  }
  Expected<BatchSize> size = fitTo(forward, arguments.size);
  if (!size)
    return fail(size.message());
  Expected<Arrays> inputs = arguments.random ? randomInputs(forward, *size)
                                             : readInputs(forward, filesOf(forward, spec, arguments.files));
  if (!inputs)
    return fail(inputs.message());
  llvm::Expected<reference::Evaluation> result = reference::evaluate(forward, toNamedTensors(forward, *inputs));
  if (!result)
    return fail(llvm::toString(result.takeError()));
  if (arguments.backward) {
    inputs = arguments.random ? backwardInputs(forward, spec, *inputs, *result, *size)
                              : readInputs(spec, filesOf(spec, forward, arguments.files), savedOutputs(forward, spec, *result));
    if (!inputs)
      return fail(inputs.message());
    llvm::Expected<reference::Evaluation> gradients = reference::evaluate(spec, toNamedTensors(spec, *inputs));
    if (!gradients)
      return fail(llvm::toString(gradients.takeError()));
    for (auto &[name, tensor] : gradients->tensors)
      result->tensors[name] = std::move(tensor);
  }
  std::vector<SpecOp> specs{forward};
  if (arguments.backward)
    specs.push_back(spec);
  printSummaries(*result, specs, arguments.json);
  if (arguments.output.empty())
    return kSuccess;
  Arrays files;
  for (const auto &[name, tensor] : result->tensors)
    files[name] = toArray(tensor, DType::F64);
  if (arguments.random) // so that another program can be given the same data: o and lse as a backward takes them, too
    for (const auto &[name, array] : *inputs)
      files[name] = array;
  return writeArrays(files, arguments.output);
}

int runCommand(const RunArguments &arguments) {
  Expected<DeviceChoice> choice = chooseDevice(arguments.device, arguments.target);
  if (!choice)
    return fail(choice.message());
  Session session;
  LoadedSpec loaded = loadSpec(session, arguments.spec, *choice, arguments.backward);
  if (!loaded.kernels)
    return kFailure;
  SpecOp spec = Session::forwardOf(*loaded.spec);
  if (arguments.backward) {
    Expected<SpecOp> backward = Session::backwardOf(*loaded.spec);
    if (!backward)
      return fail(backward.message());
    spec = *backward;
  }
  Expected<Arrays> inputs = readInputs(spec, arguments.files);
  if (!inputs)
    return fail(inputs.message());
  if (llvm::Error error = reference::checkBlockLists(spec, toNamedTensors(spec, *inputs)))
    return fail(llvm::toString(std::move(error)));
  Expected<std::vector<OutputShape>> shapes = outputShapes(spec, *inputs);
  if (!shapes)
    return fail(shapes.message());
  Expected<Arrays> outputs = execute(*loaded.kernels, arguments.backward ? "backward" : "forward", *inputs, *shapes, 0, arguments.variant);
  if (!outputs)
    return fail(outputs.message());
  return writeArrays(*outputs, arguments.output);
}

} // namespace fovea::cli
