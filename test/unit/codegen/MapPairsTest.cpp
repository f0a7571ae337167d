// test/unit/codegen/MapPairsTest.cpp - score expressions and residual masks of specs, run on the emulator per element
#include "codegen/common/GlobalAccess.h"
#include "codegen/common/Sreg.h"
#include "codegen/kernel/Expressions.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "passes/Lower/MapPairs.h"
#include "test/unit/codegen/KernelFixture.h"
#include "test/unit/emulator/machine/Device.h"
#include "test/unit/passes/MaskOfPattern.h"
#include <cmath>
#include <mlir/Parser/Parser.h>

using namespace fovea;
using namespace fovea::codegen;
using namespace mlir;
namespace emu = fovea::emulator;
using tile::RegisterLayout;

namespace {

/// The tile of one run: where it is, and in which sequence and head.
struct Place {
  int32_t firstQuery, firstKey, head, sequence;
};

const MaskOfPattern::Lengths kLengths = {{150, 90}, {1, 300}, {130, 200}, {70, 0}};
constexpr int64_t kColumns = 32;

using Build = llvm::function_ref<llvm::Expected<Value>(OpBuilder &, Value, const PairScalars &)>;

/// The tile program and the kernel around it, for one spec.
class Runner {
public:
  Runner(MaskOfPattern &spec, RegisterLayout layout) : spec(spec), layout(layout), b(&spec.context) {
    registerPtxDialects(spec.context);
    spec.context.loadAllAvailableDialects();
    spec.context.loadDialect<tile::TileDialect>();
  }

  /// `program` makes tile ops from a tile and the scalars, and gives the tile to read back.
  llvm::Error build(Build program) {
    Location loc = UnknownLoc::get(&spec.context);
    tileModule = ModuleOp::create(loc);
    b.setInsertionPointToEnd(tileModule->getBody());
    auto kernel = tile::KernelOp::create(b, loc, "k", chip(), b.getDictionaryAttr({}));
    b.createBlock(&kernel.getBody());
    if (llvm::Error error = declareTables(b, spec.spec))
      return error;
    auto outside = [&](Type type) {
      return UnrealizedConversionCastOp::create(b, loc, type, ValueRange()).getResult(0);
    };
    Value in = outside(tile::regTile(layout, 128, kColumns, b.getF32Type()));
    std::vector<Value> s;
    for (int n = 0; n < 8; ++n)
      s.push_back(outside(b.getI32Type()));
    llvm::Expected<Value> result = program(b, in, {s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]});
    if (!result)
      return result.takeError();
    EXPECT_TRUE(succeeded(verify(*tileModule)));

    // The kernel: (out, in, the scalars, then each table's address, sizes and strides).
    SmallVector<KernelParam> params(2, {pointerType(b, Global)});
    params.append(8, {b.getI32Type()});
    llvm::StringMap<TableAddress> tables;
    for (auto table : kernel.getBody().getOps<tile::TableOp>()) {
      params.push_back({pointerType(b, Global)});
      params.append(table.getDims(), {b.getI32Type()});
      params.append(table.getDims() - 1, {b.getI64Type()});
      tableNames.push_back(table.getPassedName().str());
    }
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    b.setInsertionPointToEnd(module->getBody());
    KernelLimits limits;
    limits.threads = fragment() ? 256 : 128;
    auto function = createKernel(b, loc, "kernel", params, limits);
    unsigned next = 10;
    for (auto table : kernel.getBody().getOps<tile::TableOp>()) {
      TableAddress &address = tables[table.getSymName()];
      address.pointer = function.getArgument(next++);
      for (uint64_t n = 0; n < table.getDims(); ++n)
        address.sizes.push_back(function.getArgument(next++));
      for (uint64_t n = 0; n + 1 < table.getDims(); ++n)
        address.strides.push_back(function.getArgument(next++));
    }
    Value warpRow = LLVM::MulOp::create(b, loc, warpId(b, loc), constI32(b, loc, fragment() ? 16 : 32));
    TileElements elements(b, loc, layout, kColumns, warpRow, laneId(b, loc));
    Value at = LLVM::MulOp::create(b, loc, threadId(b, loc), constI32(b, loc, uint32_t(elements.registers())));
    llvm::DenseMap<Value, SmallVector<Value>> tiles;
    auto element = [&](unsigned argument, size_t r) {
      return globalElement(b, loc, function.getArgument(argument), b.getF32Type(), addI32(b, loc, at, uint32_t(r)));
    };
    for (size_t r = 0; r < elements.registers(); ++r)
      tiles[in].push_back(loadGlobal(b, loc, b.getF32Type(), element(1, r)));
    // Scalars of the program, and the arithmetic on them, as the emitter of tile programs does it.
    IRMapping scalars;
    for (unsigned n = 0; n < 8; ++n)
      scalars.map(s[n], function.getArgument(2 + n));
    for (Operation &op : kernel.getBody().front())
      if (isa<arith::ArithDialect>(op.getDialect()))
        b.clone(op, scalars);
    auto scalar = [&](Value v) { return scalars.lookup(v); };
    auto find = [&](tile::LookupOp op, ArrayRef<TableIndex> indices) {
      return lookUp(b, loc, op.getValue().getType(), tables[op.getTable()], indices);
    };
    for (auto map : kernel.getBody().getOps<tile::MapPairsOp>()) {
      auto out = mapPairs(b, loc, map, elements, {tiles[map.getTiles()[0]]},
                          {scalar(map.getFirstQuery()), scalar(map.getFirstKey()), scalar, find});
      if (failed(out))
        return llvm::createStringError("map_pairs failed");
      tiles[map.getResult()] = *out;
    }
    for (auto [r, v] : llvm::enumerate(tiles[*result]))
      storeGlobal(b, loc, v, element(0, r));
    LLVM::ReturnOp::create(b, loc, ValueRange());
    llvm::Expected<std::string> text = translateToPtx(*module, chip());
    if (!text)
      return text.takeError();
    ptx = *text;
    return llvm::Error::success();
  }

