// frontend/import/Import.cpp - one attn.spec for one sema::Spec
#include "frontend/import/Import.h"

#include "dialect/Attn/Attn.h"
#include "dialect/Attn/Expressions.h"
#include "frontend/import/Inputs.h"
#include "frontend/import/Scalars.h"
#include "frontend/sema/Constants.h"

using namespace mlir;

namespace fovea {
namespace {

using ast::Op;
using sema::Variable;

class Importer {
public:
  Importer(const sema::Spec &spec, MLIRContext &context, StringRef filename)
      : spec(spec), filename(filename), builder(&context), types(spec, context) {}

  OwningOpRef<ModuleOp> run() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder, at(spec.range));
    builder.setInsertionPointToEnd(module->getBody());
    SmallVector<std::pair<StringRef, Type>> inputs(types.inputs.begin(), types.inputs.end());
    auto op = attn::SpecOp::create(builder, at(spec.range), spec.name, inputs);
    const sema::Emit &emit = spec.emit;
    StringAttr packed = emit.packed ? builder.getStringAttr(*emit.packed) : StringAttr();
    SmallVector<StringRef> tableGradients;
    for (unsigned table : emit.tables)
      tableGradients.push_back(spec.tables[table].name);
    ArrayAttr ofTables = tableGradients.empty() ? ArrayAttr() : builder.getStrArrayAttr(tableGradients);
    op.setEmitAttr(attn::EmitAttr::get(builder.getContext(), emit.lse, emit.backward, emit.deterministic, packed, ofTables));
    if (!spec.schedules.empty()) {
      op.setScheduleAttr(schedules());
      op->setLoc(FusedLoc::get(builder.getContext(), {at(spec.range)}, schedulePlaces()));
    }
    builder.setInsertionPointToEnd(&op.getBody().front());
    arguments = op.getBody().getArguments();
    tables = arguments.drop_front(types.firstTable);
    body(op);
    return module;
  }

private:
  Location at(sema::Range range) { return locationOf(builder.getContext(), filename, range); }
  /// The place of a line, or of the spec where the line is a default.
  Location line(sema::Range range) { return at(range.begin.line ? range : spec.range); }

  void body(attn::SpecOp op) {
    Value q = operand(op, "q", spec.q), k = operand(op, "k", spec.k), v = operand(op, "v", spec.v);
    Value s = attn::DotsOp::create(builder, at(spec.range), types.scores, q, k, mask(spec.pattern));
    bool isRaw = spec.score.kind == sema::Expr::Kind::Variable && spec.score.variable == Variable::S;
    if (!isRaw)
      s = mapPairs(line(spec.scoreRange), s, spec.score);
    Value p, lse;
    if (spec.weight) {
      p = mapPairs(at(spec.weightRange), s, *spec.weight);
    } else {
      auto softmax = attn::SoftmaxOp::create(builder, line(spec.weightRange), types.scores, types.lse, s,
                                                   spec.sink ? tables[*spec.sink] : Value());
      p = softmax.getP();
      lse = softmax.getLse();
    }
    if (spec.v.dtype == sema::DType::MXFP8) {
      auto type = attn::PairsType::get(builder.getContext(), types.scores.getQueries(), types.scores.getKeys(),
                                       types.scores.getHeads(), types.elementType(spec.v.dtype));
      p = attn::QuantizeOp::create(builder, at(spec.v.dtypeRange), type, p);
    }
    Type plain = spec.epilogue ? types.output.withElementType(builder.getF32Type()) : types.output;
    Value o = attn::CombineOp::create(builder, at(spec.range), plain, p, v);
    if (spec.epilogue)
      o = epilogue(o);
    SmallVector<StringRef> names{"o"};
    SmallVector<Value> values{o};
    if (spec.emit.lse) {
      names.push_back("lse");
      values.push_back(lse);
    }
    attn::YieldOp::create(builder, line(spec.emitRange), builder.getStrArrayAttr(names), values);
  }

  /// q, k or v as the products take it: dequantised and rotated where the spec says so.
  Value operand(attn::SpecOp op, StringRef name, const sema::Tensor &tensor) {
    Value value = op.getInput(name);
    auto type = cast<attn::AttnTensorType>(value.getType());
    if (tensor.dtype == sema::DType::MXFP8) {
      type = type.withElementType(builder.getF32Type());
      value = attn::DequantOp::create(builder, at(tensor.dtypeRange), type, value, op.getInput((name + "_scale").str()));
    }
    if (!tensor.rotary)
      return value;
    auto style = tensor.rotary->interleaved ? attn::RotaryStyle::Interleaved : attn::RotaryStyle::Halves;
    return attn::RotaryOp::create(builder, at(tensor.rotary->range), type, value, op.getInput(tensor.rotary->table),
                                  style, /*applied=*/!tensor.rotary->onLoad, /*transpose=*/false);
  }

  //===-- patterns --------------------------------------------------------------------------------------------===//

  Value mask(const sema::Expr &e) {
    Location loc = line(e.range);
    if (e.kind == sema::Expr::Kind::Pattern)
      return named(e.pattern, loc);
    if (!sema::hasNamedPattern(e))
      return maskWhere(e, loc);
    if (e.op == Op::Not)
      return attn::MaskNotOp::create(builder, loc, types.mask, mask(e.args[0]));
    Value lhs = mask(e.args[0]), rhs = mask(e.args[1]);
    if (e.op == Op::And)
      return attn::MaskAndOp::create(builder, loc, types.mask, lhs, rhs);
    return attn::MaskOrOp::create(builder, loc, types.mask, lhs, rhs);
  }

