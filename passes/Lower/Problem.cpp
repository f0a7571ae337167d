// passes/Lower/Problem.cpp - reads a problem off an attn.spec.
#include "passes/Lower/Problem.h"
#include "dialect/Attn/Analysis.h"

using namespace mlir;
using namespace fovea;

// Fills p.rotary{Q,K,V} and counts the tables; text if one is not as expected.
static std::string readRotations(attn::SpecOp spec, Problem &p, size_t &tables) {
  llvm::SmallPtrSet<Value, 3> seen;
  for (auto [name, slot] : {std::pair(p.q, &p.rotaryQ), {p.k, &p.rotaryK}, {p.v, &p.rotaryV}}) {
    Value input = spec.getInput(name);
    if (!input)
      continue;
    for (Operation *user : input.getUsers()) {
      auto rotary = dyn_cast<attn::RotaryOp>(user);
      if (!rotary || rotary.getX() != input)
        continue;
      auto argument = dyn_cast<BlockArgument>(rotary.getTable());
      auto type = cast<attn::AttnTensorType>(rotary.getTable().getType());
      if (!argument || rotary.getTranspose())
        return "expected rotary embeddings of inputs by tables that are inputs";
      if (!type.getElementType().isBF16() && !type.getElementType().isF32())
        return "expected a rotary table of bf16 or f32";
      Rotation r;
      r.table = spec.getInputName(argument.getArgNumber()).str();
      r.tableElement = type.getElementType();
      r.cols = cast<attn::AttnTensorType>(rotary.getX().getType()).getFeatures();
      r.interleaved = rotary.getStyle() == attn::RotaryStyle::Interleaved;
      r.onLoad = !rotary.getApplied();
      r.byPosition = !type.getRows();
      *slot = r;
      if (seen.insert(argument).second)
        ++tables;
    }
  }
  return "";
}

// Fills p.list and p.listHeads; text if the list is not as expected.
static std::string readList(attn::SpecOp spec, Problem &p) {
  if (!p.range.blocks)
    return "";
  auto argument = dyn_cast<BlockArgument>(p.range.blocks->list);
  auto type = cast<attn::AttnTensorType>(p.range.blocks->list.getType());
  if (!argument || !type.getElementType().isInteger(32))
    return "expected a list of key blocks that is an input of i32";
  for (int64_t size : {p.range.blocks->queryBlock, p.range.blocks->keyBlock})
    if (size % 64)
      return ("expected blocks of a list to have a multiple of 64 rows, found " + llvm::Twine(size)).str();
  p.list = spec.getInputName(argument.getArgNumber()).str();
  p.listHeads = type.getHeads();
  for (Operation *user : argument.getUsers())
    if (!isa<attn::BlocksOp>(user))
      return "expected the list '" + p.list + "' to be used as a list alone";
  return "";
}

// Fills p.tableGradients; text if one is not as expected.
static std::string readTableGradients(attn::SpecOp spec, Problem &p) {
  if (!spec.getEmit() || !spec.getEmit()->getTables())
    return "";
  for (StringRef table : spec.getEmit()->getTables().getAsValueRange<StringAttr>()) {
    TableGradient gradient{table.str(), {}};
    for (const std::string &tensor : {p.q, p.k, p.v})
      if (const Rotation *r = p.rotationOf(tensor); r && r->table == table) {
        if (!r->onLoad)
          return ("expected the kernel to turn '" + tensor + "' on load, for a gradient of the table '" + table + "'").str();
        gradient.tensors.push_back(tensor);
      }
    if (gradient.tensors.empty())
      return ("expected a rotary table, for a gradient of '" + table + "'").str();
    p.tableGradients.push_back(gradient);
  }
  return "";
}

static RowSpace rowSpace(attn::RowsAttr rows) {
  RowSpace space;
  space.kind = rows.getKind() == attn::RowsKind::Jagged  ? RowSpace::Kind::Jagged
               : rows.getKind() == attn::RowsKind::Dense ? RowSpace::Kind::Dense
                                                         : RowSpace::Kind::Shared;
  space.name = rows.getName() ? rows.getName().getValue().str() : "";
  space.count = rows.getCount();
  return space;
}

// Fills p.epilogue and p.elements.
static llvm::Error readEpilogue(attn::SpecOp spec, Problem &p) {
  Value o = spec.getResultNamed("o");
  auto map = o ? o.getDefiningOp<attn::MapElementsOp>() : attn::MapElementsOp();
  if (!map)
    return llvm::Error::success();
  p.epilogue = map;
  for (Value operand : map.getInputs()) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (argument)
      p.elements.push_back(spec.getInputName(argument.getArgNumber()).str());
    else if (!operand.getDefiningOp<attn::CombineOp>())
      return llvm::createStringError("attn.spec @" + p.name + ": expected an epilogue of o and of tensors like it");
  }
  return llvm::Error::success();
}

