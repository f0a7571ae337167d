// frontend/cli/RandomInputs.cpp - a random launch for any spec, from the types of its inputs alone.
#include "dialect/Attn/Analysis.h"
#include "frontend/cli/Elements.h"
#include "frontend/cli/Inputs.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace fovea {
using namespace attn;

namespace {

/// std::mt19937_64 is the same everywhere; the standard's distributions are not, so these are our own.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  /// Uniform in [low, high]; the bias is below 2^-32 for the ranges used here.
  int64_t integer(int64_t low, int64_t high) { return low + int64_t(engine() % uint64_t(high - low + 1)); }
  double unit() { return double(engine() >> 11) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(1 - unit())) * std::cos(2 * M_PI * unit()); }

private:
  std::mt19937_64 engine;
};

class Generator {
public:
  Generator(SpecOp spec, const BatchSize &size, const Arrays &given)
      : spec(spec), size(size), arrays(given), random(size.seed) {}

  Expected<Arrays> run() {
    for (const std::string &name : offsetsNames(spec))
      makeOffsets(name);
    for (unsigned i = 0; i < spec.getBody().getNumArguments(); ++i) {
      mlir::BlockArgument argument = spec.getBody().getArgument(i);
      std::string name = spec.getInputName(i).str();
      if (!arrays.count(name))
        arrays[name] = makeTensor(argument);
    }
    return std::move(arrays);
  }

private:
  SpecOp spec;
  BatchSize size;
  Arrays arrays;
  Random random;
  std::map<std::string, std::vector<int64_t>> offsets;

  void makeOffsets(const std::string &name) {
    std::vector<double> values = {0};
    const Lengths lengths = size.lengthsOf(name);
    if (auto given = arrays.find(name); given != arrays.end())
      values = decodeElements(given->second.bytes, given->second.dtype);
    else
      for (int64_t b = 0; b < size.batch; ++b)
        values.push_back(values.back() + double(lengths.listed.empty() ? random.integer(lengths.shortest, lengths.longest)
                                                                       : lengths.listed[size_t(b)]));
    offsets[name] = std::vector<int64_t>(values.begin(), values.end());
    DType dtype = size.wideOffsets ? DType::I64 : DType::I32;
    if (!arrays.count(name))
      arrays[name] = {dtype, {int64_t(values.size())}, encodeElements(values, dtype)};
  }

  int64_t length(RowsAttr rows, int64_t b) {
    switch (rows.getKind()) {
    case RowsKind::Jagged: {
      const std::vector<int64_t> &table = offsets[rows.getName().str()];
      return table[b + 1] - table[b];
    }
    case RowsKind::Dense:
      return size.lengthsOf(rows.getName().str()).longest;
    case RowsKind::Fixed:
    case RowsKind::Broadcast:
      return rows.getCount();
    }
    return 0;
  }

  static BlocksOp blocksOf(mlir::BlockArgument list) {
    for (mlir::Operation *user : list.getUsers())
      if (auto op = llvm::dyn_cast<BlocksOp>(user))
        return op;
    return {};
  }

  int64_t longestList(BlocksOp op) {
    int64_t most = 0, n = op.getKeyBlock();
    for (int64_t b = 0; b < size.batch; ++b)
      most = std::max(most, (length(llvm::cast<MaskType>(op.getMask().getType()).getKeys(), b) + n - 1) / n);
    return most;
  }

  /// Of any sequence, in any of the spec's tensors.
  int64_t mostRows(mlir::BlockArgument any) {
    int64_t most = size.mostRows();
    for (mlir::BlockArgument argument : any.getOwner()->getArguments())
      for (AxisAttr axis : llvm::cast<AttnTensorType>(argument.getType()).getAxes())
        if (RowsAttr rows = axis.getRows(); rows && (rows.getKind() == RowsKind::Broadcast || rows.getKind() == RowsKind::Fixed))
          most = std::max(most, int64_t(rows.getCount()));
    return most;
  }

