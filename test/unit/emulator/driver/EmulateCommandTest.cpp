// test/unit/emulator/driver/EmulateCommandTest.cpp - `fovea emulate`: exit status, messages, reports, and the timelines of --trace
#include "runtime/emulator/driver/EmulateCommand.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace fovea::emulator;
using Json = nlohmann::json;

namespace {

/// Warp 0 counts to 1000 and arrives at an mbarrier; warp 1 waits for it. Three instructions a turn of the loop.
const char *kProducerConsumer = R"(
.version 8.7
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p<4>;
  .shared .align 8 .b64 bar;
  mov.u32 %r1, %tid.x;
  setp.ne.u32 %p1, %r1, 0;
  mov.u32 %r2, bar;
  @!%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
  bar.sync 0;
  setp.lt.u32 %p2, %r1, 32;
  @!%p2 bra WAIT;
  mov.u32 %r3, 0;
COUNT:
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p3, %r3, 1000;
  @%p3 bra COUNT;
  @!%p1 mbarrier.arrive.shared::cta.b64 _, [%r2];
  bra END;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2], 0;
  @!%p3 bra WAIT;
END:
  ld.param.u64 %rd1, [out];
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
})";

class EmulateCommand : public testing::Test {
protected:
  std::filesystem::path folder = std::filesystem::temp_directory_path() / ("fovea-emulate-" + std::to_string(::getpid()));
  void SetUp() override {
    std::filesystem::create_directories(folder);
    write("k.ptx", kProducerConsumer);
    write("launch.json", R"({"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "params": [{"buffer": "out"}],
      "buffers": {"out": {"bytes": 256, "save": "out.npy", "dtype": "uint32", "shape": [64]}}})");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string path(const std::string &name) { return (folder / name).string(); }
  void write(const std::string &name, const std::string &text) { std::ofstream(folder / name) << text; }
  std::string read(const std::string &name) {
    std::ifstream in(folder / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  int run(std::vector<std::string> arguments, std::string *out = nullptr, std::string *err = nullptr) {
    std::vector<const char *> raw;
    for (const std::string &a : arguments)
      raw.push_back(a.c_str());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    int status = emulateCommand("fovea emulate", int(raw.size()), raw.data());
    std::string o = testing::internal::GetCapturedStdout(), e = testing::internal::GetCapturedStderr();
    if (out)
      *out = o;
    if (err)
      *err = e;
    return status;
  }
};

TEST_F(EmulateCommand, RunsAndSaves) {
  EXPECT_EQ(run({path("k.ptx"), "--launch", path("launch.json")}), 0);
  std::string saved = read("out.npy");
  ASSERT_GE(saved.size(), 256u);
  EXPECT_EQ(saved[saved.size() - 4], 63);
}

TEST_F(EmulateCommand, MakesTheFolderForItsOutputs) {
  EXPECT_EQ(run({path("k.ptx"), "--launch", path("launch.json"), "-o", path("new/folder")}), 0);
  EXPECT_GE(read("new/folder/out.npy").size(), 256u);
  EXPECT_FALSE(std::filesystem::exists(folder / "out.npy"));
}

TEST_F(EmulateCommand, TraceShowsTheWait) {
  ASSERT_EQ(run({path("k.ptx"), "--launch", path("launch.json"), "--trace", path("trace.json")}), 0);
  Json trace = Json::parse(read("trace.json"));
  uint64_t ran = 0, arrival = 0, waited = 0, waitEnd = 0;
  for (const Json &e : trace["traceEvents"]) {
    if (e["ph"] != "X")
      continue;
    if (e["tid"] == 1 && e["cat"] == "run")
      ran += e["args"]["instructions"].get<uint64_t>(), arrival = e["ts"].get<uint64_t>() + e["dur"].get<uint64_t>();
    if (e["tid"] == 2 && e["cat"] == "wait" && e["name"].get<std::string>().rfind("mbarrier ", 0) == 0)
      waited = e["dur"], waitEnd = e["ts"].get<uint64_t>() + e["dur"].get<uint64_t>();
  }
  EXPECT_GT(ran, 3000u);
  EXPECT_LT(ran, 3040u);
  EXPECT_GT(waited, 2980u) << "warp 1 waits while warp 0 counts";
  EXPECT_LT(waitEnd, arrival);
  EXPECT_GT(waitEnd + 10, arrival) << "the wait ends at the arrival, which is followed by six instructions";
}

TEST_F(EmulateCommand, ReportsFaultsAsJson) {
  write("short.json", R"({"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "params": [{"buffer": "out"}], "buffers": {"out": {"bytes": 128}}})");
  std::string out;
  EXPECT_EQ(run({path("k.ptx"), "--launch", path("short.json"), "--report", "json"}, &out), 1);
  Json report = Json::parse(out);
  ASSERT_EQ(report["findings"].size(), 1u);
  EXPECT_EQ(report["findings"][0]["severity"], "error");
  EXPECT_EQ(report["findings"][0]["kind"], "out of bounds");
  EXPECT_EQ(report["findings"][0]["text"], "st.global.u32 [%rd3], %r1;");
  EXPECT_EQ(report["findings"][0]["warp"], 1);
}

TEST_F(EmulateCommand, TraceIsWrittenOfAKernelThatFailed) {
  write("short.json", R"({"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "params": [{"buffer": "out"}], "buffers": {"out": {"bytes": 128}}})");
  EXPECT_EQ(run({path("k.ptx"), "--launch", path("short.json"), "--trace", path("trace.json")}), 1);
  EXPECT_GT(Json::parse(read("trace.json"))["traceEvents"].size(), 2u);
}

