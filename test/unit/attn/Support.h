// test/unit/attn/Support.h - specs, random launches and comparisons for the tests of the evaluator
#ifndef FOVEA_TEST_UNIT_ATTN_SUPPORT_H
#define FOVEA_TEST_UNIT_ATTN_SUPPORT_H

#include "dialect/Attn/Reference/Evaluator.h"

#include <gtest/gtest.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>
#include <random>

namespace fovea::attn::reference {

/// A context and the module that a test works on.
class SpecModule {
public:
  /// Parses IR text, or imports examples/NAME.attn. A failure to do so fails the test.
  static SpecModule parse(llvm::StringRef text);
  static SpecModule example(const std::string &name);

  SpecOp spec(llvm::StringRef name = "");
  mlir::MLIRContext &context() { return *ctx; }

private:
  std::unique_ptr<mlir::MLIRContext> ctx;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// The sizes of a launch: lengths for each offsets table, and for each dense name.
struct Lengths {
  std::map<std::string, std::vector<int64_t>> jagged;
  std::map<std::string, int64_t> dense;
  int64_t batch = 1;
  int64_t tables = 64;      ///< entries of `?` axes
  int64_t launchHeads = 2;  ///< heads(?)
  int64_t before = 0, after = 0; ///< rows of jagged tensors that no sequence owns; they hold NaN
};

/// Random inputs for every argument of the spec, rounded to nothing: floats from a normal distribution, integers 0..2,
/// block lists with each key block kept with probability 1/2, scales powers of two.
NamedTensors randomLaunch(SpecOp spec, const Lengths &lengths, unsigned seed = 1);

/// evaluate, or a failed test.
Evaluation run(SpecOp spec, const NamedTensors &inputs, Precision precision = Precision::Exact);
std::string errorOf(SpecOp spec, const NamedTensors &inputs);

/// Where `written` sequences are; NaN elsewhere is as it should be. The largest |a - b| over the elements where neither
/// is NaN; a NaN on one side only is infinite.
double largestDifference(const HostTensor &a, const HostTensor &b);
bool hasNaN(const HostTensor &tensor);

} // namespace fovea::attn::reference

#endif // FOVEA_TEST_UNIT_ATTN_SUPPORT_H
