// test/unit/runtime/ManifestTest.cpp - manifests are written, read back, and refused with the place and the rule.
#include "runtime/abi/Manifest.h"
#include "runtime/abi/Sha256.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace fovea;
using Json = nlohmann::json;

namespace {

Manifest example() {
  Manifest m;
  m.spec = "ads_block";
  m.target = "sm_100a";
  m.ptx = "ads_block.ptx";
  m.ptxSha256 = sha256("// ptx");
  m.tensors = {{"q", TensorSpec::Role::Input, {DType::BF16}, {"total", 4, 128}, 16, 16, false, "offsets"},
               {"o", TensorSpec::Role::Output, {DType::BF16}, {"total", 4, 128}, 16, 16, false, "offsets"},
               {"lse", TensorSpec::Role::Output, {DType::F32}, {"total", 4}, 4, 4, true, "offsets", "", true},
               {"offsets", TensorSpec::Role::Offsets, {DType::I32, DType::I64}, {Expr("batch") + 1}, 8, 1, false, ""}};
  KernelSpec kernel;
  kernel.name = "forward";
  kernel.entry = "ads_block_forward";
  kernel.block = {128, 1, 1};
  kernel.ctasPerSm = 4;
  kernel.dynamicSmem = 49184;
  kernel.tmemColumns = 128;
  kernel.values = {{"$tiles", ceilDiv("total", 64)}, {"$items", Expr("$tiles") * 4}};
  kernel.grid = {minimum(ceilDiv("total", 64) * 4, Expr("sm_count") * 4), 1, 1};
  ParamSpec map;
  map.kind = ParamSpec::Kind::TensorMap;
  map.tensor = "q";
  map.dims = {64, "total", 8};
  map.strides = {Expr("q.stride.0") * Expr("q.itemsize"), 128};
  map.box = {64, 16, 2};
  map.swizzle = map.l2Promotion = "128B";
  ParamSpec pointer;
  pointer.tensor = "o";
  pointer.offset = -64;
  ParamSpec count, scale, scratch;
  count.kind = ParamSpec::Kind::I32;
  count.value = "batch";
  scale.kind = ParamSpec::Kind::F32;
  scale.number = 0.1;
  scratch.kind = ParamSpec::Kind::Scratch;
  scratch.name = "counter";
  scratch.bytes = 4;
  scratch.zero = true;
  kernel.params = {map, pointer, count, scale, scratch};
  m.kernels = {kernel};
  return m;
}

/// The message for the example after `edit` has changed its JSON.
template <typename Edit> std::string problem(Edit edit) {
  Json json = Json::parse(toJson(example()));
  edit(json);
  Expected<Manifest> result = parseManifest(json.dump(), "m.json");
  return result ? "no error" : result.message();
}

TEST(Manifest, SurvivesARoundTrip) {
  std::string text = toJson(example());
  Expected<Manifest> read = parseManifest(text);
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(toJson(*read), text);
  EXPECT_EQ(read->kernels[0].params[0].strides[0], Expr("q.stride.0") * Expr("q.itemsize"));
  EXPECT_EQ(read->kernels[0].params[3].number, 0.1);
  EXPECT_EQ(read->findTensor("lse")->optional, true);
  EXPECT_TRUE(read->findTensor("lse")->strided);
  EXPECT_FALSE(read->findTensor("q")->strided);
  EXPECT_EQ(read->findTensor("nothing"), nullptr);
}

TEST(Manifest, RefusesAnotherVersion) {
  EXPECT_EQ(problem([](Json &j) { j["fovea_manifest"] = 1; }),
            "m.json: the manifest has version 1, but this runtime reads version 3; recompile the spec with the "
            "matching fovea");
  EXPECT_NE(problem([](Json &j) { j["fovea_manifest"] = "2"; }).find("version \"2\""), std::string::npos);
}

TEST(Manifest, RefusesNamesWithoutValues) {
  for (Json bad : {Json("$x"), Json::array({"$x"}), Json::array({"x", 1}), Json::array({1, 2})})
    EXPECT_EQ(problem([&](Json &j) { j["kernels"][0]["values"][1] = bad; }),
              "m.json: kernels[0].values[1]: expected a name that begins with $ and an expression, found " + bad.dump());
  EXPECT_EQ(problem([](Json &j) { j["kernels"][0]["values"][1][0] = "$tiles"; }),
            "m.json: kernels[0].values[1]: the name \"$tiles\" is taken by values[0]; expected one of its own");
  EXPECT_NE(problem([](Json &j) { j["kernels"][0]["values"] = 3; }).find("kernels[0].values"), std::string::npos);
}

TEST(Manifest, RefusesNamesUsedBeforeTheyAreGiven) {
  // Nothing uses the values here: a launch would never ask for them.
  auto values = [](Json given) { return problem([&](Json &j) { j["kernels"][0]["values"] = given; j.erase("sha256"); }); };
  EXPECT_EQ(values(Json::parse(R"([["$a", ["add", "batch", "$a"]]])")),
            "m.json: kernels[0].values: \"$a\" uses \"$a\", which no value before it gives");
  EXPECT_EQ(values(Json::parse(R"([["$a", "$b"], ["$b", 1]])")),
            "m.json: kernels[0].values: \"$a\" uses \"$b\", which no value before it gives");
  EXPECT_EQ(values(Json::parse(R"([["$b", 1], ["$a", ["add", "$b", ["mul", 2, "$b"]]]])")), "no error");
}

TEST(Manifest, KeepsVariantsOfAnOperation) {
  Manifest m = example();
  EXPECT_TRUE(variantsOf(m, "forward").empty());
  m.kernels = {m.kernels[0], m.kernels[0], m.kernels[0]};
  m.kernels[0].variant = m.kernels[1].variant = "256x64", m.kernels[2].variant = "64x128";
  m.kernels[0].clocks = Expr("total") * 3, m.kernels[2].clocks = Expr("lse.stride.0") * 4;
  Expected<Manifest> read = parseManifest(toJson(m));
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(toJson(*read), toJson(m));
  EXPECT_EQ(variantsOf(*read, "forward"), (std::vector<std::string>{"256x64", "64x128"}));
  EXPECT_TRUE(variantsOf(*read, "backward").empty());
  EXPECT_EQ(*read->kernels[2].clocks, Expr("lse.stride.0") * 4);
  EXPECT_TRUE(usedTensors(*read, "forward").count("lse"));
}

TEST(Manifest, RefusesVariantsThatALaunchCannotChoose) {
  auto edited = [](auto edit) {
    Manifest m = example();
    m.kernels.push_back(m.kernels[0]);
    edit(m.kernels[0], m.kernels[1]);
    Expected<Manifest> result = parseManifest(toJson(m), "m.json");
    return result ? "no error" : result.message();
  };
  EXPECT_EQ(edited([](KernelSpec &a, KernelSpec &) { a.variant = "a", a.clocks = 1; }),
            "m.json: kernel ads_block_forward: expected a \"variant\", as other kernels of forward have one");
  EXPECT_EQ(edited([](KernelSpec &a, KernelSpec &b) { a.variant = "a", b.variant = "b", a.clocks = 1; }),
            "m.json: kernel ads_block_forward: expected \"clocks\", by which a launch chooses, of the first kernel of the variant \"b\"");
  EXPECT_EQ(edited([](KernelSpec &a, KernelSpec &b) { a.variant = b.variant = "a", a.clocks = b.clocks = 1; }),
            "m.json: kernel ads_block_forward: expected \"clocks\" only of the first kernel of a variant");
  auto clocks = [&](Expr of) { return edited([&](KernelSpec &a, KernelSpec &b) { a.variant = b.variant = "a", a.clocks = of; }); };
  EXPECT_EQ(clocks(Expr("q.shape.0") + Expr("$tiles") + Expr("total")), "no error");
  EXPECT_EQ(clocks("$nope"), "m.json: kernel ads_block_forward: its clocks use \"$nope\", which no value of this kernel gives");
  EXPECT_EQ(clocks("zz.shape.0"), "m.json: kernel ads_block_forward: its clocks use \"zz.shape.0\", which belongs to no tensor that is declared");
  EXPECT_EQ(edited([](KernelSpec &a, KernelSpec &) { a.clocks = 1; }),
            "m.json: kernel ads_block_forward: expected \"clocks\" only of the first kernel of a variant");
}

TEST(Manifest, RefusesAKeyGivenTwice) {
  Json json = Json::parse(toJson(example()));
  json.erase("sha256");
  auto twice = [&](const std::string &member, const std::string &first) {
    std::string text = json.dump();
    size_t at = text.find(member);
    EXPECT_NE(at, std::string::npos) << member;
    Expected<Manifest> result = parseManifest(text.insert(at, first), "m.json");
    return result ? "no error" : result.message();
  };
  const std::string rest = "\" stands twice in one object (the file may be edited); recompile the spec";
  EXPECT_EQ(twice("\"target\":", ""), "no error"); // "name" stands in several objects, in each once
  EXPECT_EQ(twice("\"target\":", "\"target\":\"sm_90a\","), "m.json: the key \"target" + rest);
  EXPECT_EQ(twice("\"tmem_columns\":", "\"tmem_columns\":0,"), "m.json: the key \"tmem_columns" + rest);
}

TEST(Manifest, RefusesValuesEditedByHand) {
  std::string text = toJson(example());
  size_t at = text.find("\"dynamic_smem\": ");
  ASSERT_NE(at, std::string::npos);
  text.insert(at + 16, "1");
  Expected<Manifest> manifest = parseManifest(text);
  ASSERT_FALSE(manifest);
  EXPECT_NE(manifest.message().find("the manifest was edited after it was written"), std::string::npos)
      << manifest.message();
}

TEST(Manifest, RefusesForeignAndDamagedFiles) {
  for (const char *text : {"", "{", "\xff\xfe\x00binary", "{\"fovea_manifest\": 3, \"spec\": \"x"}) {
    Expected<Manifest> result = parseManifest(text, "m.json");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.message(),
              "m.json: not valid JSON (the file may be truncated or edited); recompile the spec");
  }
  for (const char *text : {"{}", "[]", "3", "{\"name\": \"package.json\"}"}) {
    Expected<Manifest> result = parseManifest(text, "m.json");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.message(), "m.json: not a Fovea manifest: the key \"fovea_manifest\" is missing");
  }
}