  /// The dimensions in memory (Evaluator.h, NamedTensors).
  std::vector<int64_t> shapeOf(mlir::BlockArgument argument) {
    BlocksOp list = blocksOf(argument);
    std::vector<int64_t> shape;
    for (auto [n, axis] : llvm::enumerate(llvm::cast<AttnTensorType>(argument.getType()).getAxes())) {
      RowsAttr rows = axis.getRows();
      bool hasBatch = rows && (rows.getKind() == RowsKind::Dense || rows.getKind() == RowsKind::Fixed);
      if (hasBatch)
        shape.push_back(size.batch);
      if (axis.getKind() == AxisKind::Blocks) {
        int64_t blocks = 0, n = axis.getSize();
        for (int64_t b = 0; b < (hasBatch ? 1 : size.batch); ++b)
          blocks += (length(rows, b) + n - 1) / n;
        shape.push_back(blocks);
      } else if (axis.getKind() == AxisKind::Rows) {
        bool jagged = rows.getKind() == RowsKind::Jagged;
        shape.push_back(jagged ? offsets[rows.getName().str()].back() + size.paddingRows : length(rows, 0));
      } else if (countsSequences(argument, unsigned(n))) {
        shape.push_back(size.batch);
      } else if (mlir::ShapedType::isDynamic(axis.getSize())) {
        // Heads and table lengths known at launch: a few heads, an entry for every distance of two positions, or for
        // every block of keys.
        shape.push_back(axis.getKind() == AxisKind::Heads ? 4 : std::max<int64_t>(list ? longestList(list) : mostRows(argument), 1));
      } else
        shape.push_back(axis.getSize());
    }
    return shape;
  }

  NpyArray makeTensor(mlir::BlockArgument argument) {
    auto type = llvm::cast<AttnTensorType>(argument.getType());
    NpyArray array{dtypeOf(type.getElementType()), shapeOf(argument), {}};
    BlocksOp blocks = blocksOf(argument);
    int64_t count = 1;
    for (int64_t extent : array.shape)
      count *= extent;
    std::vector<double> values(count);
    if (blocks)
      fillBlockList(blocks, type, array.shape, values);
    else if (type.getElementType().isInteger())
      fillDocuments(type, array.shape, values);
    else
      fillNumbers(argument, array.dtype, values);
    if (!type.getElementType().isInteger())
      poisonPadding(type, array.shape, values);
    array.bytes = encodeElements(values, array.dtype);
    return array;
  }

  void fillNumbers(mlir::BlockArgument argument, DType dtype, std::vector<double> &values) {
    bool isRotaryTable = llvm::any_of(argument.getUses(), [](mlir::OpOperand &use) {
      return llvm::isa<RotaryOp>(use.getOwner()) && use.getOperandNumber() == 1;
    });
    bool isSink = llvm::any_of(argument.getUsers(), [&](mlir::Operation *user) {
      auto softmax = llvm::dyn_cast<SoftmaxOp>(user);
      return softmax && softmax.getSink() == argument;
    });
    for (double &value : values) {
      if (dtype == DType::UE8M0)
        value = std::ldexp(1, int(random.integer(-3, 1)));
      else if (isRotaryTable)
        value = std::cos(2 * M_PI * random.unit());
      else if (isSink) // some outweigh the keys of a row, others do not show
        value = 4 * random.normal();
      else
        value = random.normal();
    }
  }

