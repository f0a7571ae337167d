// test/unit/passes/MaskOfPattern.h - a pattern and a score in the language of specs, and what they mean by definition
#pragma once

#include "dialect/Attn/Analysis.h"
#include "dialect/Attn/Reference/Pairs.h"
#include "frontend/Frontend.h"
#include "test/unit/attn/Support.h"

namespace fovea {

/// A spec with that pattern over sequences with the given lengths of both sides; they are all alike in a `dense` one.
class MaskOfPattern {
public:
  using Lengths = std::vector<std::pair<int64_t, int64_t>>; ///< n_queries, n_keys of each sequence

  explicit MaskOfPattern(const std::string &pattern, const std::string &score = "", bool dense = false)
      : isDense(dense) {
    context.loadDialect<attn::AttnDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
    std::string text = std::string("attention t {\n  q : bf16 [") + (dense ? "batch, q_seq" : "jagged q_offsets") +
                       ", 2 heads, 64]\n  k, v : bf16 [" + (dense ? "batch, kv_seq" : "jagged kv_offsets") +
                       ", 2 heads, 64]\n"
                       "  pattern : " + pattern + (score.empty() ? "" : "\n  score : " + score) +
                       "\n  emit : forward\n}\n";
    ReadResult read = readSpec(text, "t", context);
    EXPECT_TRUE(read.module) << pattern << ", " << score << ": " << read.messages;
    module = std::move(read.module);
    spec = *module->getOps<attn::SpecOp>().begin();
  }

  mlir::Value value() { return attn::mask(spec); }

  void bind(const Lengths &lengths) {
    attn::reference::Lengths sizes;
    sizes.tables = 1024;
    sizes.batch = lengths.size();
    for (auto [queries, keys] : lengths)
      if (isDense) {
        sizes.dense["q_seq"] = queries, sizes.dense["kv_seq"] = keys;
      } else {
        sizes.jagged["q_offsets"].push_back(queries);
        sizes.jagged["kv_offsets"].push_back(keys);
      }
    launch = attn::reference::randomLaunch(spec, sizes);
    batch = llvm::cantFail(attn::reference::Batch::bind(spec, launch));
    tensors.clear();
    for (mlir::BlockArgument argument : spec.getBody().getArguments()) {
      std::string name = spec.getInputName(argument.getArgNumber()).str();
      tensors.emplace(argument, llvm::cantFail(attn::reference::bindInput(
                                    batch, name, mlir::cast<attn::AttnTensorType>(argument.getType()),
                                    launch.tensors.at(name))));
    }
    masks.clear();
    for (mlir::Operation &op : spec.getBody().front())
      if (op.getNumResults() == 1 && mlir::isa<attn::MaskType>(op.getResult(0).getType()))
        masks.emplace(op.getResult(0), llvm::cantFail(attn::reference::evaluateMask(
            &op, batch, [&](mlir::Value v) -> const attn::reference::MaskValue & { return masks.find(v)->second; },
            [&](mlir::Value v) -> const attn::reference::TensorValue & { return tensors.find(v)->second; })));
    bound = lengths;
  }

  /// The keys of query i of sequence b and head h, ascending.
  std::vector<int32_t> keys(int64_t b, int64_t i, int64_t h = 0) {
    std::vector<int32_t> result;
    llvm::cantFail(masks.find(value())->second.keysOf({batch, b, h, i, bound[b].first, bound[b].second}, result));
    return result;
  }

  /// The score expression of a sequence's head, for each (s, i, j); f64.
  std::vector<double> score(int64_t b, int64_t h, const std::vector<double> &s, const std::vector<double> &i,
                            const std::vector<double> &j) {
    using attn::reference::Column;
    auto lookup = [&](mlir::Value v) -> const attn::reference::TensorValue & { return tensors.find(v)->second; };
    auto expression = llvm::cantFail(attn::reference::Expression::prepare(scoreOp().getBody(), lookup));
    llvm::cantFail(expression.run(batch, b, s.size(),
                                  {{s}, {i}, {j}, Column::uniform(h), Column::uniform(b), Column::uniform(bound[b].first),
                                   Column::uniform(bound[b].second)}));
    std::vector<double> result;
    for (size_t n = 0; n < s.size(); ++n)
      result.push_back(expression.operand(0)[n]);
    return result;
  }
  attn::MapPairsOp scoreOp() { return *spec.getBody().front().getOps<attn::MapPairsOp>().begin(); }

  mlir::MLIRContext context;
  attn::SpecOp spec;
  // Of the last `bind`.
  attn::reference::NamedTensors launch;
  Lengths bound;

private:
  struct Less {
    bool operator()(mlir::Value a, mlir::Value b) const { return a.getAsOpaquePointer() < b.getAsOpaquePointer(); }
  };
  mlir::OwningOpRef<mlir::ModuleOp> module;
  attn::reference::Batch batch;
  std::map<mlir::Value, attn::reference::TensorValue, Less> tensors;
  std::map<mlir::Value, attn::reference::MaskValue, Less> masks;
  bool isDense;
};

} // namespace fovea