TEST(Manifest, EveryTruncationIsRefused) {
  std::string text = toJson(example());
  for (size_t length = 0; length + 2 < text.size(); length += 7)
    EXPECT_FALSE(parseManifest(std::string_view(text).substr(0, length))) << length;
}

TEST(Manifest, NamesTheEditedPlace) {
  EXPECT_EQ(problem([](Json &j) { j["kernels"][0]["block"] = {128, 1}; }),
            "m.json: kernels[0].block: expected three integers, found 2");
  EXPECT_EQ(problem([](Json &j) { j["kernels"][0]["block"][0] = 4096; }),
            "m.json: kernels[0].block: expected 1 to 1024, found 4096");
  EXPECT_EQ(problem([](Json &j) { j["kernels"][0]["dynamic_smem"] = "many"; }),
            "m.json: kernels[0].dynamic_smem: expected an integer, found \"many\"");
  EXPECT_EQ(problem([](Json &j) { j["kernels"][0]["dynamic_smem"] = UINT64_MAX; }),
            "m.json: kernels[0].dynamic_smem: expected 0 to 1048576, found 18446744073709551615");
  EXPECT_EQ(problem([](Json &j) { j["kernels"][0].erase("entry"); }),
            "m.json: kernels[0]: the key \"entry\" is missing");
  EXPECT_EQ(problem([](Json &j) { j["kernels"][0]["colour"] = 1; }), "m.json: kernels[0]: unknown key \"colour\"");
  EXPECT_EQ(problem([](Json &j) { j["tensors"][1]["dtype"] = "bf17"; }),
            "m.json: tensors[1].dtype: unknown element type \"bf17\"");
  EXPECT_EQ(problem([](Json &j) { j["tensors"][0]["role"] = "both"; }),
            "m.json: tensors[0].role: expected input, output or offsets, found \"both\"");
  EXPECT_EQ(problem([](Json &j) { j["tensors"][0]["optional"] = 1; }),
            "m.json: tensors[0].optional: expected true or false, found 1");
  EXPECT_EQ(problem([](Json &j) { j["tensors"][0] = 5; }), "m.json: tensors[0]: expected an object, found number");
  EXPECT_EQ(problem([](Json &j) { j["spec"] = 5; }), "m.json: .spec: expected a string, found number");
  EXPECT_EQ(problem([](Json &j) { j["target"] = "sm_80"; }),
            "m.json: target: unknown target \"sm_80\"; this runtime knows sm_100a, sm_90a");
  EXPECT_EQ(problem([](Json &j) { j["kernels"] = Json::array(); }), "m.json: kernels: expected at least one kernel");
  EXPECT_EQ(problem([](Json &j) { j["kernels"] = 1; }), "m.json: .kernels: expected an array, found number");
}

