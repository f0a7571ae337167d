// frontend/sema/Tensors.cpp - tensor types: reading one, and what q, k and v must agree on
#include "frontend/sema/Tensors.h"

#include "frontend/fmt/Format.h"
#include "frontend/sema/Words.h"

#include "llvm/ADT/StringExtras.h"

namespace fovea::sema {

using llvm::Twine;
using Kind = ast::Expr::Kind;

static constexpr llvm::StringRef dtypes[] = {"bf16", "f16", "e4m3", "mxfp8"};
static constexpr int64_t largestSize = 1 << 20;

std::optional<int64_t> wholeNumber(const ast::Expr &e) {
  if (e.is(Kind::Operator) && e.op == ast::Op::Neg) {
    auto value = wholeNumber(e.args[0]);
    return value ? std::optional(-*value) : std::nullopt;
  }
  int64_t value;
  if (!e.is(Kind::Int) || llvm::StringRef(e.text).getAsInteger(10, value))
    return std::nullopt;
  return value;
}

namespace {

class TensorReader {
public:
  explicit TensorReader(Diagnostics &diagnostics) : diagnostics(diagnostics) {}

  std::optional<Tensor> read(const ast::Field &field) {
    const ast::Expr &type = field.values.front();
    bool good = readType(type);
    if (field.values.size() > 1)
      good = fail(field.values[1].range, "a tensor has one type; found a second after ','");
    if (field.origin)
      good &= readOrigin(*field.origin);
    return good ? std::optional(tensor) : std::nullopt;
  }

private:
  bool fail(Range range, const Twine &message) {
    diagnostics.error(range, message);
    return false;
  }

  bool readType(const ast::Expr &type) {
    if (!type.is(Kind::Index))
      return fail(type.range, "expected a tensor type such as 'bf16 [batch, seq, 8 heads, 128]', found '" +
                                  format(type) + "'");
    tensor.dtypeRange = type.head;
    bool good = true;
    auto *dtype = llvm::find(dtypes, type.text);
    if (dtype == std::end(dtypes))
      good = fail(type.head, "unknown element type '" + type.text + "'" + suggest(type.text, dtypes));
    else
      tensor.dtype = DType(dtype - std::begin(dtypes));
    size_t next = 0;
    good &= readRows(type, next);
    if (next == 0)
      return false;
    if (type.args.size() != next + 2)
      return fail(type.range, "expected rows, then '4 heads' (or 'heads'), then the head dim, found " +
                                  Twine(type.args.size()) + " dims in '" + format(type) + "'");
    good &= readHeads(type.args[next]);
    good &= readHeadDim(type.args[next + 1]);
    return good;
  }

  /// `next` becomes the number of dims that the rows take, 0 when they cannot be told.
  bool readRows(const ast::Expr &type, size_t &next) {
    const ast::Expr &first = type.args.front();
    tensor.rows.range = first.range;
    if (first.isName("batch")) {
      next = 2;
      tensor.rows.kind = Rows::Kind::Dense;
      if (type.args.size() < 2 || !type.args[1].is(Kind::Name) || type.args[1].text == "heads")
        return fail(first.range, "expected the name of the length behind 'batch', as in 'batch, seq'");
      tensor.rows.name = type.args[1].text;
      tensor.rows.range.end = type.args[1].range.end;
      return checkRowsName(type.args[1].range);
    }
    if (first.is(Kind::Phrase) && first.args[0].isName("jagged")) {
      next = 1;
      tensor.rows.kind = Rows::Kind::Jagged;
      if (!first.args[1].is(Kind::Name))
        return fail(first.args[1].range, "expected the name of the offsets behind 'jagged', found '" +
                                             first.args[1].text + "'");
      tensor.rows.name = first.args[1].text;
      return checkRowsName(first.args[1].range);
    }
    if (first.is(Kind::Phrase) && first.args[0].isName("broadcast")) {
      next = 1;
      tensor.rows.kind = Rows::Kind::Broadcast;
      auto count = wholeNumber(first.args[1]);
      if (!count || *count < 1 || *count > largestSize)
        return fail(first.args[1].range, "expected the number of shared rows behind 'broadcast', from 1 to " +
                                             Twine(largestSize) + ", found '" + first.args[1].text + "'");
      tensor.rows.count = *count;
      return true;
    }
    std::string word = first.is(Kind::Phrase) ? first.args[0].text : format(first);
    return fail(first.range, "expected the rows, 'batch, seq', 'jagged OFFSETS' or 'broadcast N', found '" +
                                 format(first) + "'" + suggest(word, {"batch", "jagged", "broadcast"}));
  }

