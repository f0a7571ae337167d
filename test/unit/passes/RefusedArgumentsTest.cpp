// test/unit/passes/RefusedArgumentsTest.cpp - bad arguments of a compiled backward are refused by name, before a launch.
#include "codegen/ptx/ToPtx.h"
#include "runtime/core/Arguments.h"
#include "test/unit/passes/Kernels.h"

using namespace fovea;
using namespace fovea::test;

namespace {
// The backward of ads_block behind rotary tables: packed gradients; 100 rows, 3 sequences of at most 60 rows.
class RefusedArguments : public ::testing::Test {
protected:
  RefusedArguments() { codegen::registerPtxDialects(kernels.context); }

  Manifest manifestOf(bool byPosition) {
    Variant v;
    v.backward = v.rotary = true, v.dim = 128;
    Problem p = kernels.problem(v);
    for (auto *rotation : {&p.rotaryQ, &p.rotaryK, &p.rotaryV})
      (*rotation)->onLoad = false, (*rotation)->byPosition = byPosition;
    CompileOptions options;
    options.target = "sm_90a";
    auto compiled = compileProblem(kernels.context, p, {}, options);
    if (compiled)
      return compiled->manifest;
    ADD_FAILURE() << llvm::toString(compiled.takeError());
    return {};
  }

  static Tensor tensor(const std::string &name, unsigned long long address, DType dtype, std::vector<int64_t> shape) {
    return {name, address, dtype, shape, contiguousStrides(shape)};
  }

  // The message after `edit` has changed the legal tensors; then of the offsets' values.
  template <typename Edit> std::string problem(Edit edit, bool byPosition = false) {
    std::map<std::string, Tensor> t;
    unsigned long long address = 1 << 24;
    for (const char *name : {"q", "k", "v", "dout"})
      t[name] = tensor(name, address += 1 << 24, DType::BF16, {100, 4, 128});
    t["dz"] = tensor("dz", address += 1 << 24, DType::BF16, {100, 1536});
    t["angles"] = tensor("angles", address += 1 << 24, DType::BF16, {byPosition ? 60 : 100, 128});
    t["offsets"] = tensor("offsets", address += 1 << 24, DType::I32, {4});
    edit(t);
    std::vector<Tensor> list;
    for (auto &[name, value] : t)
      list.push_back(value);
    Manifest manifest = manifestOf(byPosition);
    Expected<Arguments> arguments = Arguments::bind(manifest, "backward", list, {}, 132);
    if (!arguments)
      return arguments.message();
    Expected<void> offsets = arguments->checkOffsets(manifest, {"offsets", {0, 10, 70, 100}});
    return offsets ? "no error" : offsets.message();
  }