TEST_F(EmulateCommand, LimitEndsAnEndlessLoop) {
  write("endless.ptx", ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 out) {\nL: bra L;\n}\n");
  std::string err;
  EXPECT_EQ(run({path("endless.ptx"), "--launch", path("launch.json"), "--limit", "5000"}, nullptr, &err), 1);
  EXPECT_NE(err.find("limit: the kernel executed more than 5000 warp instructions (FOVEA_EMULATE_LIMIT)"), std::string::npos) << err;
  setenv("FOVEA_EMULATE_LIMIT", "6000", 1);
  EXPECT_EQ(run({path("endless.ptx"), "--launch", path("launch.json")}, nullptr, &err), 1);
  EXPECT_NE(err.find("more than 6000 warp instructions"), std::string::npos) << err;
  setenv("FOVEA_EMULATE_LIMIT", "soon", 1);
  EXPECT_EQ(run({path("endless.ptx"), "--launch", path("launch.json")}, nullptr, &err), 2);
  EXPECT_NE(err.find("FOVEA_EMULATE_LIMIT=soon: expected a number from 1 to 18446744073709551615"), std::string::npos) << err;
  EXPECT_EQ(err.find("launch file"), std::string::npos) << err;
  unsetenv("FOVEA_EMULATE_LIMIT");
}

TEST_F(EmulateCommand, TakesAValueBehindAnEqualsSign) {
  write("endless.ptx", ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 out) {\nL: bra L;\n}\n");
  std::string out;
  EXPECT_EQ(run({path("endless.ptx"), "--launch=" + path("launch.json"), "--async=eager", "--seed=7", "--limit=0x1388", "--threads=1", "--report=json",
                 "--trace=" + path("trace.json"), "-o=" + path("to=folder")}, &out), 1);
  EXPECT_NE(Json::parse(out)["findings"][0]["message"].get<std::string>().find("more than 5000 warp instructions"), std::string::npos) << out;
  EXPECT_TRUE(Json::parse(read("trace.json")).contains("traceEvents"));
  EXPECT_TRUE(std::filesystem::exists(path("to=folder/out.npy")));
}