  /// Elements of the tile, row by row.
  std::vector<float> run(const Place &place, const std::vector<float> &scores) {
    emu::AddressSpace memory;
    emu::Program program(ptx, *emu::findChip(chip()), memory);
    std::vector<float> in(128 * kColumns);
    const size_t threads = fragment() ? 256 : 128, registers = in.size() / threads;
    for (size_t t = 0; t < threads; ++t)
      for (size_t r = 0; r < registers; ++r)
        in[t * registers + r] = scores[index(t, r)];
    uint64_t inAddress = emu::test::upload(memory, in, "in"), out = memory.allocate(in.size() * 4, "out");
    emu::test::Params params;
    auto [queries, keys] = spec.bound[place.sequence];
    params << out << inAddress << place.firstQuery << place.firstKey << place.head << place.sequence << int32_t(queries)
           << int32_t(keys);
    for (const char *offsets : {"q_offsets", "kv_offsets"})
      params << int32_t(spec.launch.offsets.count(offsets) ? spec.launch.offsets[offsets][place.sequence] : -1);
    for (const std::string &name : tableNames) {
      const attn::reference::HostTensor &table = spec.launch.tensors[name];
      bool integers = false;
      for (BlockArgument argument : spec.spec.getBody().getArguments())
        if (spec.spec.getInputName(argument.getArgNumber()) == name)
          integers = cast<attn::AttnTensorType>(argument.getType()).getElementType().isInteger(32);
      std::vector<uint32_t> words;
      for (double v : table.values) {
        float f = float(v);
        uint32_t word = uint32_t(int32_t(integers ? v : 0));
        if (!integers)
          std::memcpy(&word, &f, 4);
        words.push_back(word);
      }
      params << emu::test::upload(memory, words, "table");
      for (int64_t size : table.shape)
        params << int32_t(size);
      for (size_t n = 0; n + 1 < table.shape.size(); ++n)
        params << int64_t(table.strides[n]);
    }
    auto report = program.run(*program.kernel("kernel"),
                              emu::test::launch(1, uint32_t(threads), 0, params, emu::AsyncPolicy::Lazy));
    EXPECT_EQ(report.text(), "");
    std::vector<float> got = emu::test::download<float>(memory, out, in.size()), result(in.size());
    for (size_t t = 0; t < threads; ++t)
      for (size_t r = 0; r < registers; ++r)
        result[index(t, r)] = got[t * registers + r];
    return result;
  }

  std::string ptx;

private:
  bool fragment() const { return layout == RegisterLayout::Fragment; }
  const char *chip() const { return fragment() ? "sm_90a" : "sm_100a"; }
  /// #tile.regs by its definition.
  size_t index(size_t thread, size_t r) const {
    size_t warp = thread / 32, lane = thread % 32;
    if (!fragment())
      return thread * kColumns + r;
    return (16 * warp + lane / 4 + (r % 4 >= 2 ? 8 : 0)) * kColumns + 8 * (r / 4) + 2 * (lane % 4) + r % 2;
  }

  MaskOfPattern &spec;
  RegisterLayout layout;
  OpBuilder b;
  OwningOpRef<ModuleOp> tileModule;
  std::vector<std::string> tableNames;
};