  Kernels kernels;
};

TEST_F(RefusedArguments, TakesWhatIsLegal) {
  EXPECT_EQ(problem([](auto &) {}), "no error");
  EXPECT_EQ(problem([](auto &) {}, true), "no error");
  // Any strides of rows and heads, as a slice of a larger tensor has them.
  EXPECT_EQ(problem([](auto &t) { t["dout"].strides = {2048, 256, 1}; }), "no error");
  EXPECT_EQ(problem([](auto &t) { t["dz"].strides = {2048, 1}; }), "no error");
}

TEST_F(RefusedArguments, GradientOfTheOutput) {
  EXPECT_EQ(problem([](auto &t) { t["dout"].dtype = DType::F16; }),
            "tensor 'dout': the element type must be bf16, found f16");
  EXPECT_EQ(problem([](auto &t) { t["dout"].strides = {1, 12800, 100}; }),
            "tensor 'dout': the stride of dimension 2, the innermost, must be 1 element, found 100; make the tensor "
            "contiguous in that dimension");
  EXPECT_EQ(problem([](auto &t) { t["dout"].strides[0] = 513; }),
            "tensor 'dout': the stride of dimension 0 must be a multiple of 16 bytes, because the kernel moves whole rows "
            "of that granularity (TMA), found 1026 bytes; pad the row");
  EXPECT_EQ(problem([](auto &t) { t["dout"] = tensor("dout", 1 << 30, DType::BF16, {99, 4, 128}); }),
            "tensor 'dout': dimension 0 must be total = 100 ('total' comes from tensor 'q', dimension 0), found 99");
  EXPECT_EQ(problem([](auto &t) { t.erase("dout"); }).find("tensor 'dout' is missing"), 0u);
}

TEST_F(RefusedArguments, HeadsOfKeys) {
  EXPECT_EQ(problem([](auto &t) { t["k"] = tensor("k", 1 << 30, DType::BF16, {100, 2, 128}); }),
            "tensor 'k': dimension 1 must be 4, found 2");
}

TEST_F(RefusedArguments, TensorsOfAnEpilogue) {
  Variant v;
  v.target = "sm_90a", v.backward = v.epilogue = true, v.dim = 128;
  auto compiled = kernels.compileEpilogue(v, {"sm_90a"});
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  auto refused = [&](auto edit) {
    std::map<std::string, Tensor> t;
    unsigned long long address = 1 << 24;
    for (const char *name : {"q", "k", "v", "gate", "dout", "dq", "dk", "dv", "dgate", "dresidual"})
      t[name] = tensor(name, address += 1 << 24, DType::BF16, {100, 4, 128});
    t["offsets"] = tensor("offsets", address += 1 << 24, DType::I32, {4});
    edit(t);
    std::vector<Tensor> list;
    for (auto &[name, value] : t)
      list.push_back(value);
    Expected<Arguments> arguments = Arguments::bind(compiled->manifest, "backward", list, {}, 132);
    return arguments ? std::string("no error") : arguments.message();
  };
  EXPECT_EQ(refused([](auto &) {}), "no error");
  EXPECT_EQ(refused([](auto &t) { t["gate"].dtype = DType::F32; }), "tensor 'gate': the element type must be bf16, found f32");
  EXPECT_EQ(refused([](auto &t) { t["dgate"].address = t["gate"].address; }),
            "the output tensor 'dgate' overlaps tensor 'gate' in memory; an output needs memory of its own");
  EXPECT_EQ(refused([](auto &t) { t.erase("dresidual"); }).find("tensor 'dresidual' is missing"), 0u);
}

TEST_F(RefusedArguments, PackedGradient) {
  EXPECT_EQ(problem([](auto &t) { t["dz"] = tensor("dz", 1 << 30, DType::BF16, {100, 1535 + 9}); }),
            "tensor 'dz': dimension 1 must be 1536, found 1544");
  EXPECT_EQ(problem([](auto &t) { t["dz"].address = t["k"].address + 256; }),
            "the output tensor 'dz' overlaps tensor 'k' in memory; an output needs memory of its own");
  EXPECT_EQ(problem([](auto &t) { t["dq"] = tensor("dq", 1 << 30, DType::BF16, {100, 4, 128}); }).find(
                "'kernel' has no tensor 'dq'; it takes "), 0u);
}

TEST_F(RefusedArguments, RotaryTable) {
  EXPECT_EQ(problem([](auto &t) { t["angles"] = tensor("angles", 1 << 30, DType::BF16, {99, 128}); }),
            "tensor 'angles': dimension 0 must be total = 100 ('total' comes from tensor 'q', dimension 0), found 99");
  EXPECT_EQ(problem([](auto &t) { t["angles"].shape[1] = 127; }), "tensor 'angles': dimension 1 must be 128, found 127");
  EXPECT_EQ(problem([](auto &t) { t["angles"].dtype = DType::F32; }),
            "tensor 'angles': the element type must be bf16, found f32");
  EXPECT_EQ(problem([](auto &t) { t["angles"] = tensor("angles", 1 << 30, DType::BF16, {59, 128}); }, true),
            "tensor 'angles': has 59 rows, one for each position in a sequence, but sequence 1 of 'offsets' has 60; pass a "
            "longer table");
}
} // namespace