TEST_F(EmulateCommand, RefusesAWrongMap) {
  auto says = [&](const std::string &map, const std::string &message) {
    write("map.json", R"({"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "buffers": {"a": {"bytes": 4096, "fill": "zero"}}, "params": [{"tensor_map":
      {"buffer": "a", "dtype": "u8", "dims": [16, 4, 4], "strides": [16, 64])" + map + "}}]}");
    std::string err;
    EXPECT_EQ(run({path("k.ptx"), "--launch", path("map.json")}, nullptr, &err), 2);
    EXPECT_NE(err.find(message), std::string::npos) << err;
  };
  says("", "tensor_map: expected either 'box' or 'im2col', found neither");
  says(R"(, "box": [16, 1, 1], "im2col": {})", "tensor_map: expected either 'box' or 'im2col', found both");
  says(R"(, "im2col": {"lower": [0], "upper": [0], "channels": 16})", "tensor_map.im2col: 'pixels' is missing");
  says(R"(, "im2col": {"lower": [0, 0], "upper": [0, 0], "channels": 16, "pixels": 4})",
       "tensor_map.im2col: of 3 to 5 dimensions, lower and upper have one entry for each between the first and the last");
  says(R"(, "im2col": {"lower": [0], "upper": [-4], "channels": 16, "pixels": 4})", "tensor_map: the pixel box must not be empty, found 0..-1 in dimension 1");
  says(R"(, "im2col": {"lower": [0], "upper": [0], "channels": 4294967312, "pixels": 4})", "channels: expected an integer from 0 to 4294967295, found 4294967312");
  says(R"(, "im2col": {"lower": [4294967296], "upper": [0], "channels": 16, "pixels": 4})", "lower: expected an integer from -2147483648 to 2147483647, found 4294967296");
  says(R"(, "box": [16, -4294967292, 1])", "box: expected an integer from 0 to 4294967295, found -4294967292");
}

TEST_F(EmulateCommand, RefusesNumbersThatDoNotFit) {
  auto says = [&](const std::string &launch, const std::string &message) {
    write("odd.json", R"({"kernel": "k", "params": [{"buffer": "a"}], )" + launch + "}");
    std::string err;
    EXPECT_EQ(run({path("k.ptx"), "--launch", path("odd.json")}, nullptr, &err), 2);
    EXPECT_NE(err.find(message), std::string::npos) << err;
  };
  says(R"("grid": [4294967297, 1, 1], "block": [64, 1, 1], "buffers": {"a": {"bytes": 64}})", "grid: expected an integer from 0 to 4294967295, found 4294967297");
  says(R"("grid": [1], "block": [-1], "buffers": {"a": {"bytes": 64}})", "block: expected an integer from 0 to 4294967295, found -1");
  says(R"("grid": [1], "block": [64], "dynamic_smem": 4294967296, "buffers": {"a": {"bytes": 64}})", "dynamic_smem: expected an integer from 0 to 4294967295, found 4294967296");
  says(R"("grid": [1], "block": [64], "buffers": {"a": {"bytes": -1}})", "buffers.a.bytes: expected an integer from 0 to 18446744073709551615, found -1");
  says(R"("grid": [1], "block": [64], "buffers": {"a": {"bytes": 64}}, "seed": -1)", "seed: expected an integer from 0 to 18446744073709551615, found -1");
  says(R"("grid": [1], "block": [64], "buffers": {"a": {"bytes": 64}}, "seed": 18446744073709551616)", "seed: expected an integer, found 1.8446744073709552e+19");
  says(R"("grid": [1], "block": [64], "buffers": {"a": {"bytes": 64, "align": -256}})", "align: expected an integer from 0 to 18446744073709551615, found -256");
  says(R"("grid": [1], "block": [64], "buffers": {"a": {"bytes": 4611686018427387904, "fill": "zero"}})", "buffers.a: this machine has no memory for its 4611686018427387904 bytes");
}