std::vector<float> randomScores(unsigned seed, double scale = 3) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, scale);
  std::vector<float> scores(128 * kColumns);
  for (float &v : scores)
    v = float(normal(random));
  return scores;
}

const Place kPlaces[] = {{0, 0, 0, 0}, {128, 64, 1, 0}, {0, 288, 1, 1}, {64, 96, 0, 2}, {0, 0, 1, 3}};

struct ScoreCase {
  const char *score;
  double tolerance = 3e-6; ///< of 1 + |value|
  bool dense = false;
};

class Score : public testing::TestWithParam<ScoreCase> {};
class Residual : public testing::TestWithParam<const char *> {};

} // namespace

TEST_P(Score, AgreesWithItsMeaning) {
  const ScoreCase &c = GetParam();
  MaskOfPattern spec("full", c.score, c.dense);
  spec.bind(c.dense ? MaskOfPattern::Lengths(4, {200, 130}) : kLengths);
  for (RegisterLayout layout : {RegisterLayout::Rows, RegisterLayout::Fragment}) {
    Runner runner(spec, layout);
    llvm::Error error = runner.build([&](OpBuilder &b, Value tile, const PairScalars &scalars) {
      return emitMapPairs(b, spec.scoreOp(), tile, scalars);
    });
    ASSERT_FALSE(error) << llvm::toString(std::move(error));
    for (const Place &place : kPlaces) {
      std::vector<float> scores = randomScores(1), got = runner.run(place, scores);
      auto [queries, keys] = spec.bound[place.sequence];
      for (int64_t row = 0; row < 128 && place.firstQuery + row < queries; ++row) {
        std::vector<double> s, i, j;
        for (int64_t column = 0; column < kColumns && place.firstKey + column < keys; ++column) {
          s.push_back(scores[row * kColumns + column]);
          i.push_back(place.firstQuery + row), j.push_back(place.firstKey + column);
        }
        std::vector<double> want = spec.score(place.sequence, place.head, s, i, j);
        for (size_t column = 0; column < want.size(); ++column)
          ASSERT_NEAR(got[row * kColumns + column], want[column], c.tolerance * (1 + std::fabs(want[column])))
              << "layout " << int(layout) << ", sequence " << place.sequence << ", i " << i[column] << ", j " << j[column]
              << ", s " << s[column];
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Expressions, Score,
    // tanh is within 2^-23 of its range, and softcap of its cap.
    testing::Values(ScoreCase{"s * scale"}, ScoreCase{"softcap(s * scale, 50)", 50 * 1.2e-7},
                    ScoreCase{"softcap(s, 0.5)"}, ScoreCase{"s * scale + slope[h] * (j - i)"},
                    ScoreCase{"s + rel[i - j + 400]"}, ScoreCase{"s + rel[h, j - i + 200] * 2"},
                    ScoreCase{"s * q_gain[i] + k_bias[j]"}, ScoreCase{"max(s, q_gain[i]) - min(s, k_bias[j])"},
                    ScoreCase{"exp(s * 0.1) + exp2(s) + log(abs(s) + 1) - log2(abs(s) + 2)"},
                    ScoreCase{"sin(3 * s) * cos(s + 20 * h) + sin(i)"},
                    ScoreCase{"where(i % 3 == 0, s, sqrt(abs(s)) + rsqrt(abs(s) + 1))"},
                    ScoreCase{"gelu(s) + silu(s) + sigmoid(s) + relu(s)"},
                    ScoreCase{"s + floor(s) - s / (1 + n_keys) + b"},
                    ScoreCase{"s + floordiv(j - i, 7) + floordiv(i, 5) + (j - i) % 4 + abs(i - j)"},
                    ScoreCase{"s + (i * j * 1000) * 0.000001"}, ScoreCase{"s + min(i, j) - max(h, b) * n_queries"},
                    ScoreCase{"s + by_doc[doc[i]] - by_doc[kv_doc[j]]"},
                    ScoreCase{"where(doc[i] == kv_doc[j] or j < 5, s, -s)"},
                    ScoreCase{"where(not (j <= i and s > 0.5), s, 2)"},
                    ScoreCase{"s * q_gain[i] + k_bias[j] + slope[h]", 3e-6, true}),
    [](const auto &info) { return "Case" + std::to_string(info.index); });

// The residual where the interval holds is the mask.
TEST_P(Residual, AgreesWithTheMask) {
  MaskOfPattern spec(GetParam());
  spec.bind(kLengths);
  KeyRange range = llvm::cantFail(analyseMask(spec.value()));
  ASSERT_FALSE(range.residual.empty());
  for (RegisterLayout layout : {RegisterLayout::Rows, RegisterLayout::Fragment}) {
    Runner runner(spec, layout);
    llvm::Error error = runner.build([&](OpBuilder &b, Value tile, const PairScalars &scalars) {
      return emitResidualMask(b, UnknownLoc::get(&spec.context), range, tile, scalars);
    });
    ASSERT_FALSE(error) << llvm::toString(std::move(error));
    for (const Place &place : kPlaces) {
      std::vector<float> scores = randomScores(2), got = runner.run(place, scores);
      auto [queries, keys] = spec.bound[place.sequence];
      for (int64_t row = 0; row < 128 && place.firstQuery + row < queries; ++row) {
        int64_t i = place.firstQuery + row;
        std::vector<int32_t> visible = spec.keys(place.sequence, i, place.head);
        auto [first, end] = range.interval(i, queries, keys);
        for (int64_t column = 0; column < kColumns; ++column) {
          int64_t j = place.firstKey + column;
          if (j < first || j >= end)
            continue;
          float v = scores[row * kColumns + column];
          float want = std::binary_search(visible.begin(), visible.end(), int32_t(j)) ? v : -INFINITY;
          ASSERT_EQ(got[row * kColumns + column], want)
              << "layout " << int(layout) << ", sequence " << place.sequence << ", i " << i << ", j " << j;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Masks, Residual,
    testing::Values("2 * j <= i", "j <= i and doc[i] == kv_doc[j]", "causal & (prefix(4) | window(8))",
                    "not window(30, 3)", "not block_diagonal(48)", "window(30, 5) & not window(3, 1)",
                    "block_diagonal(48) & (2 * j <= i or doc[i] == 1)", "not (2 * j <= i) & causal",
                    "(i + j) % 3 == 1", "doc[i] * 2000000000 < kv_doc[j] + i * 7000000",
                    "j <= i + 40 * h - 30 * b"),
    [](const auto &info) { return "Case" + std::to_string(info.index); });

// An index outside a table is an error by definition; here it reads no memory, which the emulator watches.
TEST(MapPairs, ReadsZeroOutsideATable) {
  MaskOfPattern spec("full", "s + rel[(i - j) * 1000000]");
  spec.bind(kLengths);
  Runner runner(spec, RegisterLayout::Fragment);
  llvm::Error error = runner.build([&](OpBuilder &b, Value tile, const PairScalars &scalars) {
    return emitMapPairs(b, spec.scoreOp(), tile, scalars);
  });
  ASSERT_FALSE(error) << llvm::toString(std::move(error));
  std::vector<float> scores = randomScores(3), got = runner.run(kPlaces[0], scores);
  float zeroth = float(spec.launch.tensors["rel"].at({0}));
  ASSERT_NE(zeroth, 0);
  for (int64_t row = 0; row < 128; ++row)
    for (int64_t column = 0; column < kColumns; ++column) {
      float s = scores[row * kColumns + column];
      ASSERT_FLOAT_EQ(got[row * kColumns + column], row == column ? s + zeroth : s) << row << ", " << column;
    }
}

// What depends on the row or the column alone is looked up once for each.
TEST(MapPairs, SharesWhatRowsAndColumnsShare) {
  MaskOfPattern spec("full", "s * q_gain[i] + k_bias[j] + slope[h]");
  Runner runner(spec, RegisterLayout::Fragment);
  llvm::Error error = runner.build([&](OpBuilder &b, Value tile, const PairScalars &scalars) {
    return emitMapPairs(b, spec.scoreOp(), tile, scalars);
  });
  ASSERT_FALSE(error) << llvm::toString(std::move(error));
  size_t loads = 0;
  for (size_t at = 0; (at = runner.ptx.find("ld.global.nc", at)) != std::string::npos; ++at)
    ++loads;
  EXPECT_EQ(loads, 2 + kColumns / 4 + 1);
}

static std::string errorOf(MaskOfPattern &spec, Build program) {
  Runner runner(spec, RegisterLayout::Rows);
  llvm::Error error = runner.build(program);
  return error ? llvm::toString(std::move(error)) : "";
}

// A block that the intervals leave whole is not asked: a selection an element, and a branch around them.
TEST(MapPairs, SkipsWholeBlocks) {
  for (auto each : {std::pair("causal & (prefix(4) | window(8))", true), {"not window(30, 3)", true},
                    {"prefix(20) | 2 * j <= i", true}, {"2 * j <= i", false}, {"not (j <= i and doc[i] == 1)", true}}) {
    const char *pattern = each.first;
    bool skips = each.second;
    MaskOfPattern spec(pattern);
    KeyRange range = llvm::cantFail(analyseMask(spec.value()));
    Runner runner(spec, RegisterLayout::Rows);
    llvm::Error error = runner.build([&](OpBuilder &b, Value tile, const PairScalars &scalars) {
      llvm::Expected<Value> result = emitResidualMask(b, UnknownLoc::get(&spec.context), range, tile, scalars);
      EXPECT_EQ(bool(result->getDefiningOp<tile::MapPairsOp>().getWhen()), skips) << pattern;
      return result;
    });
    ASSERT_FALSE(error) << llvm::toString(std::move(error));
  }
}

TEST(MapPairs, RefusesMasksOfNoPair) {
  // A block list; the analysis never leaves one as a predicate.
  MaskOfPattern spec("blocks(128, 64, picks)");
  KeyRange range;
  range.residual.push_back({spec.value(), false});
  EXPECT_EQ(errorOf(spec, [&](OpBuilder &b, Value tile, const PairScalars &scalars) {
    return emitResidualMask(b, UnknownLoc::get(&spec.context), range, tile, scalars);
  }), "attn.blocks: expected a mask that each pair can be asked for");
}

// Ops that only IR can hold.
TEST(MapPairs, RefusesOpsWithoutALowering) {
  auto error = [](llvm::function_ref<Value(OpBuilder &, Location, Block &)> make) {
    MaskOfPattern spec("full", "s * scale + slope[h]");
    Block &body = spec.scoreOp().getBody().front();
    OpBuilder at(body.getTerminator());
    body.getTerminator()->setOperand(0, make(at, body.getTerminator()->getLoc(), body));
    return errorOf(spec, [&](OpBuilder &b, Value tile, const PairScalars &scalars) {
      return emitMapPairs(b, spec.scoreOp(), tile, scalars);
    });
  };
  EXPECT_EQ(error([](OpBuilder &b, Location loc, Block &body) -> Value {
    return arith::RemFOp::create(b, loc, body.getArgument(0), body.getArgument(0));
  }), "arith.remf: expected an operation that kernels compute per element, found one without a lowering");
  EXPECT_EQ(error([](OpBuilder &b, Location loc, Block &body) -> Value {
    Value n = arith::CeilDivSIOp::create(b, loc, body.getArgument(1), body.getArgument(2));
    return arith::SIToFPOp::create(b, loc, b.getF32Type(), n);
  }), "arith.ceildivsi: expected an operation on integers that kernels compute, found one without a lowering");
  EXPECT_EQ(error([](OpBuilder &b, Location loc, Block &body) -> Value {
    Value wide = arith::ExtFOp::create(b, loc, b.getF64Type(), body.getArgument(0));
    return arith::TruncFOp::create(b, loc, b.getF32Type(), wide);
  }), "arith.extf: expected f32, i64 or i1 in an expression, found a type without a lowering");
}

TEST(MapPairs, RefusesTablesWithoutALowering) {
  auto error = [](const std::string &type, const std::string &indices) {
    MLIRContext context;
    context.loadDialect<attn::AttnDialect, tile::TileDialect, arith::ArithDialect>();
    auto module = parseSourceString<ModuleOp>(R"(
      !Q = !attn.tensor<jagged("o") x heads(2) x 64 x bf16>
      !M = !attn.mask<jagged("o") x jagged("o")>
      attn.spec @t(q = %q: !Q, t = %t: !attn.tensor<)" + type + R"(>) {
        %m = attn.mask_where : !M {
        ^bb0(%i: i64, %j: i64, %h: i64, %b: i64, %n: i64, %k: i64):
          %x = attn.lookup %t[)" + indices + "] : !attn.tensor<" + type + R"(> -> i64
          %c = arith.cmpi sgt, %x, %j : i64
          attn.result %c : i1
        }
        attn.yield o = %q : !Q
      })", &context);
    if (!module)
      return std::string("no IR");
    OpBuilder b(&context);
    b.setInsertionPointToEnd(module->getBody());
    return llvm::toString(declareTables(b, *module->getOps<attn::SpecOp>().begin()));
  };
  EXPECT_EQ(error("heads(2) x i64", "%h"), "table 't': expected elements of f32 or i32, the ones with a lowering");
  EXPECT_EQ(error("blocks(16, jagged(\"o\")) x i32", "%i"),
            "table 't': expected rows, heads or positions as axes, found blocks");
  EXPECT_EQ(error("heads(2) x 4 x 4 x 4 x 4 x i32", "%h, %h, %h, %h, %h"),
            "table 't': expected at most 4 dimensions, found 5");
  EXPECT_EQ(error("heads(2) x 4 x 4 x 4 x i32", "%h, %h, %h, %h"), "");
}
