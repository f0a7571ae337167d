// frontend/sema/Tables.cpp - tables are declared by their use: `doc[i]`, `gate`, `picks`
#include "frontend/fmt/Format.h"
#include "frontend/sema/Expressions.h"
#include "frontend/sema/Words.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace fovea::sema {

Axis Expressions::axisOf(const Expr &index) const {
  if (index.kind != Expr::Kind::Variable)
    return Axis::Free;
  switch (index.variable) {
  case Variable::I: return Axis::Queries;
  case Variable::J: return Axis::Keys;
  case Variable::H: return Axis::Heads;
  case Variable::D: return Axis::Features;
  case Variable::B: return Axis::Sequences;
  default: return Axis::Free;
  }
}

bool Expressions::sameAxis(Axis a, Axis b) const {
  auto isRow = [](Axis axis) { return axis == Axis::Queries || axis == Axis::Keys; };
  return a == b || (isRow(a) && isRow(b) && spec.q.rows.sameAs(spec.k.rows));
}

std::optional<unsigned> Expressions::table(Table wanted) {
  // `q` and `q_scale` of a microscaled spec, `o` and `lse` are tensors of their own.
  bool scaled = spec.q.dtype == DType::MXFP8;
  llvm::StringRef base = wanted.name;
  if (scaled)
    base.consume_back("_scale");
  if (isTensorOfLaunch(base))
    return fail(wanted.range, "'" + wanted.name + "' names a tensor of the attention already; choose another name");
  for (const Tensor *t : {&spec.q, &spec.k, &spec.v})
    if (t->rows.kind != Rows::Kind::Broadcast && t->rows.name == wanted.name)
      return fail(wanted.range, "'" + wanted.name + "' names the rows of q, k or v already; choose another name");
  auto found = llvm::find_if(spec.tables, [&](const Table &t) { return t.name == wanted.name; });
  if (found == spec.tables.end()) {
    spec.tables.push_back(wanted);
    return spec.tables.size() - 1;
  }
  auto describe = [](const Table &t) -> std::string {
    switch (t.kind) {
    case Table::Kind::Lookup: return t.integer ? "a table of integers, since it is compared or an index"
                                               : "a table of numbers to compute with";
    case Table::Kind::Elements: return "a tensor of the shape of o";
    case Table::Kind::BlockList: return "a list of key blocks";
    case Table::Kind::Rotary: return "a rotary table";
    }
    return "";
  };
  bool sameAxes = found->axes.size() == wanted.axes.size();
  for (size_t n = 0; sameAxes && n < wanted.axes.size(); ++n)
    sameAxes = sameAxis(found->axes[n], wanted.axes[n]);
  if (found->kind == wanted.kind && found->integer == wanted.integer && found->block == wanted.block && sameAxes)
    return found - spec.tables.begin();
  if (found->kind == wanted.kind && found->integer == wanted.integer)
    diagnostics.error(wanted.range, "'" + wanted.name + "' is indexed by other rows, heads or positions than where it "
                                                        "is used first; make it two tables");
  else
    diagnostics.error(wanted.range, "'" + wanted.name + "' is " + describe(wanted) + " here, and was " +
                                        describe(*found) + "; make it two tables");
  diagnostics.note(found->range, "it is used first here");
  return std::nullopt;
}

static bool isVariable(llvm::StringRef name) {
  return llvm::any_of(std::array{Variable::S, Variable::I, Variable::J, Variable::H, Variable::B, Variable::Scale},
                      [&](Variable v) { return name == spelling(v); });
}

std::optional<unsigned> Expressions::sink(const ast::Expr &softmax) {
  scope = Scope::Weight;
  const char *usage = "softmax(SINK), where SINK is the name of a table of one f32 per query head";
  if (softmax.args.size() != 1)
    return fail(softmax.range, llvm::Twine("expected ") + usage + ", found " + llvm::Twine(softmax.args.size()) +
                                   " arguments; without a sink write 'softmax'");
  const ast::Expr &e = softmax.args[0];
  if (e.is(ast::Expr::Kind::Index))
    return fail(e.range, llvm::Twine("expected ") + usage + "; it is not indexed, write 'softmax(" + e.text + ")'");
  if (!e.is(ast::Expr::Kind::Name))
    return fail(e.range, llvm::Twine("expected ") + usage + ", found '" + format(e) + "'");
  if (isVariable(e.text) || llvm::is_contained({"head_dim", "heads", "kv_heads"}, llvm::StringRef(e.text)))
    return fail(e.range, "'" + e.text + "' is no table; choose another name for one");
  Table wanted;
  wanted.name = e.text;
  wanted.axes = {Axis::Heads};
  wanted.range = e.range;
  return table(wanted);
}

std::optional<Expr> Expressions::lookup(const ast::Expr &e, bool integer) {
  if (scope == Scope::Scale)
    return fail(e.range, "a scale is a number that is known when the kernel is compiled; found the table '" + e.text +
                             "'");
  if (isVariable(e.text))
    return fail(e.head, "'" + e.text + "' is no table; choose another name for one");
  Table wanted;
  wanted.name = e.text;
  wanted.integer = integer;
  wanted.range = e.range;
  Expr result;
  result.kind = Expr::Kind::Lookup;
  result.type = integer ? Type::Int : Type::Real;
  result.range = e.range;
  bool good = true;
  for (const ast::Expr &arg : e.args) {
    auto index = analyze(arg, /*integer=*/true);
    if (index && index->type != Type::Int)
      index = fail(index->range, "expected an integer as index of '" + e.text + "', such as i, j, h or i - j");
    if (!index) {
      good = false;
      continue;
    }
    wanted.axes.push_back(axisOf(*index));
    result.args.push_back(std::move(*index));
  }
  if (!good)
    return std::nullopt;
  auto index = table(wanted);
  if (!index)
    return std::nullopt;
  result.table = *index;
  return result;
}

} // namespace fovea::sema