TEST_F(EmulateCommand, RefusesParametersThatDoNotFit) {
  auto says = [&](const std::string &parameter, const std::string &message) {
    write("odd.json", R"({"kernel": "k", "grid": [1], "block": [64], "buffers": {"a": {"bytes": 256}}, "params": [)" + parameter + "]}");
    std::string err;
    EXPECT_EQ(run({path("k.ptx"), "--launch", path("odd.json")}, nullptr, &err), message.empty() ? 0 : 2);
    EXPECT_NE(err.find(message), std::string::npos) << err;
  };
  says(R"({"buffer": "a", "offset": 9223372036854775808})", "params.offset: expected an integer from -9223372036854775808 to 9223372036854775807, found 9223372036854775808");
  says(R"({"u8": 256})", "u8: expected an integer from 0 to 255, found 256");
  says(R"({"u16": -1})", "u16: expected an integer from 0 to 65535, found -1");
  says(R"({"u32": 4294967296})", "u32: expected an integer from 0 to 4294967295, found 4294967296");
  says(R"({"u64": -1})", "u64: expected an integer from 0 to 18446744073709551615, found -1");
  says(R"({"i8": -129})", "i8: expected an integer from -128 to 127, found -129");
  says(R"({"i16": 32768})", "i16: expected an integer from -32768 to 32767, found 32768");
  says(R"({"i32": 4294967295})", "i32: expected an integer from -2147483648 to 2147483647, found 4294967295");
  says(R"({"i64": 9223372036854775808})", "i64: expected an integer from -9223372036854775808 to 9223372036854775807, found 9223372036854775808");
  says(R"({"struct": {"bytes": -1}})", "struct.bytes: expected an integer from 0 to 65535, found -1");
  says(R"({"struct": {"bytes": 8, "fields": [{"at": -8, "u64": 0}]}})", "struct.at: expected an integer from 0 to 18446744073709551615, found -8");
  says(R"({"struct": {"bytes": 8, "fields": [{"at": 0, "buffer": "a", "offset": -0}]}})", "");
}

TEST_F(EmulateCommand, RefusesAKeyGivenTwice) {
  auto says = [&](const std::string &launch, const std::string &key) {
    write("odd.json", launch);
    std::string err;
    EXPECT_EQ(run({path("k.ptx"), "--launch", path("odd.json")}, nullptr, &err), 2);
    EXPECT_NE(err.find("odd.json: the key '" + key + "' stands twice in one object"), std::string::npos) << err;
  };
  says(R"({"kernel": "k", "grid": [1], "block": [64], "grid": [2]})", "grid");
  says(R"({"kernel": "k", "grid": [1], "block": [64], "buffers": {"a": {"bytes": 64}, "a": {"bytes": 256}}, "params": [{"buffer": "a"}]})", "a");
}

TEST_F(EmulateCommand, RefusesAWrongEnvironment) {
  struct Case { const char *name, *value, *message; } cases[] = {
      {"FOVEA_EMULATE_DETECT", "banana", "FOVEA_EMULATE_DETECT=banana: expected 0 or 1"},
      {"FOVEA_EMULATE_DETECT", "2", "FOVEA_EMULATE_DETECT=2: expected 0 or 1"},
      {"FOVEA_EMULATE_LIMIT", "0", "FOVEA_EMULATE_LIMIT=0: expected a number from 1 to 18446744073709551615"},
      {"FOVEA_EMULATE_SEED", " 1", "FOVEA_EMULATE_SEED= 1: expected a number from 0 to 18446744073709551615"},
      {"FOVEA_EMULATE_SEED", "1 ", "FOVEA_EMULATE_SEED=1 : expected a number from 0 to 18446744073709551615"},
      {"FOVEA_EMULATE_SEED", " -1", "FOVEA_EMULATE_SEED= -1: expected a number from 0 to 18446744073709551615"},
      {"FOVEA_EMULATE_LIMIT", "\t5", "FOVEA_EMULATE_LIMIT=\t5: expected a number from 1 to 18446744073709551615"},
      {"FOVEA_EMULATE_THREADS", "+1", "FOVEA_EMULATE_THREADS=+1: expected a number from 0 to 1024"},
      {"FOVEA_EMULATE_SEED", "99999999999999999999", "FOVEA_EMULATE_SEED=99999999999999999999: expected a number from 0 to 18446744073709551615"},
      {"FOVEA_EMULATE_THREADS", "4294967297", "FOVEA_EMULATE_THREADS=4294967297: expected a number from 0 to 1024"},
      {"FOVEA_EMULATE_ASYNC", "soon", "FOVEA_EMULATE_ASYNC=soon: expected lazy, eager or random"}};
  for (const Case &c : cases) {
    std::string err;
    setenv(c.name, c.value, 1);
    EXPECT_EQ(run({path("k.ptx"), "--launch", path("launch.json")}, nullptr, &err), 2);
    EXPECT_NE(err.find(c.message), std::string::npos) << err;
    setenv(c.name, "", 1);
    EXPECT_EQ(run({path("k.ptx"), "--launch", path("launch.json")}, nullptr, &err), 0) << err;
    unsetenv(c.name);
  }
}