// Whether an epilogue looks an input up.
static bool isLookedUp(attn::SpecOp spec, StringRef input) {
  bool found = false;
  spec.walk([&](attn::LookupOp lookup) {
    found |= isa<attn::MapElementsOp>(lookup->getParentOp()) && lookup.getTable() == spec.getInput(input);
  });
  return found;
}

// The front end's table of capabilities refuses these with line and column; a spec that comes as IR is refused here.
llvm::Expected<Problem> fovea::readProblem(attn::SpecOp spec) {
  auto fail = [&](const llvm::Twine &what) {
    return llvm::createStringError(("attn.spec @" + spec.getSymName() + ": " + what).str());
  };
  Problem p;
  p.name = spec.getSymName().str();
  attn::DotsOp dots = attn::scoreDots(spec);
  if (!dots)
    return fail("expected scores of queries and keys");
  if (!attn::usesSoftmax(spec))
    return fail("expected softmax, the weight with a lowering");
  std::optional<double> scale = attn::scoreScale(spec);
  if (!scale || *scale <= 0) {
    for (Operation *user : dots.getResult().getUsers())
      p.score = dyn_cast<attn::MapPairsOp>(user);
    if (!p.score || p.score.getNumOperands() != 1)
      return fail("expected one expression over the scores");
    scale = 0;
  }
  p.scale = *scale;
  for (Operation &op : spec.getBody().front())
    if (auto softmax = dyn_cast<attn::SoftmaxOp>(op); softmax && softmax.getSink()) {
      auto argument = dyn_cast<BlockArgument>(softmax.getSink());
      if (!argument)
        return fail("expected a sink that is an input");
      p.sink = spec.getInputName(argument.getArgNumber()).str();
      p.spec = spec;
    }

  auto input = [&](StringRef name) -> std::optional<attn::Input> {
    for (const attn::Input &i : attn::inputs(spec))
      if (i.name == name)
        return i;
    return std::nullopt;
  };
  auto q = input(p.q), k = input(p.k), v = input(p.v);
  size_t tables = 0;
  auto rotations = readRotations(spec, p, tables);
  if (!q || !k || !v)
    return fail("expected the inputs q, k and v");
  if (!rotations.empty())
    return fail(rotations);
  if (std::string refused = readTableGradients(spec, p); !refused.empty())
    return fail(refused);
  for (auto &t : {*q, *k, *v})
    if (!t.rows || t.type.getElementType() != q->type.getElementType())
      return fail("expected q, k and v with rows and one element type");
  if (k->rows != v->rows || k->heads != v->heads)
    return fail("expected k and v with the same rows and heads");
  p.queries = rowSpace(q->rows), p.keys = rowSpace(k->rows);
  p.offsets = p.queries.kind == RowSpace::Kind::Jagged ? p.queries.name : p.keys.name;
  p.heads = ShapedType::isDynamic(q->heads) ? 0 : q->heads;
  p.keyHeads = ShapedType::isDynamic(k->heads) ? 0 : k->heads;
  p.headDim = q->features, p.valueDim = v->features;
  p.element = q->type.getElementType();
  // A block that a tile holds whole needs no loop.
  std::optional<int64_t> block = attn::blockDiagonalSize(spec);
  bool whole = block && *block <= 128 && llvm::isPowerOf2_64(*block) && *block >= 16 && p.queries == p.keys &&
               p.queries.kind == RowSpace::Kind::Jagged && p.heads == p.keyHeads;
  if (whole) {
    p.block = *block;
  } else {
    llvm::Expected<KeyRange> range = analyseMask(attn::mask(spec));
    if (!range)
      return range.takeError();
    p.range = *range;
    if (std::string refused = readList(spec, p); !refused.empty())
      return fail(refused);
    if (p.score || !p.range.isInterval())
      p.spec = spec;
    if (tables)
      return fail("expected tensors without a rotary embedding, where items loop over key blocks");
  }
  if (llvm::Error error = readEpilogue(spec, p))
    return std::move(error);
  size_t lookUps = 0;
  for (const attn::Input &i : attn::inputs(spec))
    lookUps += isLookedUp(spec, i.name);
  const bool onlySink = !p.sink.empty() && !isLookedUp(spec, p.sink);
  if (p.block && (p.score || attn::inputs(spec).size() != 3 + tables + p.elements.size() + lookUps + onlySink))
    return fail("expected scores c * (q . k) with c > 0 and the inputs q, k and v, rotary tables, a sink and an epilogue's, "
                "where a tile holds its keys");
  if (p.block && lookUps)
    p.spec = spec;
  if (!p.block && p.epilogue)
    return fail("expected o without an epilogue, where items loop over key blocks");
  p.lse = spec.getEmit() && spec.getEmit()->getLse();
  p.backward = spec.getEmit() && spec.getEmit()->getBackward();
  if (p.backward && spec.getEmit()->getPacked())
    p.packed = spec.getEmit()->getPacked().getValue().str();
  return p;
}

// The expression behind `value` on tensors like o; null, and an error, where something else made it.
static llvm::Expected<attn::MapElementsOp> expressionOf(Value value, const llvm::Twine &what) {
  if (auto map = value.getDefiningOp<attn::MapElementsOp>())
    return map;
  return llvm::createStringError(what + ": expected an expression of elements, the gradient with a lowering");
}