  Value named(const sema::NamedPattern &pattern, Location loc) {
    MLIRContext *context = builder.getContext();
    Attribute attr;
    switch (pattern.kind) {
    case sema::NamedPattern::Kind::Full: attr = attn::FullAttr::get(context); break;
    case sema::NamedPattern::Kind::Causal:
      attr = attn::CausalAttr::get(context, pattern.topLeft ? attn::Alignment::TopLeft : attn::Alignment::BottomRight);
      break;
    case sema::NamedPattern::Kind::Window: attr = attn::WindowAttr::get(context, pattern.left, pattern.right); break;
    case sema::NamedPattern::Kind::BlockDiagonal: attr = attn::BlockDiagonalAttr::get(context, pattern.size); break;
    case sema::NamedPattern::Kind::Prefix: attr = attn::PrefixAttr::get(context, pattern.size); break;
    case sema::NamedPattern::Kind::Blocks:
      return attn::BlocksOp::create(builder, loc, types.mask, tables[pattern.table], pattern.queryBlock,
                                    pattern.keyBlock);
    }
    return attn::PatternOp::create(builder, loc, types.mask, attr);
  }

  Value maskWhere(const sema::Expr &e, Location loc) {
    auto op = attn::MaskWhereOp::create(builder, loc, types.mask);
    Block *block = attn::addExpressionBlock(op.getBody(), attn::Domain::Pair, 0, loc);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(block);
    ScalarImporter scalars(builder, spec, tables, filename);
    bindPair(scalars, block->getArguments());
    attn::ResultOp::create(builder, loc, scalars.emit(e));
    return op.getMask();
  }

  //===-- expressions -----------------------------------------------------------------------------------------===//

  static void bindPair(ScalarImporter &scalars, ValueRange indices) {
    Variable order[] = {Variable::I, Variable::J, Variable::H, Variable::B, Variable::NQueries, Variable::NKeys};
    for (auto [variable, value] : llvm::zip_equal(order, indices))
      scalars.bind(variable, value);
  }

  Value mapPairs(Location loc, Value s, const sema::Expr &e) {
    auto op = attn::MapPairsOp::create(builder, loc, types.scores, s);
    Block *block = attn::addExpressionBlock(op.getBody(), attn::Domain::Pair, 1, loc);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(block);
    ScalarImporter scalars(builder, spec, tables, filename);
    scalars.bind(Variable::S, block->getArgument(0));
    bindPair(scalars, block->getArguments().drop_front(1));
    attn::ResultOp::create(builder, loc, scalars.emitReal(e));
    return op.getResult();
  }

  Value epilogue(Value o) {
    Location loc = at(spec.epilogueRange);
    SmallVector<Value> operands{o};
    SmallVector<unsigned> elements;
    for (auto [index, table] : llvm::enumerate(spec.tables)) {
      if (table.kind != sema::Table::Kind::Elements)
        continue;
      elements.push_back(index);
      operands.push_back(tables[index]);
    }
    auto op = attn::MapElementsOp::create(builder, loc, types.output, operands);
    Block *block = attn::addExpressionBlock(op.getBody(), attn::Domain::Element, operands.size(), loc);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(block);
    ScalarImporter scalars(builder, spec, tables, filename);
    scalars.bind(Variable::O, block->getArgument(0));
    for (auto [n, index] : llvm::enumerate(elements))
      scalars.bindElement(index, block->getArgument(n + 1));
    Variable order[] = {Variable::I, Variable::H, Variable::D, Variable::B, Variable::NQueries};
    for (auto [variable, value] : llvm::zip_equal(order, block->getArguments().drop_front(operands.size())))
      scalars.bind(variable, value);
    attn::ResultOp::create(builder, loc, scalars.emitReal(*spec.epilogue));
    return op.getResult();
  }

  //===-- schedules -------------------------------------------------------------------------------------------===//

  // Where each target's clause stands, for who finds out that it cannot be obeyed.
  DictionaryAttr schedulePlaces() {
    SmallVector<NamedAttribute> places;
    for (const sema::ScheduleOverrides &schedule : spec.schedules) {
      SmallVector<NamedAttribute> ofTarget{builder.getNamedAttr("schedule", LocationAttr(at(schedule.range)))};
      for (const auto &[key, setting] : schedule.settings)
        ofTarget.push_back(builder.getNamedAttr(key, LocationAttr(at(setting.range))));
      places.push_back(builder.getNamedAttr(schedule.target, builder.getDictionaryAttr(ofTarget)));
    }
    return builder.getDictionaryAttr(places);
  }

  DictionaryAttr schedules() {
    SmallVector<NamedAttribute> targets;
    for (const sema::ScheduleOverrides &schedule : spec.schedules) {
      SmallVector<NamedAttribute> settings;
      for (const auto &[key, setting] : schedule.settings)
        settings.push_back(builder.getNamedAttr(key, attribute(setting)));
      targets.push_back(builder.getNamedAttr(schedule.target, builder.getDictionaryAttr(settings)));
    }
    return builder.getDictionaryAttr(targets);
  }

  Attribute attribute(const sema::Override &setting) {
    if (setting.kind == sema::Override::Kind::Int)
      return builder.getI64IntegerAttr(setting.number);
    if (setting.kind == sema::Override::Kind::Word)
      return builder.getStringAttr(setting.word);
    SmallVector<NamedAttribute> perName;
    for (const auto &[name, number] : setting.perName)
      perName.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(number)));
    return builder.getDictionaryAttr(perName);
  }

  const sema::Spec &spec;
  StringRef filename;
  OpBuilder builder;
  InputTypes types;
  ValueRange arguments, tables;
};

} // namespace

OwningOpRef<ModuleOp> importSpec(const sema::Spec &spec, MLIRContext &context, StringRef filename) {
  context.loadDialect<attn::AttnDialect, arith::ArithDialect, math::MathDialect>();
  return Importer(spec, context, filename).run();
}

} // namespace fovea