TEST_F(EmulateCommand, RefusesAWrongCommandLine) {
  std::string err;
  auto says = [&](std::vector<std::string> arguments, const std::string &message) {
    EXPECT_EQ(run(arguments, nullptr, &err), 2);
    EXPECT_EQ(err.substr(0, err.find('\n')), "fovea emulate: " + message);
  };
  says({path("k.ptx")}, "--launch is missing");
  says({"--launch"}, "'--launch' needs a value");
  says({"--colour"}, "unknown option '--colour'");
  says({"a.ptx", "b.ptx"}, "more than one PTX file");
  says({"--launch", "x", "--limit", "-1"}, "'--limit' needs a number from 1 to 18446744073709551615, found '-1'");
  says({"--launch", "x", "--limit", "0"}, "'--limit' needs a number from 1 to 18446744073709551615, found '0'");
  says({"--launch", "x", "--seed", "18446744073709551616"}, "'--seed' needs a number from 0 to 18446744073709551615, found '18446744073709551616'");
  says({"--launch", "x", "--threads", "4294967297"}, "'--threads' needs a number from 0 to 1024, found '4294967297'");
  says({"--launch", "x", "-o", ""}, "'-o' needs a value, found an empty one");
  says({"--launch", "x", "--seed", " 1"}, "'--seed' needs a number from 0 to 18446744073709551615, found ' 1'");
  says({"--launch=x", "--limit=-1"}, "'--limit' needs a number from 1 to 18446744073709551615, found '-1'");
  says({"--launch="}, "'--launch' needs a value, found an empty one");
  says({"--launch=x", "--launch", "y"}, "'--launch' is given twice");
  says({"--launch=x", "--async=soon"}, "--async is lazy, eager or random, found 'soon'");
  says({"--launch=x", "--detect=1"}, "'--detect' takes no value, found '1'");
  says({"--colour=red"}, "unknown option '--colour'");
  says({"--launch", "x", "--async", ""}, "'--async' needs a value, found an empty one");
  says({"--launch", "x", "--launch", "y"}, "'--launch' is given twice");
  says({"--launch", "x", "--detect", "--detect"}, "'--detect' is given twice");
  says({"--launch", "x", "--report", "xml"}, "--report is text or json, found 'xml'");
  says({"--launch", "x", "--detect", "--trace", "t"}, "--detect and --trace each watch the whole launch; give one of them");
  says({path("k.ptx"), "--launch", path("none.json")}, path("none.json") + ": cannot be opened");
  says({"--launch", "x", "--async", "soon"}, "--async is lazy, eager or random, found 'soon'");
  says({path("k.ptx"), "--launch", path("launch.json"), "--trace", path("no/such/folder")},
       "--trace " + path("no/such/folder") + ": cannot be written: No such file or directory");
  says({path("k.ptx"), "--launch", path("launch.json"), "-o", path("k.ptx") + "/out"}, "-o " + path("k.ptx") + "/out: cannot be written: Not a directory");
}

} // namespace
