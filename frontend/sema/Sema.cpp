// frontend/sema/Sema.cpp - the lines of a spec, one by one, and the defaults of those that are not there
#include "frontend/sema/Sema.h"

#include "frontend/fmt/Format.h"
#include "frontend/sema/Constants.h"
#include "frontend/sema/Expressions.h"
#include "frontend/sema/Schedules.h"
#include "frontend/sema/Tensors.h"
#include "frontend/sema/Words.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

namespace fovea::sema {
namespace {

using llvm::Twine;
using Kind = ast::Expr::Kind;

constexpr llvm::StringRef tensorNames[] = {"q", "k", "v"};
constexpr llvm::StringRef fieldNames[] = {"q", "k", "v", "pattern", "score", "scale", "weight", "epilogue", "emit"};

class Analyzer {
public:
  Analyzer(const ast::Spec &input, Diagnostics &diagnostics)
      : input(input), diagnostics(diagnostics), complete(!diagnostics.hasErrors()), expressions(spec, diagnostics) {}

  std::optional<Spec> run() {
    spec.name = input.attention.name.text;
    spec.range = input.attention.name.range;
    collect();
    readTensors();
    readExpressions();
    readEmit();
    readSchedules();
    return diagnostics.hasErrors() ? std::nullopt : std::optional(std::move(spec));
  }

private:
  //===-- lines -----------------------------------------------------------------------------------------------===//

  /// Sorts the fields by name; a name that is unknown or there twice is reported and left out.
  void collect() {
    for (const ast::Clause &clause : input.attention.clauses) {
      if (clause.schedule)
        continue;
      const ast::Field &field = clause.field;
      bool tensors = llvm::is_contained(tensorNames, llvm::StringRef(field.names.front().text));
      for (const ast::Name &name : field.names) {
        if (!llvm::is_contained(fieldNames, llvm::StringRef(name.text))) {
          bool type = field.values.front().is(Kind::Index) && field.values.front().args.size() > 1;
          diagnostics.error(name.range, "unknown name '" + name.text + "' of a line" + suggest(name.text, fieldNames));
          if (type)
            diagnostics.note(name.range, "only q, k and v are declared; a table is declared by its use, as in doc[i]");
        } else if (tensors != llvm::is_contained(tensorNames, llvm::StringRef(name.text))) {
          diagnostics.error(name.range, "'" + name.text + "' stands on a line of its own");
        } else if (auto [at, isNew] = fields.try_emplace(name.text, Line{&name, &field}); !isNew) {
          diagnostics.error(name.range, "'" + name.text + "' is given twice");
          diagnostics.note(at->second.name->range, "it is given first here");
        }
      }
      if (!tensors && field.origin)
        diagnostics.error(field.origin->range, "'= ...' says where a tensor comes from; '" + field.names.front().text +
                                                   "' is none");
    }
  }

  /// The value of a line that has one; null when there is no such line.
  const ast::Expr *single(llvm::StringRef name) {
    const ast::Field *field = line(name);
    if (!field)
      return nullptr;
    if (field->values.size() > 1)
      diagnostics.error(field->values[1].range, "'" + name + "' has one value; found a second after ','");
    return &field->values.front();
  }

  const ast::Field *line(llvm::StringRef name) {
    auto found = fields.find(name);
    return found == fields.end() ? nullptr : found->second.field;
  }

  //===-- tensors ---------------------------------------------------------------------------------------------===//

  void readTensors() {
    llvm::DenseMap<const ast::Field *, std::optional<Tensor>> read; // one message for `q, k, v : ...`
    std::array<const Tensor *, 3> good{};
    Tensor *into[] = {&spec.q, &spec.k, &spec.v};
    std::vector<llvm::StringRef> missing;
    for (auto [n, name] : llvm::enumerate(tensorNames)) {
      const ast::Field *field = line(name);
      if (!field) {
        missing.push_back(name);
        continue;
      }
      auto [at, isNew] = read.try_emplace(field);
      if (isNew)
        at->second = analyzeTensor(*field, diagnostics);
      if (!at->second)
        continue;
      *into[n] = *at->second;
      into[n]->name = fields.find(name)->second.name->range;
      good[n] = into[n];
    }
    if (complete && !missing.empty())
      diagnostics.error(spec.range, "expected a line for " + (missing.size() == 3 ? std::string("q, k and v") : oneOf(missing)) +
                                        ", such as 'q, k, v : bf16 [batch, seq, 8 heads, 128]'");
    checkTensors(good[0], good[1], good[2], diagnostics);
    for (const Tensor *t : good) {
      if (!t || !t->rotary)
        continue;
      Table table;
      table.kind = Table::Kind::Rotary;
      table.name = t->rotary->table;
      table.range = t->rotary->range;
      expressions.table(table);
    }
  }

  //===-- expressions -----------------------------------------------------------------------------------------===//

  static Expr variable(Variable v) {
    Expr e;
    e.kind = Expr::Kind::Variable;
    e.variable = v;
    return e;
  }

