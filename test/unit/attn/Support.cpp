// test/unit/attn/Support.cpp - specs, random launches and comparisons for the tests of the evaluator
#include "test/unit/attn/Support.h"

#include "frontend/Frontend.h"

#include <cmath>
#include <fstream>
#include <mlir/Parser/Parser.h>
#include <sstream>

using namespace mlir;

namespace fovea::attn::reference {

static std::unique_ptr<MLIRContext> makeContext() {
  auto context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  context->loadDialect<AttnDialect, arith::ArithDialect, math::MathDialect>();
  return context;
}

SpecModule SpecModule::parse(llvm::StringRef text) {
  SpecModule result;
  result.ctx = makeContext();
  result.module = parseSourceString<ModuleOp>(text, result.ctx.get());
  EXPECT_TRUE(result.module) << text.str();
  return result;
}

SpecModule SpecModule::example(const std::string &name) {
  SpecModule result;
  result.ctx = makeContext();
  std::ifstream file(std::string(FOVEA_EXAMPLES) + "/" + name + ".attn");
  std::stringstream text;
  text << file.rdbuf();
  ReadResult read = readSpec(text.str(), name, *result.ctx);
  EXPECT_TRUE(read.module) << read.messages;
  result.module = std::move(read.module);
  return result;
}

SpecOp SpecModule::spec(llvm::StringRef name) {
  for (SpecOp spec : module->getOps<SpecOp>())
    if (name.empty() || spec.getSymName() == name)
      return spec;
  ADD_FAILURE() << "no spec " << name.str();
  return {};
}

NamedTensors randomLaunch(SpecOp spec, const Lengths &lengths, unsigned seed) {
  NamedTensors launch;
  std::mt19937 random(seed);
  for (auto &[name, each] : lengths.jagged) {
    std::vector<int64_t> &table = launch.offsets[name];
    table.push_back(lengths.before);
    for (int64_t length : each)
      table.push_back(table.back() + length);
  }
  auto batch = [&] { return launch.offsets.empty() ? lengths.batch : int64_t(launch.offsets.begin()->second.size()) - 1; };
  for (BlockArgument argument : spec.getBody().getArguments()) {
    auto type = cast<AttnTensorType>(argument.getType());
    std::vector<int64_t> shape;
    const std::vector<int64_t> *offsets = nullptr;
    int64_t keyBlocks = 0;
    for (AxisAttr axis : type.getAxes()) {
      RowsAttr rows = axis.getRows();
      auto blocks = [&](int64_t length) { return (length + axis.getSize() - 1) / axis.getSize(); };
      bool isBlocks = axis.getKind() == AxisKind::Blocks;
      if (!rows) {
        int64_t dynamic = axis.getKind() == AxisKind::Heads ? lengths.launchHeads : lengths.tables;
        shape.push_back(ShapedType::isDynamic(axis.getSize()) ? dynamic : axis.getSize());
      } else if (rows.getKind() == RowsKind::Jagged) {
        offsets = &launch.offsets.at(rows.getName().str());
        int64_t total = offsets->back() + lengths.after;
        if (isBlocks) {
          total = 0;
          for (size_t b = 0; b + 1 < offsets->size(); ++b)
            total += blocks((*offsets)[b + 1] - (*offsets)[b]);
        }
        shape.push_back(total);
      } else if (rows.isBroadcast()) {
        shape.push_back(rows.getCount());
      } else {
        int64_t length = rows.getKind() == RowsKind::Dense ? lengths.dense.at(rows.getName().str()) : rows.getCount();
        shape.push_back(batch());
        shape.push_back(isBlocks ? blocks(length) : length);
      }
      keyBlocks = isBlocks ? axis.getSize() : keyBlocks;
    }
    HostTensor tensor(shape);
    bool isList = keyBlocks && isa<IntegerType>(type.getElementType());
    std::normal_distribution<double> normal;
    for (double &value : tensor.values) {
      if (isa<Float8E8M0FNUType>(type.getElementType()))
        value = std::exp2(int(random() % 5) - 2);
      else if (isa<IntegerType>(type.getElementType()))
        value = isList ? -1 : int64_t(random() % 3);
      else
        value = normal(random);
    }
    if (isList) { // self attention: sequence b has as many key blocks as query blocks
      int64_t block = 0;
      for (size_t b = 0; b + 1 < offsets->size(); ++b) {
        int64_t count = ((*offsets)[b + 1] - (*offsets)[b] + keyBlocks - 1) / keyBlocks;
        for (int64_t n = 0; n < count; ++n, ++block)
          for (int64_t h = 0; h < shape[1]; ++h)
            for (int64_t pick = 0, entry = 0; pick < count; ++pick)
              if (random() % 2)
                tensor.at({block, h, entry++}) = pick;
      }
    }
    // Rows that no sequence owns must never be read.
    if (offsets && type.getRows() && type.getRows().getKind() == RowsKind::Jagged && shape[0] > 0 &&
        isa<FloatType>(type.getElementType())) {
      int64_t row = tensor.elements() / shape[0];
      std::fill_n(tensor.values.begin(), lengths.before * row, NAN);
      std::fill(tensor.values.end() - lengths.after * row, tensor.values.end(), NAN);
    }
    launch.tensors[spec.getInputName(argument.getArgNumber()).str()] = std::move(tensor);
  }
  return launch;
}

Evaluation run(SpecOp spec, const NamedTensors &inputs, Precision precision) {
  llvm::Expected<Evaluation> result = evaluate(spec, inputs, precision);
  if (result)
    return *result;
  ADD_FAILURE() << llvm::toString(result.takeError());
  return {};
}

std::string errorOf(SpecOp spec, const NamedTensors &inputs) {
  llvm::Expected<Evaluation> result = evaluate(spec, inputs);
  return result ? "" : llvm::toString(result.takeError());
}

double largestDifference(const HostTensor &a, const HostTensor &b) {
  EXPECT_EQ(a.shape, b.shape);
  double largest = 0;
  for (size_t n = 0; n < a.values.size() && n < b.values.size(); ++n) {
    double x = a.values[n], y = b.values[n];
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    double difference = std::fabs(x - y);
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

bool hasNaN(const HostTensor &tensor) {
  return llvm::any_of(tensor.values, [](double value) { return std::isnan(value); });
}

} // namespace fovea::attn::reference
