// test/unit/passes/MaskOfPattern.h - a pattern in the language of specs, its mask, and what the mask means by definition
#pragma once

#include "dialect/Attn/Analysis.h"
#include "dialect/Attn/Reference/Pairs.h"
#include "frontend/Frontend.h"
#include "test/unit/attn/Support.h"

namespace fovea {

/// A spec with that pattern over sequences with the given lengths of both sides.
class MaskOfPattern {
public:
  using Lengths = std::vector<std::pair<int64_t, int64_t>>; ///< n_queries, n_keys of each sequence

  explicit MaskOfPattern(const std::string &pattern) {
    context.loadDialect<attn::AttnDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
    std::string text = "attention t {\n  q : bf16 [jagged q_offsets, 2 heads, 64]\n"
                       "  k, v : bf16 [jagged kv_offsets, 2 heads, 64]\n"
                       "  pattern : " + pattern + "\n  emit : forward\n}\n";
    ReadResult read = readSpec(text, "t", context);
    EXPECT_TRUE(read.module) << pattern << ": " << read.messages;
    module = std::move(read.module);
    spec = *module->getOps<attn::SpecOp>().begin();
  }

  mlir::Value value() { return attn::mask(spec); }

  void bind(const Lengths &lengths) {
    attn::reference::Lengths jagged;
    for (auto [queries, keys] : lengths) {
      jagged.jagged["q_offsets"].push_back(queries);
      jagged.jagged["kv_offsets"].push_back(keys);
    }
    attn::reference::NamedTensors launch = attn::reference::randomLaunch(spec, jagged);
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
            &op, [&](mlir::Value v) -> const attn::reference::MaskValue & { return masks.find(v)->second; },
            [&](mlir::Value v) -> const attn::reference::TensorValue & { return tensors.find(v)->second; })));
    bound = lengths;
  }

  /// The keys of query i of sequence b, ascending.
  std::vector<int32_t> keys(int64_t b, int64_t i) {
    std::vector<int32_t> result;
    llvm::cantFail(masks.find(value())->second.keysOf({batch, b, 0, i, bound[b].first, bound[b].second}, result));
    return result;
  }

  mlir::MLIRContext context;

private:
  struct Less {
    bool operator()(mlir::Value a, mlir::Value b) const { return a.getAsOpaquePointer() < b.getAsOpaquePointer(); }
  };
  mlir::OwningOpRef<mlir::ModuleOp> module;
  attn::SpecOp spec;
  attn::reference::Batch batch;
  std::map<mlir::Value, attn::reference::TensorValue, Less> tensors;
  std::map<mlir::Value, attn::reference::MaskValue, Less> masks;
  Lengths bound;
};

} // namespace fovea
