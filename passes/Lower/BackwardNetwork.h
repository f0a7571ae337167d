// passes/Lower/BackwardNetwork.h - the builder of the backward network of block-diagonal attention: what its parts share.
//
// Backward.cpp holds tensors, channels, and the roles that fill and clear shared memory or compute on whole tensors there;
// BackwardProducts.cpp the products, the pairs between them, and how gradients leave. Networks.h draws the whole.
//
// The schedule's roles decide its shape. With the role "ds" the softmax hands P on through the slot of S, so that other
// roles, or other warps, work between the two; without it one role makes P and dS. With "dp2" each operand is two
// slices of its columns, whose products are summed, and the second slice of dO lies where V's first was.
#pragma once

#include "passes/Lower/Elements.h"
#include "passes/Lower/NetworkBuilder.h"
#include "passes/Lower/Problem.h"
#include "passes/Lower/Rotary.h"

namespace fovea {

/// Builds one kernel. Roles write ops in program order, and order is part of the result.
class BackwardNetwork {
public:
  BackwardNetwork(mlir::ModuleOp module, const Problem &p, const tile::Schedule &s, const Target &target, mlir::Location loc);
  tile::KernelOp build();

private:
  using Value = mlir::Value;
  using Names = std::vector<std::string>;

  /// q, k, v or dout: the name of its channels, its tensor and columns.
  struct Operand {
    std::string channel, tensor;
    int64_t cols;
  };
  std::vector<Operand> operands() const {
    return {{"Q", p.q, p.headDim}, {"K", p.k, p.headDim}, {"V", p.v, p.valueDim}, {"DO", "dout", p.valueDim}};
  }
  struct Gradient {
    std::string name; ///< "dv": of the roles; the channel is DV
    std::string tensor;
    int64_t cols;
    const Rotation *rotation;
    std::string pairs, operand; ///< the product: pairs (transposed but for dq) times a loaded operand
  };
  std::vector<Gradient> gradients() const;
  // Of slice i: "Q1", "Q2"; the whole has no number.
  std::string sliced(const std::string &name, int64_t i) const {
    return slices == 1 ? name : name + std::to_string(i + 1);
  }
  // The gradient of an epilogue's tensor that is not changed in place.
  static std::string gradientChannel(size_t k) { return "DElement" + std::to_string(k); }
  static std::string storeRole(size_t k) { return "store_delement" + std::to_string(k); }
  static std::string gradientSymbol(size_t k) { return "delement" + std::to_string(k); }

  // --- Backward.cpp
  void declareTensors();
  void addNotes(); ///< for `fovea explain`
  void declareChannels();
  void declareInput(const std::string &name, int64_t cols, const Names &behindClear);
  void addLoads();
  void load(Item item, const Operand &o, int64_t slice);
  std::string clearRole(llvm::StringRef channel, int64_t slice) const;
  void addClears();
  void addElements();

  // --- BackwardProducts.cpp
  void product(llvm::StringRef d, Value a, bool aTransposed, Value b, bool bTransposed, bool accumulate = false);
  void addProductForO();
  void addScores();
  void addSoftmax();
  Value scoreGradient(Value prob);
  Value write(Value tile, const char *channel);
  void addGradient(const Gradient &g);

  const Problem &p;
  const tile::Schedule &s;
  const Target &target;
  mlir::Location loc;
  NetworkBuilder n;
  const int64_t slices; ///< of each operand's and gradient's columns: 1 or 2
  const bool separate;  ///< dS is a role of its own
  const RotaryPlan rotary;
  const EpilogueGradient &gradient;
  const ElementTensors elements;
};

} // namespace fovea
