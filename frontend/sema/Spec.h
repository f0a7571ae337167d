// frontend/sema/Spec.h - what a spec means: names resolved, shapes and types known, still without a machine
#pragma once

#include "frontend/ast/AST.h"

#include <array>
#include <map>

namespace fovea::sema {

using ast::Range;

//===-- tensors ---------------------------------------------------------------------------------------------===//

enum class DType { BF16, F16, E4M3, MXFP8 };

/// Which rows of a tensor belong to a sequence.
struct Rows {
  enum class Kind {
    Dense,    ///< `batch, NAME`: [batch, NAME] in memory; one NAME is one length
    Jagged,   ///< `jagged NAME`: [total], cut by the offsets table NAME
    Broadcast ///< `broadcast N`: the same N rows for every sequence
  };
  Kind kind = Kind::Dense;
  std::string name;  ///< Dense: the length; Jagged: the offsets
  int64_t count = 0; ///< Broadcast
  Range range;

  bool sameAs(const Rows &o) const { return kind == o.kind && name == o.name && count == o.count; }
};

/// `= rotary(TABLE, interleaved)`: the caller has rotated the tensor; `on_load`: the kernel does.
struct Rotary {
  std::string table;
  bool interleaved = true; ///< pairs (2m, 2m+1); else (m, m + D/2)
  bool onLoad = false;     ///< the kernel rotates; else the caller has, and only gradients know
  bool byPosition = false; ///< table [max_len, D], row = position in the sequence; else [tokens, D]
  bool wide = false;       ///< the table is f32; else bf16
  Range range;
};

/// One of q, k, v: [rows, heads, head dim].
struct Tensor {
  DType dtype = DType::BF16;
  Rows rows;
  std::optional<int64_t> heads; ///< none: known at launch
  int64_t headDim = 0;
  std::optional<Rotary> rotary;
  Range name, dtypeRange, headsRange, headDimRange;
};

//===-- tables: the tensors that a spec uses without declaring them ------------------------------------------===//

/// What an index into a table counts, read off the index expression.
enum class Axis {
  Queries,  ///< `t[i]`: one entry per row of q
  Keys,     ///< `t[j]`: one entry per row of k
  Heads,    ///< `t[h]`: one per query head
  Features, ///< `t[d]`: one per feature of o
  Sequences,///< `t[b]`: one per sequence
  Free      ///< any other integer expression, as in `t[i - j]`: a length known at launch
};

struct Table {
  enum class Kind {
    Lookup,   ///< `doc[i]`: axes as indexed
    Elements, ///< a bare name in an epilogue: shaped and typed like o
    BlockList,///< `picks` of blocks(BQ, BK, picks): [query blocks, heads, longest list], int32
    Rotary    ///< [tokens or positions, D], bf16 or f32
  };
  Kind kind = Kind::Lookup;
  std::string name;
  std::vector<Axis> axes; ///< of a Lookup
  bool integer = false;   ///< of a Lookup: int32, else f32
  int64_t block = 0;      ///< of a BlockList: queries per block
  Range range;            ///< its first use
};

//===-- expressions -----------------------------------------------------------------------------------------===//

enum class Type { Bool, Int, Real };

enum class Variable { I, J, H, B, D, NQueries, NKeys, S, Scale, O };

enum class Function {
  Abs, Cos, Exp, Exp2, Floor, FloorDiv, Gelu, Log, Log2, Max, Min, Relu, Rsqrt, Sigmoid, Silu, Sin, Softcap, Sqrt,
  Tanh, Where
};

/// `causal`, `window(4096)`, ...
struct NamedPattern {
  enum class Kind { Full, Causal, Window, BlockDiagonal, Prefix, Blocks };
  Kind kind = Kind::Full;
  bool topLeft = false;                ///< Causal
  std::optional<int64_t> left, right;  ///< Window; a side that is not given is unbounded
  int64_t size = 0;                    ///< BlockDiagonal, Prefix
  int64_t queryBlock = 0, keyBlock = 0;///< Blocks
  unsigned table = 0;                  ///< Blocks: index into Spec::tables
};

/// A typed expression. Of type Bool it is a pattern: which (i, j) pairs are present.
struct Expr {
  enum class Kind {
    Number,   ///< value; Int when written so
    Variable, ///< variable
    Lookup,   ///< tables[table] at args, one per axis
    Element,  ///< tables[table] at the element of o
    Operator, ///< op on args
    Call,     ///< function on args
    Pattern   ///< pattern
  };
  Kind kind = Kind::Number;
  Type type = Type::Real;
  double value = 0;
  sema::Variable variable = sema::Variable::S;
  ast::Op op = ast::Op::Add;
  sema::Function function = sema::Function::Abs;
  unsigned table = 0;
  NamedPattern pattern;
  std::vector<Expr> args;
  Range range;
};

//===-- the spec --------------------------------------------------------------------------------------------===//

struct Emit {
  bool lse = false;
  bool backward = false, deterministic = false;
  std::optional<std::string> packed; ///< name of the one tensor that holds all gradients
  std::vector<unsigned> tables;      ///< rotary tables whose gradients are wanted, too: indices into Spec::tables
  Range forwardRange, lseRange, backwardRange, deterministicRange, packedRange;
};

/// What a `schedule TARGET { ... }` block asks for. The scheduler reads these by name; see Schedules.h.
struct Override {
  enum class Kind { Int, Word, IntPerName };
  Kind kind = Kind::Int;
  int64_t number = 0;
  std::string word;
  std::vector<std::pair<std::string, int64_t>> perName;
  Range range; ///< key and value
};
struct ScheduleOverrides {
  std::string target;
  std::map<std::string, Override> settings;
  Range range;
};

/// The meaning of one file. Everything optional in the text is filled in here; a `Range` of line 0 says so.
struct Spec {
  std::string name;
  Range range;
  Tensor q, k, v;
  std::vector<Table> tables;
  Expr pattern;                ///< Bool
  Range patternRange;
  Expr score;                  ///< over S, Scale, I, J, H, B, ...; default s * scale
  Range scoreRange;
  double scale = 0;            ///< default 1/sqrt(head dim)
  Range scaleRange;
  std::optional<Expr> weight;  ///< over S = the score; none: softmax
  std::optional<unsigned> sink;///< of softmax(SINK): index into tables
  Range weightRange;
  std::optional<Expr> epilogue;///< over O; none: o
  Range epilogueRange;
  Emit emit;
  Range emitRange;
  std::vector<ScheduleOverrides> schedules;

  bool isJagged() const { return q.rows.kind == Rows::Kind::Jagged; }
};

/// The words of the language, as the user writes them.
const char *spelling(DType dtype);
const char *spelling(Variable variable);
const char *spelling(Function function);

} // namespace fovea::sema