  void readExpressions() {
    spec.pattern.kind = Expr::Kind::Pattern;
    spec.pattern.type = Type::Bool;
    if (const ast::Expr *e = single("pattern")) {
      spec.patternRange = e->range;
      if (auto pattern = expressions.condition(*e))
        spec.pattern = *pattern;
    }
    spec.scale = 1 / std::sqrt(double(std::max<int64_t>(spec.q.headDim, 1)));
    if (const ast::Expr *e = single("scale"))
      readScale(*e);
    spec.score.kind = Expr::Kind::Operator;
    spec.score.op = ast::Op::Mul;
    spec.score.args = {variable(Variable::S), variable(Variable::Scale)};
    if (const ast::Expr *e = single("score")) {
      spec.scoreRange = e->range;
      if (auto score = expressions.number(*e, Scope::Score))
        spec.score = *score;
    }
    if (const ast::Expr *e = single("weight")) {
      spec.weightRange = e->range;
      if (e->is(Kind::Call) && e->text == "softmax")
        spec.sink = expressions.sink(*e);
      else if (!e->isName("softmax"))
        spec.weight = expressions.number(*e, Scope::Weight);
    }
    if (const ast::Expr *e = single("epilogue")) {
      spec.epilogueRange = e->range;
      if (!e->isName("o"))
        spec.epilogue = expressions.number(*e, Scope::Epilogue);
    }
  }

  void readScale(const ast::Expr &e) {
    spec.scaleRange = e.range;
    auto scale = expressions.number(e, Scope::Scale);
    auto value = scale ? constantValue(*scale) : std::nullopt;
    if (value && !std::isfinite(float(*value))) // kernels scale in f32
      diagnostics.error(e.range, "expected a finite scale, '" + format(e) + "' is " + (std::isnan(*value) ? "no number" : "infinite"));
    spec.scale = value.value_or(spec.scale);
  }

  //===-- emit ------------------------------------------------------------------------------------------------===//

  void readEmit() {
    const ast::Field *field = line("emit");
    if (!field)
      return;
    spec.emitRange = {field->values.front().range.begin, field->values.back().range.end};
    for (const ast::Expr &e : field->values) {
      bool forward = e.text == "forward", backward = e.text == "backward";
      if (!(e.is(Kind::Name) || e.is(Kind::Call)) || !(forward || backward)) {
        diagnostics.error(e.range, "expected 'forward' or 'backward' to emit, found '" + format(e) + "'" +
                                       (e.text.empty() ? "" : suggest(e.text, {"forward", "backward"})));
        continue;
      }
      Range &range = forward ? spec.emit.forwardRange : spec.emit.backwardRange;
      if (range.begin.line) {
        diagnostics.error(e.range, "'" + e.text + "' is given twice; put all that it shall do between its brackets");
        diagnostics.note(range, "it is given first here");
        continue;
      }
      range = e.range;
      spec.emit.backward |= backward;
      for (const ast::Expr &option : e.args)
        forward ? forwardOption(option) : backwardOption(option);
    }
    if (!spec.emit.forwardRange.begin.line && spec.emit.backwardRange.begin.line)
      diagnostics.error(spec.emit.backwardRange, "a backward uses what its forward leaves; write 'forward, backward'");
    if (spec.emit.lse && spec.weight)
      diagnostics.error(spec.emit.lseRange, "the lse is the log of softmax's sum, and this weight is no softmax; "
                                            "write 'forward' alone");
    if (spec.emit.backward && (spec.q.dtype == DType::E4M3 || spec.q.dtype == DType::MXFP8))
      diagnostics.error(spec.emit.backwardRange, Twine("the derivative by what was quantised to ") +
                                                     spelling(spec.q.dtype) + " is 0 almost everywhere; a backward "
                                                     "takes bf16 or f16 tensors");
    if (spec.emit.packed)
      checkPacked();
    if (spec.emit.backward)
      checkDependence();
  }

  // What does not depend on q, k and v has no gradients.
  void checkDependence() {
    if (spec.epilogue && !reads(*spec.epilogue, Variable::O))
      diagnostics.error(spec.epilogueRange, "this epilogue does not read o, so that q, k and v have no gradients; read o in it, "
                                            "or leave 'backward' out");
    for (auto [expression, range] : {std::pair(&spec.score, spec.scoreRange), {spec.weight ? &*spec.weight : nullptr, spec.weightRange}})
      if (expression && !reads(*expression, Variable::S))
        diagnostics.error(range, "this expression does not read s, so that q and k have no gradients; read s in it, or leave "
                                 "'backward' out");
  }
  static bool reads(const Expr &e, Variable v) {
    return (e.kind == Expr::Kind::Variable && e.variable == v) || llvm::any_of(e.args, [&](const Expr &arg) { return reads(arg, v); });
  }

  void forwardOption(const ast::Expr &e) {
    if (!e.isName("lse")) {
      diagnostics.error(e.range, "unknown option '" + format(e) + "' of forward" + suggest(format(e), {"lse"}));
      return;
    }
    spec.emit.lse = true;
    spec.emit.lseRange = e.range;
  }

