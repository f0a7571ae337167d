// frontend/cli/Check.cpp - `fovea check`: compiled, run on random data, every output against the f64 meaning.
#include "frontend/cli/Commands.h"
#include "frontend/cli/Comparison.h"
#include "frontend/cli/Execution.h"
#include "frontend/cli/Session.h"

#include <cstdlib>
#include <llvm/Support/JSON.h>

namespace fovea::cli {
using namespace attn;

/// Runs one operation, each variant of it or the one that is named, and compares its outputs with the evaluator's, which go to
/// `meaning`.
static Expected<std::vector<Comparison>> checkOperation(const Module &module, const std::string &operation, SpecOp spec,
                                                        const Arrays &inputs, const std::string &only, reference::Evaluation &meaning) {
  reference::NamedTensors named = toNamedTensors(spec, inputs);
  llvm::Expected<reference::Evaluation> exact = reference::evaluate(spec, named);
  if (!exact)
    return Error{"the evaluator: " + llvm::toString(exact.takeError())};
  llvm::Expected<reference::Evaluation> plain = reference::evaluate(spec, named, reference::Precision::Plain16);
  if (!plain)
    return Error{"the evaluator: " + llvm::toString(plain.takeError())};
  Expected<std::vector<OutputShape>> shapes = outputShapes(spec, inputs);
  if (!shapes)
    return shapes.error();
  std::vector<std::string> variants = variantsOf(module.manifest(), operation);
  if (variants.empty() || !only.empty())
    variants = {only};
  std::vector<Comparison> results;
  for (const std::string &variant : variants) {
    Expected<Arrays> actual = execute(module, operation, inputs, *shapes, kPoisonByte, variant);
    if (!actual)
      return actual.error();
    std::vector<Comparison> outputs;
    for (const OutputShape &output : *shapes)
      outputs.push_back(compare({output.name + (variant.empty() ? "" : " " + variant), output.dtype, exact->tensors.at(output.name).values,
                                 plain->tensors.at(output.name).values, actual->at(output.name).bytes, output.owned},
                                output.shape));
    allowCancellation(outputs);
    results.insert(results.end(), outputs.begin(), outputs.end());
  }
  meaning = std::move(*exact);
  return results;
}

static llvm::json::Object toJson(const Comparison &c) {
  auto finite = [](double value) -> llvm::json::Value {
    return std::isfinite(value) ? llvm::json::Value(value) : llvm::json::Value(nullptr);
  };
  auto [output, variant] = llvm::StringRef(c.name).split(' ');
  return llvm::json::Object{{"output", output},
                            {"variant", variant},
                            {"elements", c.elements},
                            {"max_error", c.maxError},
                            {"plain_max_error", c.plainMaxError},
                            {"rounding_floor", c.floor},
                            {"snr_db", finite(c.snrDb)},
                            {"plain_snr_db", finite(c.plainSnrDb)},
                            {"unwritten", c.unwritten},
                            {"not_finite", c.nans},
                            {"stray_writes", c.strayWrites},
                            {"pass", c.passes()}};
}

/// "8 sequences of 1 to 256 rows", or by the names that --lengths gave.
static std::string sizeText(const BatchSize &size) {
  auto range = [](const Lengths &lengths) {
    return std::to_string(lengths.shortest) + " to " + std::to_string(lengths.longest) + " rows";
  };
  std::string text = std::to_string(size.batch) + " sequences of ";
  if (size.named.empty())
    return text + range(size.lengthsOf(""));
  const char *separator = "";
  for (const auto &[name, lengths] : size.named)
    text += separator + range(lengths) + " (" + name + ")", separator = ", ";
  return text;
}

static int report(const CheckArguments &arguments, const BatchSize &size, const DeviceChoice &choice,
                  const std::vector<Comparison> &comparisons, int64_t rows) {
  bool pass = !comparisons.empty();
  for (const Comparison &c : comparisons)
    pass &= c.passes();
  if (arguments.json) {
    llvm::json::Array outputs;
    for (const Comparison &c : comparisons)
      outputs.push_back(toJson(c));
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(llvm::json::Object{
                                               {"device", choice.device.spec()}, {"target", choice.target},
                                               {"batch", size.batch}, {"rows", rows}, {"seed", int64_t(size.seed)},
                                               {"outputs", std::move(outputs)}, {"pass", pass}}))
                 << "\n";
  } else {
    llvm::outs() << choice.device.description() << "\n"
                 << sizeText(size) << ", seed " << size.seed << "; error against f64, beside a plain 16-bit computation of the same\n"
                 << comparisonTable(comparisons) << (pass ? "PASS" : "FAIL") << "\n";
  }
  return pass ? kSuccess : kFailure;
}

int checkCommand(const CheckArguments &arguments) {
  if (!arguments.async.empty())
    setenv("FOVEA_EMULATE_ASYNC", arguments.async.c_str(), 1);
  setenv("FOVEA_EMULATE_SEED", std::to_string(arguments.size.seed).c_str(), 0);
  Expected<DeviceChoice> choice = chooseDevice(arguments.device, arguments.target);
  if (!choice)
    return fail(choice.message());

  Session session;
  LoadedSpec loaded = loadSpec(session, arguments.spec, *choice, arguments.backward);
  if (!loaded.kernels)
    return kFailure;
  SpecOp forward = Session::forwardOf(*loaded.spec);
  Expected<BatchSize> size = fitTo(forward, arguments.size);
  if (!size)
    return fail(size.message());
  Expected<Arrays> inputs = randomInputs(forward, *size);
  if (!inputs)
    return fail(inputs.message());
  int64_t rows = inputs->count("q") ? 1 : 0;
  if (rows) // all dimensions but heads and columns
    for (int64_t extent : llvm::ArrayRef(inputs->at("q").shape).drop_back(2))
      rows *= extent;
  reference::Evaluation outputs, unused;
  Expected<std::vector<Comparison>> results = checkOperation(*loaded.kernels, "forward", forward, *inputs, arguments.variant, outputs);
  if (!results)
    return fail(results.message());
  if (arguments.backward) {
    Expected<SpecOp> backward = Session::backwardOf(*loaded.spec);
    if (!backward)
      return fail(backward.message());
    Expected<Arrays> more = backwardInputs(forward, *backward, *inputs, outputs, *size);
    if (!more)
      return fail(more.message());
    Expected<std::vector<Comparison>> gradients = checkOperation(*loaded.kernels, "backward", *backward, *more, "", unused);
    if (!gradients)
      return fail(gradients.message());
    results->insert(results->end(), gradients->begin(), gradients->end());
  }
  return report(arguments, *size, *choice, *results, rows);
}

} // namespace fovea::cli
