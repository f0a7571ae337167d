// frontend/ast/AST.h - what a spec says, as plain values: no ANTLR, no meaning yet
//
// Every node knows where it stands in the file. Equality compares what was said and ignores where, so that
// `parse(format(x)) == parse(x)` can be asked. Parentheses are not kept: the tree says it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fovea::ast {

/// A place in the file, counted from 1; line 0 means nowhere.
struct Loc {
  unsigned line = 0, col = 0;
};

/// Half-open: `end` is the column behind the last character.
struct Range {
  Loc begin, end;
};

/// A name with the place where it stands.
struct Name {
  std::string text;
  Range range;
};

enum class Op { Neg, Not, Mul, Div, Mod, Add, Sub, Lt, Le, Gt, Ge, Eq, Ne, And, Or };

/// The operator as it is written in canonical form (`and` and `or` for And and Or).
const char *spelling(Op op);
inline bool isUnary(Op op) { return op == Op::Neg || op == Op::Not; }
inline bool isComparison(Op op) { return op >= Op::Lt && op <= Op::Ne; }

struct Expr {
  enum class Kind {
    Int,     ///< `64`: text
    Float,   ///< `0.5`: text
    Name,    ///< `causal`: text
    Phrase,  ///< `4 heads`, two words in brackets: args[0], args[1], each Int or Name
    Operator, ///< op with one or two args
    Call,    ///< `softcap(s, 50)`: text is the function
    Index,   ///< `doc[i]`, also `bf16 [batch, seq, 8 heads, 128]`: text is what is indexed
  };
  Kind kind = Kind::Name;
  Op op = Op::Neg;
  std::string text;
  std::vector<Expr> args;
  Range range;
  Range head; ///< of Call and Index: the name alone; of Operator: the operator

  bool is(Kind k) const { return kind == k; }
  bool isName(const char *name) const { return kind == Kind::Name && text == name; }
};

/// `q, k, v : bf16 [jagged offsets, 3 heads, 128] = rotary(sinu, interleaved)`
struct Field {
  std::vector<Name> names;
  std::vector<Expr> values;
  std::optional<Expr> origin;
};

/// `registers : { softmax : 192, load : 24 }`
struct Setting {
  enum class Kind { Single, List, Map };
  Name key;
  Kind kind = Kind::Single;
  std::vector<Expr> values;
  std::vector<Name> roles; ///< of a Map: one for each value
  Range valueRange;
};

/// `schedule sm_100a { roles : fused, tile_m : 64 }`
struct Schedule {
  Name target;
  std::vector<Setting> settings;
};

/// Comment lines that stand before a node, and the one behind it on its line; with their `//`.
struct Comments {
  std::vector<std::string> before;
  std::string behind;
};

/// Either a field or a schedule block.
struct Clause {
  Field field;
  std::optional<Schedule> schedule;
  Comments comments;
  Range range;
};

struct Attention {
  Name name;
  std::vector<Clause> clauses;
  Comments comments;
  std::vector<std::string> lastComments; ///< before the closing brace
  Range range;
};

/// A file holds one attention; `parse` refuses others. `trailing` are the comments behind it.
struct Spec {
  Attention attention;
  std::vector<std::string> trailingComments;
};

bool operator==(const Expr &a, const Expr &b);
bool operator==(const Clause &a, const Clause &b);
bool operator==(const Spec &a, const Spec &b);

/// The tree as indented text with line:column of every node (`--emit=ast`).
std::string dump(const Spec &spec);

} // namespace fovea::ast