TEST(Manifest, RefusesBrokenExpressionsAndMaps) {
  auto param = [](Json &j) -> Json & { return j["kernels"][0]["params"][0]; };
  EXPECT_EQ(problem([&](Json &j) { j["kernels"][0]["grid"][0] = {"pow", 1, 2}; }),
            "m.json: kernels[0].grid[0]: unknown operator \"pow\"; expected add, sub, mul, ceildiv, floordiv, min, "
            "max or mod");
  EXPECT_EQ(problem([&](Json &j) { j["kernels"][0]["grid"][0] = 1.5; }),
            "m.json: kernels[0].grid[0]: expected an integer, a name or [operator, a, b], found 1.5");
  EXPECT_EQ(problem([&](Json &j) { param(j)["strides"].erase(0); }),
            "m.json: kernels[0].params[0]: a tensor map of 3 dimensions needs 2 strides and 3 box extents, found 1 "
            "and 3");
  EXPECT_EQ(problem([&](Json &j) { param(j)["box"][0] = 257; }),
            "m.json: kernels[0].params[0].box: expected 1 to 256, found 257");
  EXPECT_EQ(problem([&](Json &j) { param(j)["dims"] = {1, 1, 1, 1, 1, 1}; }),
            "m.json: kernels[0].params[0].dims: a tensor map has 1 to 5 dimensions, found 6");
  EXPECT_EQ(problem([&](Json &j) { param(j)["swizzle"] = "256B"; }),
            "m.json: kernels[0].params[0].swizzle: unknown swizzle \"256B\"");
  EXPECT_EQ(problem([&](Json &j) { param(j)["l2_promotion"] = "512B"; }),
            "m.json: kernels[0].params[0].l2_promotion: expected none, 64B, 128B or 256B, found \"512B\"");
  EXPECT_EQ(problem([&](Json &j) { param(j)["kind"] = "texture"; }),
            "m.json: kernels[0].params[0].kind: expected tensor_map, pointer, i32, i64, f32 or scratch, found "
            "\"texture\"");
  Json deep = 1;
  for (int i = 0; i < 100; ++i)
    deep = Json::array({"add", deep, 1});
  EXPECT_EQ(problem([&](Json &j) { j["kernels"][0]["grid"][0] = deep; }),
            "m.json: kernels[0].grid[0]: the expression is nested deeper than 32");
}

