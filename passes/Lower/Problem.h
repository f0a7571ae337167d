// passes/Lower/Problem.h - what the lowering needs to know of one attention, read off `attn`.
#pragma once

#include "dialect/Attn/Attn.h"
#include "mlir/IR/BuiltinTypes.h"
#include "passes/Lower/KeyRange.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace fovea {

/// A tensor behind a rotary embedding (attn.rotary).
struct Rotation {
  std::string table;             ///< rows of cols / 2 sines, then cols / 2 cosines
  mlir::Type tableElement;       ///< bf16 or f32
  int64_t cols = 0;              ///< the tensor's head dim
  bool interleaved = true;       ///< pairs (2m, 2m + 1), else (m, m + cols / 2)
  bool onLoad = false;           ///< the kernel turns the tensor; else the caller has
  bool byPosition = false;       ///< a row of the table for each position in a sequence, else for each token
};

/// How the rows of a tensor belong to the sequences of a batch (attn.rows).
struct RowSpace {
  enum class Kind { Jagged, Dense, Shared };
  Kind kind = Kind::Jagged;
  std::string name = "offsets"; ///< of the offsets (Jagged) or of the length (Dense)
  int64_t count = 0;   ///< Shared: rows that all sequences see
  bool operator==(const RowSpace &o) const { return kind == o.kind && name == o.name && count == o.count; }
};

/// The gradient of a rotary table that the spec asks for (attn.rotary_table_grad).
struct TableGradient {
  std::string table;             ///< its gradient is called "d" + table
  std::vector<std::string> tensors; ///< of q, k and v: those that it turns, all on load
};

/// The epilogue in a backward (attn-derive-backward): what takes dout's place in dP = dO V^T and dV = P^T dO, and the
/// gradients of the epilogue's own tensors. A null op stands for dout as it is.
struct EpilogueGradient {
  attn::MapElementsOp dO;
  struct Output {
    std::string tensor;          ///< of the epilogue; its gradient is called "d" + tensor
    attn::MapElementsOp value;
  };
  std::vector<Output> outputs;
  std::vector<std::string> inputs; ///< tensors of the epilogue that these read
  attn::CombineOp o;               ///< the output once more, if they read it
  attn::SpecOp spec;               ///< the backward

  /// Whether there is anything to compute.
  bool maps() const {
    return dO || llvm::any_of(outputs, [](const Output &o) { return bool(o.value); });
  }
};

/// One attention. `block` > 0: block-diagonal self attention over jagged sequences, rows x heads x dim in memory, whose
/// row blocks see all their keys at once. Else its items loop over key blocks (flash attention).
struct Problem {
  std::string name;              ///< of the spec; kernels are called <name>_forward, …
  std::string q = "q", k = "k", v = "v", o = "o", offsets = "offsets";
  mlir::Type element;            ///< bf16 or f16
  int64_t heads = 1;             ///< 0: known at launch
  int64_t headDim = 0;           ///< D of q and k
  int64_t valueDim = 0;          ///< D of v and o
  int64_t block = 0;             ///< N of block_diagonal(N), 0 for other masks
  double scale = 0;              ///< applied to q.k; 0 where `score` says more
  attn::SpecOp spec;             ///< whose tables `score`, `range` and `sink` look up; null where they look up none
  attn::MapPairsOp score;        ///< the scores' expression, null when it is scale x (q.k)
  std::string sink;              ///< table [heads], f32, of which exp joins each row's sum; empty: none
  RowSpace queries, keys;        ///< of q and o, of k and v
  int64_t keyHeads = 1;          ///< of k and v; divides heads
  KeyRange range;                ///< the keys of a query, where items loop over key blocks
  std::string list;              ///< of range.blocks: the input
  int64_t listHeads = 0;         ///< lists for each block of queries: 1, or one for each head
  attn::MapElementsOp epilogue;  ///< of o, null when it leaves as it is
  std::vector<std::string> elements; ///< the tensors like o that the epilogue reads
  EpilogueGradient epilogueGradient;
  bool lse = false;              ///< natural-log row statistic is an output
  bool backward = false;         ///< dq, dk and dv are wanted, from q, k, v and dout
  std::string packed;            ///< name of the one tensor [rows, dq | dk | dv] of the gradients; empty: three tensors
  std::optional<Rotation> rotaryQ, rotaryK, rotaryV;
  std::vector<TableGradient> tableGradients;

  const Rotation *rotationOf(llvm::StringRef tensor) const {
    const std::optional<Rotation> &r = tensor == q ? rotaryQ : tensor == k ? rotaryK : rotaryV;
    return r ? &*r : nullptr;
  }
  /// Whether a table's gradient is summed from that of the turned `tensor`.
  bool keepsTurned(llvm::StringRef tensor) const {
    return llvm::any_of(tableGradients, [&](const TableGradient &g) { return llvm::is_contained(g.tensors, tensor); });
  }
  /// Scratch memory for the gradient of a turned tensor.
  static std::string turnedGradient(llvm::StringRef tensor) { return "turned_d" + tensor.str(); }

  bool rotatesOnLoad() const {
    auto loads = [](const std::optional<Rotation> &r) { return r && r->onLoad; };
    return loads(rotaryQ) || loads(rotaryK) || loads(rotaryV);
  }
};

/// The problem of a spec; an error that says what was expected when it has no lowering.
llvm::Expected<Problem> readProblem(attn::SpecOp spec);

/// Checks that a derived backward is one that buildBackward lowers: dP = dO V^T, D = rowsum(P o dP), dS from them, the
/// three sums dV, dQ and dK, and expressions of elements; reads what it holds of an epilogue.
llvm::Error readBackward(attn::SpecOp backward, Problem &problem);

} // namespace fovea