  void backwardOption(const ast::Expr &e) {
    if (e.isName("deterministic")) {
      spec.emit.deterministic = true;
      spec.emit.deterministicRange = e.range;
    } else if (e.is(Kind::Phrase) && e.args[0].isName("packed") && e.args[1].is(Kind::Name)) {
      spec.emit.packed = e.args[1].text;
      spec.emit.packedRange = e.range;
    } else if (std::optional<unsigned> table = rotaryTableOf(e)) {
      tableGradient(e, *table);
    } else if (e.isName("dtable") && firstRotary()) {
      diagnostics.error(e.range, "the gradient of a rotary table is named after the table; write 'd" + firstRotary()->table + "'");
    } else {
      llvm::StringRef first = e.is(Kind::Phrase) ? e.args[0].text : e.text;
      diagnostics.error(e.range, "unknown option '" + format(e) + "' of backward" +
                                     (first == "packed" ? std::string("; 'packed' is followed by the name of the tensor, "
                                                                      "as in 'packed dz'")
                                                        : suggest(first, {"deterministic", "packed"})));
    }
  }

  std::array<std::pair<const char *, const Tensor *>, 3> tensors() const {
    return {{{"q", &spec.q}, {"k", &spec.k}, {"v", &spec.v}}};
  }
  const Rotary *firstRotary() const {
    for (auto [name, tensor] : tensors())
      if (tensor->rotary)
        return &*tensor->rotary;
    return nullptr;
  }

  // 'd' and the name of a rotary table.
  std::optional<unsigned> rotaryTableOf(const ast::Expr &e) const {
    for (auto [n, table] : llvm::enumerate(spec.tables))
      if (table.kind == Table::Kind::Rotary && e.is(Kind::Name) && e.text == "d" + table.name)
        return unsigned(n);
    return std::nullopt;
  }

  void tableGradient(const ast::Expr &e, unsigned index) {
    const Table &table = spec.tables[index];
    for (auto [name, tensor] : tensors())
      if (tensor->rotary && tensor->rotary->table == table.name && !tensor->rotary->onLoad) {
        diagnostics.error(e.range, "the gradient of '" + table.name + "' cannot be made: the caller has turned " + name +
                                       " by it, and what " + name + " was before is not here");
        diagnostics.note(tensor->rotary->range, "what works: let the kernel turn it, as in '= rotary(" + table.name +
                                                    ", on_load)', with its other words as they are");
        return;
      }
    if (llvm::is_contained(spec.emit.tables, index)) {
      diagnostics.error(e.range, "'" + e.text + "' is given twice");
      return;
    }
    bool taken = llvm::any_of(spec.tables, [&](const Table &t) { return t.name == e.text; });
    if (taken || isTensorOfLaunch(e.text) || e.text == spec.q.rows.name) {
      diagnostics.error(e.range, "'" + e.text + "', the gradient of '" + table.name + "', names another tensor already; "
                                 "choose another name for the table");
      return;
    }
    spec.emit.tables.push_back(index);
  }

  void checkPacked() {
    bool sameRows = spec.q.rows.sameAs(spec.k.rows) && spec.k.rows.sameAs(spec.v.rows);
    if (!sameRows)
      diagnostics.error(spec.emit.packedRange, "'packed' puts the gradients of one row of q, k and v beside each "
                                               "other, so the three have the same rows");
    else if (!spec.q.heads)
      diagnostics.error(spec.emit.packedRange, "'packed' needs the number of heads, which is known only at launch here");
    llvm::StringRef name = *spec.emit.packed;
    bool taken = llvm::any_of(spec.tables, [&](const Table &t) { return t.name == name; }) ||
                 llvm::any_of(spec.emit.tables, [&](unsigned t) { return "d" + spec.tables[t].name == name; });
    if (taken || isTensorOfLaunch(name) || name == spec.q.rows.name)
      diagnostics.error(spec.emit.packedRange, "'" + name + "' names another tensor already; choose another name");
  }

  //===-- schedules -------------------------------------------------------------------------------------------===//

  void readSchedules() {
    for (const ast::Clause &clause : input.attention.clauses) {
      if (!clause.schedule)
        continue;
      auto schedule = analyzeSchedule(*clause.schedule, diagnostics);
      if (!schedule)
        continue;
      auto same = [&](const ScheduleOverrides &s) { return s.target == schedule->target; };
      if (auto first = llvm::find_if(spec.schedules, same); first != spec.schedules.end()) {
        diagnostics.error(schedule->range, "the schedule of '" + schedule->target + "' is given twice");
        diagnostics.note(first->range, "it is given first here");
        continue;
      }
      spec.schedules.push_back(*schedule);
    }
  }

  struct Line {
    const ast::Name *name;
    const ast::Field *field;
  };
  const ast::Spec &input;
  Diagnostics &diagnostics;
  bool complete; ///< the parser has read every line
  Spec spec;
  Expressions expressions;
  llvm::StringMap<Line> fields;
};

} // namespace

std::optional<Spec> analyze(const ast::Spec &spec, Diagnostics &diagnostics) {
  return Analyzer(spec, diagnostics).run();
}

} // namespace fovea::sema