  bool checkRowsName(Range range) {
    llvm::StringRef name = tensor.rows.name;
    name.consume_back("_scale"); // the scales of a microscaled tensor
    if (!isTensorOfLaunch(name))
      return true;
    return fail(range, "'" + tensor.rows.name + "' names a tensor of the attention already; choose another name");
  }

  bool readHeads(const ast::Expr &e) {
    tensor.headsRange = e.range;
    if (e.isName("heads"))
      return true;
    if (!e.is(Kind::Phrase) || !e.args[1].isName("heads"))
      return fail(e.range, "expected the heads, as in '4 heads' or 'heads' (known at launch), found '" + format(e) +
                               "'");
    auto count = wholeNumber(e.args[0]);
    if (!count || *count < 1 || *count > largestSize)
      return fail(e.range, "expected a number of heads from 1 to " + Twine(largestSize) + ", found '" +
                               e.args[0].text + "'");
    tensor.heads = *count;
    return true;
  }

  bool readHeadDim(const ast::Expr &e) {
    tensor.headDimRange = e.range;
    auto size = wholeNumber(e);
    if (!size)
      return fail(e.range, "expected the head dim as a number, since a kernel is compiled for it, found '" +
                               format(e) + "'");
    if (*size < 1 || *size > largestSize)
      return fail(e.range, "expected a head dim from 1 to " + Twine(largestSize) + ", found " + format(e));
    if (tensor.dtype == DType::MXFP8 && *size % 32)
      return fail(e.range, "mxfp8 shares a scale among 32 features, so its head dim is a multiple of 32; found " +
                               format(e));
    tensor.headDim = *size;
    return true;
  }

  bool readOrigin(const ast::Expr &e) {
    static constexpr llvm::StringRef usage =
        "'rotary(TABLE, interleaved)' or 'rotary(TABLE, halves)', then 'on_load' if the kernel shall rotate, "
        "'by_position' if the table has a row per position and 'f32' if it is not bf16";
    if (!e.is(Kind::Call) || e.text != "rotary")
      return fail(e.range, "expected " + usage + ", found '" + format(e) + "'" +
                               (e.is(Kind::Call) ? suggest(e.text, {"rotary"}) : ""));
    if (e.args.size() < 2 || !e.args[0].is(Kind::Name))
      return fail(e.range, "expected " + usage + ", found '" + format(e) + "'");
    Rotary rotary;
    rotary.range = e.range;
    rotary.table = e.args[0].text;
    if (e.args[1].isName("halves"))
      rotary.interleaved = false;
    else if (!e.args[1].isName("interleaved"))
      return fail(e.args[1].range, "expected 'interleaved' (pairs 2m, 2m+1) or 'halves' (pairs m, m+D/2), found '" +
                                       format(e.args[1]) + "'" +
                                       suggest(format(e.args[1]), {"interleaved", "halves"}));
    for (const ast::Expr &arg : llvm::drop_begin(e.args, 2)) {
      bool *flag = arg.isName("on_load")       ? &rotary.onLoad
                   : arg.isName("by_position") ? &rotary.byPosition
                   : arg.isName("f32")         ? &rotary.wide
                                               : nullptr;
      if (!flag || *flag)
        return fail(arg.range, "expected 'on_load', 'by_position' or 'f32', each once, found '" + format(arg) + "'");
      *flag = true;
    }
    if (tensor.headDim % 2)
      return fail(e.range, "rotary turns pairs of features, so the head dim is even; found " + Twine(tensor.headDim));
    tensor.rotary = rotary;
    return true;
  }