TEST(Manifest, RefusesDanglingReferences) {
  EXPECT_EQ(problem([](Json &j) { j["kernels"][0]["params"][0]["tensor"] = "z"; }),
            "m.json: kernel ads_block_forward: a parameter names the tensor \"z\", which is not declared");
  EXPECT_EQ(problem([](Json &j) { j["tensors"][0]["jagged"] = "cuts"; }),
            "m.json: tensors: \"q\" is jagged by \"cuts\", which is not declared");
  EXPECT_EQ(problem([](Json &j) { j["tensors"][0]["positions"] = "cuts"; }),
            "m.json: tensors: \"q\" has the positions of \"cuts\", which is not declared");
  EXPECT_EQ(problem([](Json &j) { j["tensors"][1]["name"] = "q"; }),
            "m.json: tensors: the tensor \"q\" is declared twice");
  EXPECT_EQ(problem([](Json &j) { j["tensors"][0]["name"] = "q.k"; }),
            "m.json: tensors: a tensor's name must be non-empty and without '.', found \"q.k\"");
  // A manifest must not make the runtime read files elsewhere.
  EXPECT_EQ(problem([](Json &j) { j["ptx"] = "../../etc/passwd"; }),
            "m.json: ptx: expected the name of a file beside the manifest, found \"../../etc/passwd\"");
}

TEST(Manifest, RecognisesItsPtx) {
  EXPECT_TRUE(checkPtx(example(), "// ptx"));
  Expected<void> edited = checkPtx(example(), "// pt");
  ASSERT_FALSE(edited);
  EXPECT_NE(edited.message().find("the PTX of 'ads_block' (5 bytes, sha256"), std::string::npos);
  EXPECT_NE(edited.message().find("it was edited or truncated, recompile the spec"), std::string::npos);
}

} // namespace
