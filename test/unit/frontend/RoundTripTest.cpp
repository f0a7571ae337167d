// test/unit/frontend/RoundTripTest.cpp - is parse(format(x)) == x?
#include "frontend/ast/Parse.h"
#include "frontend/fmt/Format.h"

#include "Examples.h"

#include <gtest/gtest.h>

#include <random>

using namespace fovea;

namespace {

/// Formats, parses, compares; and formats again.
void expectRoundTrip(const ast::Spec &spec) {
  std::string text = format(spec);
  Diagnostics diagnostics;
  auto again = ast::parse(text, diagnostics);
  ASSERT_TRUE(again && !diagnostics.hasErrors()) << diagnostics.render(text, "formatted") << text;
  EXPECT_TRUE(*again == spec) << text << ast::dump(spec) << ast::dump(*again);
  EXPECT_EQ(format(*again), text);
}

TEST(RoundTrip, Examples) {
  auto texts = examples();
  EXPECT_EQ(texts.size(), 10u);
  for (const auto &[name, text] : texts) {
    Diagnostics diagnostics;
    auto spec = ast::parse(text, diagnostics);
    ASSERT_TRUE(spec) << name;
    expectRoundTrip(*spec);
  }
}

/// Random trees: every operator under every other, to both sides.
class Trees {
public:
  explicit Trees(unsigned seed) : random(seed) {}

  ast::Expr expr(int depth) {
    ast::Expr e;
    switch (depth == 0 ? pick(3) : pick(8)) {
    case 0: e.kind = ast::Expr::Kind::Int; e.text = std::to_string(pick(100)); break;
    case 1: e.kind = ast::Expr::Kind::Float; e.text = "0.5e-3"; break;
    case 2: e.kind = ast::Expr::Kind::Name; e.text = "causal"; break;
    case 3: e.kind = ast::Expr::Kind::Call; e.text = "f"; e.args = list(depth, pick(3)); break;
    case 4: e.kind = ast::Expr::Kind::Index; e.text = "t"; e.args = list(depth, 1 + pick(2)); break;
    default:
      e.kind = ast::Expr::Kind::Operator;
      e.op = ast::Op(pick(int(ast::Op::Or) + 1));
      e.args = {expr(depth - 1)};
      if (!ast::isUnary(e.op))
        e.args.push_back(expr(depth - 1));
    }
    return e;
  }

  ast::Spec spec() {
    ast::Spec spec;
    spec.attention.name.text = "x";
    spec.trailingComments = {"// behind"};
    for (int n = 0; n <= pick(3); ++n) {
      ast::Clause clause;
      if (pick(2)) {
        clause.field.names = {{"a", {}}, {"longer", {}}};
        clause.field.names.resize(1 + pick(2));
        clause.field.values = {expr(4), expr(1)};
        if (pick(2))
          clause.field.origin = expr(1);
      } else {
        clause.schedule.emplace();
        clause.schedule->target.text = "t";
        for (int m = 0; m < pick(6); ++m)
          clause.schedule->settings.push_back(setting());
      }
      if (pick(2))
        clause.comments.before = {"// one", "// two"};
      if (pick(2))
        clause.comments.behind = "// same line";
      spec.attention.clauses.push_back(clause);
    }
    return spec;
  }

private:
  int pick(int n) { return int(random() % unsigned(n)); }

  std::vector<ast::Expr> list(int depth, int count) {
    std::vector<ast::Expr> args;
    for (int n = 0; n < count; ++n)
      args.push_back(expr(depth - 1));
    return args;
  }

  ast::Setting setting() {
    ast::Setting s;
    s.key.text = "key";
    s.kind = ast::Setting::Kind(pick(3));
    s.values = list(2, s.kind == ast::Setting::Kind::Single ? 1 : 1 + pick(3));
    if (s.kind == ast::Setting::Kind::Map)
      s.roles.assign(s.values.size(), {"role", {}});
    return s;
  }

  std::mt19937 random;
};

TEST(RoundTrip, RandomTrees) {
  for (unsigned seed = 0; seed < 500 && !HasFailure(); ++seed)
    expectRoundTrip(Trees(seed).spec());
}

} // namespace