  /// Documents of a few dozen rows, numbered from 0, or small numbers where no rows are counted.
  void fillDocuments(AttnTensorType type, const std::vector<int64_t> &shape, std::vector<double> &values) {
    int64_t last = shape.empty() ? 1 : shape.back();
    bool rowsAreLast = type.getRows() && !type.getAxes().empty() &&
                       type.getAxes().back().getKind() == AxisKind::Rows;
    double document = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (rowsAreLast && i % last == 0)
        document = 0;
      if (rowsAreLast && random.integer(0, 31) == 0)
        ++document;
      values[i] = rowsAreLast ? document : double(random.integer(0, 3));
    }
  }

  /// [blocks, heads, longest list] or [blocks, longest list]: ascending key blocks, each with probability 1/2, then -1.
  void fillBlockList(BlocksOp op, AttnTensorType type, const std::vector<int64_t> &shape,
                     std::vector<double> &values) {
    RowsAttr queries = llvm::cast<MaskType>(op.getMask().getType()).getQueries();
    RowsAttr keys = llvm::cast<MaskType>(op.getMask().getType()).getKeys();
    int64_t entries = shape.back(), heads = type.getHeads();
    std::fill(values.begin(), values.end(), -1);
    size_t at = 0;
    for (int64_t b = 0; b < size.batch; ++b) {
      int64_t queryBlocks = (length(queries, b) + op.getQueryBlock() - 1) / op.getQueryBlock();
      int64_t keyBlocks = (length(keys, b) + op.getKeyBlock() - 1) / op.getKeyBlock();
      for (int64_t row = 0; row < queryBlocks * heads && at < values.size(); ++row, at += entries) {
        int64_t n = 0;
        for (int64_t key = 0; key < keyBlocks && n < entries; ++key)
          if (random.integer(0, 1))
            values[at + n++] = double(key);
      }
    }
  }

  /// What no sequence owns is NaN: a kernel that reads it as data is found out.
  void poisonPadding(AttnTensorType type, const std::vector<int64_t> &shape, std::vector<double> &values) {
    if (type.getAxes().empty() || type.getAxes()[0].getKind() != AxisKind::Rows ||
        type.getAxes()[0].getRows().getKind() != RowsKind::Jagged || shape[0] == 0)
      return;
    const std::vector<int64_t> &table = offsets[type.getAxes()[0].getRows().getName().str()];
    int64_t perRow = int64_t(values.size()) / shape[0];
    for (int64_t row = 0; row < shape[0]; ++row)
      if (row < table.front() || row >= table.back())
        std::fill_n(values.begin() + row * perRow, perRow, std::numeric_limits<double>::quiet_NaN());
  }
};

} // namespace

Lengths BatchSize::lengthsOf(const std::string &rows) const {
  auto own = named.find(rows);
  return own != named.end() ? own->second : Lengths{shortest, longest, listed};
}

int64_t BatchSize::mostRows() const {
  int64_t most = longest;
  for (const auto &[name, lengths] : named)
    most = std::max(most, lengths.longest);
  return most;
}

Expected<BatchSize> fitTo(SpecOp spec, BatchSize size) {
  const std::vector<std::string> jagged = offsetsNames(spec), dense = denseNames(spec);
  std::string counted = size.batchGiven || !size.listed.empty() ? "--batch or another --lengths" : "";
  for (const auto &[name, lengths] : size.named) {
    const bool isDense = llvm::is_contained(dense, name);
    if (!isDense && !llvm::is_contained(jagged, name)) {
      std::string all;
      for (const auto *names : {&jagged, &dense})
        for (const std::string &known : *names)
          all += (all.empty() ? "" : ", ") + known;
      return Error{"--lengths: the spec has no rows of '" + name + "'; it has those of " + (all.empty() ? "none" : all)};
    }
    const int64_t sequences = int64_t(lengths.listed.size());
    if (isDense && sequences > 1)
      return Error{"--lengths: dense rows are as many in every sequence, '" + name + "' takes one number, found a list of " +
                   std::to_string(sequences)};
    if (isDense || sequences == 0)
      continue;
    if (!counted.empty() && size.batch != sequences)
      return Error{"--lengths lists " + std::to_string(sequences) + " sequences of '" + name + "', " + counted + " says " +
                   std::to_string(size.batch)};
    size.batch = sequences;
    counted = "that of '" + name + "'";
  }
  return size;
}

Expected<Arrays> randomInputs(SpecOp spec, const BatchSize &size, const Arrays &given) {
  if (size.batch < 0 || size.shortest < 0 || size.shortest > size.longest)
    return Error{"a batch needs a size of at least 0 and lengths A:B with 0 <= A <= B, found batch " +
                 std::to_string(size.batch) + " and lengths " + std::to_string(size.shortest) + ":" +
                 std::to_string(size.longest)};
  int64_t most = int64_t(1) << 31;
  const int64_t longest = size.mostRows();
  int64_t rows = size.listed.empty() || !size.named.empty() ? size.batch * std::max<int64_t>(longest, 1)
                                     : std::accumulate(size.listed.begin(), size.listed.end(), int64_t(0));
  if (size.batch > most || longest > most || rows > most)
    return Error{"a random batch of " + std::to_string(size.batch) + " sequences of up to " +
                 std::to_string(longest) + " rows does not fit this machine; use fewer or shorter ones"};
  return Generator(spec, size, given).run();
}

} // namespace fovea