  Diagnostics &diagnostics;
  Tensor tensor;
};

/// One table turns tensors of one shape.
void checkRotary(llvm::ArrayRef<const Tensor *> tensors, Diagnostics &diagnostics) {
  for (size_t n = 0; n < tensors.size(); ++n)
    for (size_t m = 0; m < n; ++m) {
      const Tensor *a = tensors[m], *b = tensors[n];
      if (!a || !b || !a->rotary || !b->rotary || a->rotary->table != b->rotary->table)
        continue;
      bool sameRows = a->rotary->byPosition || a->rows.sameAs(b->rows);
      bool sameType = a->rotary->wide == b->rotary->wide;
      if (a->rotary->byPosition == b->rotary->byPosition && sameRows && sameType && a->headDim == b->headDim)
        continue;
      diagnostics.error(b->rotary->range, "the table '" + b->rotary->table +
                                              "' has one row of one length and type per token or per position; these "
                                              "tensors differ in that, so give each its own table");
      diagnostics.note(a->rotary->range, "it is used first here");
      break;
    }
}

std::string headsText(const Tensor &t) { return t.heads ? std::to_string(*t.heads) + " heads" : "heads known at launch"; }

} // namespace

std::optional<Tensor> analyzeTensor(const ast::Field &field, Diagnostics &diagnostics) {
  return TensorReader(diagnostics).read(field);
}

void checkTensors(const Tensor *q, const Tensor *k, const Tensor *v, Diagnostics &diagnostics) {
  auto other = [&](const Tensor &t, Range range, const char *name) {
    diagnostics.note(range.begin.line ? range : t.name, Twine("'") + name + "' is declared here");
  };
  auto sameType = [&](const Tensor *a, const Tensor *b, const char *bName) {
    if (!a || !b || a->dtype == b->dtype)
      return;
    diagnostics.error(a->dtypeRange, Twine("a product takes operands of one element type, found ") +
                                         spelling(a->dtype) + " here and " + spelling(b->dtype) + " for '" + bName +
                                         "'");
    other(*b, b->dtypeRange, bName);
  };
  sameType(k, q, "q");
  sameType(v, k, "k");
  if (q && k && q->headDim != k->headDim) {
    diagnostics.error(k->headDimRange, "a score is the product of a row of q and a row of k, so they have one head "
                                       "dim; found " + Twine(k->headDim) + " here and " + Twine(q->headDim) +
                                           " for 'q'");
    other(*q, q->headDimRange, "q");
  }
  if (k && v && !k->rows.sameAs(v->rows)) {
    diagnostics.error(v->rows.range, "each row of v belongs to a row of k, so they have the same rows; declare them "
                                     "in one line, or give both the same dims");
    other(*k, k->rows.range, "k");
  }
  if (k && v && k->heads != v->heads) {
    diagnostics.error(v->headsRange, "k and v have the same heads; found " + headsText(*v) + " here and " +
                                         headsText(*k) + " for 'k'");
    other(*k, k->headsRange, "k");
  }
  if (q && k && q->heads.has_value() != k->heads.has_value()) {
    diagnostics.error(k->headsRange, "the heads of q and k are both given or both known at launch; found " +
                                         headsText(*k) + " here and " + headsText(*q) + " for 'q'");
    other(*q, q->headsRange, "q");
  } else if (q && k && q->heads && *q->heads % *k->heads) {
    diagnostics.error(k->headsRange, "the heads of k divide those of q, since each serves a group of them; " +
                                         Twine(*k->heads) + " does not divide " + Twine(*q->heads));
    other(*q, q->headsRange, "q");
  }
  checkRotary({q, k, v}, diagnostics);
  if (q && k && q->rows.kind == Rows::Kind::Broadcast && k->rows.kind == Rows::Kind::Broadcast) {
    diagnostics.error(k->rows.range, "q and k are both shared by all sequences, so nothing says how many there are; "
                                     "make one of them 'batch, seq' or 'jagged OFFSETS'");
    other(*q, q->rows.range, "q");
  }
}

} // namespace fovea::sema