llvm::Error fovea::readBackward(attn::SpecOp backward, Problem &p) {
  const std::string prefix = "attn.spec @" + backward.getSymName().str() + ": ";
  int64_t dots = 0, softmax = 0, rowDots = 0, gradients = 0, combines = 0, combineQueries = 0, packs = 0, others = 0;
  bool rotariesFit = true;
  EpilogueGradient &g = p.epilogueGradient;
  g.spec = backward;
  Value dO;
  for (Operation &op : backward.getBody().front()) {
    if (isa<attn::DotsOp>(op))
      ++dots;
    else if (isa<attn::SoftmaxOp>(op))
      ++softmax;
    else if (isa<attn::RowDotOp>(op))
      ++rowDots;
    else if (isa<attn::SoftmaxGradOp>(op))
      ++gradients;
    else if (auto combine = dyn_cast<attn::CombineOp>(op)) {
      if (combine.getPairs().getDefiningOp<attn::SoftmaxOp>())
        g.o = combine; // for an epilogue's gradient
      else
        ++combines;
    } else if (auto combine = dyn_cast<attn::CombineQueriesOp>(op)) {
      ++combineQueries;
      if (combine.getPairs().getDefiningOp<attn::SoftmaxOp>())
        dO = combine.getX();
    } else if (isa<attn::PackOp>(op))
      ++packs;
    else if (auto rotary = dyn_cast<attn::RotaryOp>(op)) {
      // In front of the products, or transposed behind the sums.
      Operation *source = rotary.getX().getDefiningOp();
      rotariesFit &= rotary.getTranspose() ? isa_and_nonnull<attn::CombineOp, attn::CombineQueriesOp>(source) : !source;
    } else if (auto table = dyn_cast<attn::RotaryTableGradOp>(op)) {
      rotariesFit &= isa<BlockArgument>(table.getX()) &&
                     isa_and_nonnull<attn::CombineOp, attn::CombineQueriesOp>(table.getGradient().getDefiningOp());
    } else if (auto sum = dyn_cast<attn::AddOp>(op)) { // of one table's tensors
      for (Value part : sum->getOperands())
        others += !isa_and_nonnull<attn::RotaryTableGradOp, attn::AddOp>(part.getDefiningOp());
    } else if (!isa<attn::PatternOp, attn::MapPairsOp, attn::MapElementsOp, attn::YieldOp>(op))
      ++others;
  }
  bool expected = dots == 2 && softmax == 1 && rowDots == 1 && gradients == 1 && combines == 1 && combineQueries == 2;
  if (!expected || others || packs > 1 || !rotariesFit || !dO)
    return llvm::createStringError(prefix + "expected the gradient of softmax(c q.k) v, behind rotary embeddings and "
                                            "before an expression of elements at most, the one with a lowering");

  Value dout = backward.getInput("dout");
  auto read = [&](Value value, const llvm::Twine &what, attn::MapElementsOp &into) -> llvm::Error {
    if (value == dout)
      return llvm::Error::success();
    llvm::Expected<attn::MapElementsOp> map = expressionOf(value, prefix + what);
    if (!map)
      return map.takeError();
    into = *map;
    return llvm::Error::success();
  };
  if (llvm::Error error = read(dO, "the gradient of o", g.dO))
    return error;
  auto yield = cast<attn::YieldOp>(backward.getBody().front().getTerminator());
  for (auto [attr, value] : llvm::zip(yield.getResultNames(), yield.getValues())) {
    StringRef name = cast<StringAttr>(attr).getValue();
    if (llvm::any_of(p.tableGradients, [&](const TableGradient &g) { return name == "d" + g.table; }))
      continue;
    if (name == p.packed || name == "d" + p.q || name == "d" + p.k || name == "d" + p.v)
      continue;
    g.outputs.push_back({name.drop_front().str(), {}});
    if (llvm::Error error = read(value, name, g.outputs.back().value))
      return error;
  }
  // Rounding a gradient once more (attn-derive-backward) is a map of a map, so operands are sought behind maps, too.
  llvm::SmallVector<Value> work;
  auto visit = [&](attn::MapElementsOp map) {
    if (map)
      llvm::append_range(work, map.getInputs());
  };
  visit(g.dO);
  for (const EpilogueGradient::Output &output : g.outputs)
    visit(output.value);
  bool readsO = false;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (value == dout)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      std::string name = backward.getInputName(argument.getArgNumber()).str();
      if (!llvm::is_contained(g.inputs, name))
        g.inputs.push_back(name);
    } else if (auto map = value.getDefiningOp<attn::MapElementsOp>()) {
      visit(map);
    } else if (g.o && value == g.o.getResult()) {
      readsO = true;
    } else {
      return llvm::createStringError(prefix + "expected an epilogue's gradient of elements and o alone");
    }
  }
  llvm::sort(g.inputs);
  if (!readsO)
    g.o = {};
  return llvm::Error::success();
}
