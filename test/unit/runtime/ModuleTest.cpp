// test/unit/runtime/ModuleTest.cpp - loading kernels, and every way in which a file can be the wrong one.
#include "FakeDriver.h"
#include "runtime/core/File.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace fovea;
using namespace fovea::test;
namespace fs = std::filesystem;

namespace {

const std::string kPtx = ".version 8.6\n.target sm_100a\n";

struct LoadModule : testing::Test {
  FakeDriver driver;
  Device device = driver.device();
  fs::path folder = fs::temp_directory_path() / ("fovea_module_test_" + std::to_string(getpid()));

  void SetUp() override {
    fs::create_directories(folder);
    write("small.ptx", kPtx);
    write("small.json", toJson(smallManifest(kPtx)));
  }
  void TearDown() override {
    fs::remove_all(folder);
    unsetenv("FOVEA_CACHE_DIR");
  }
  void write(const char *name, const std::string &text) { ASSERT_TRUE(writeFileAtomically(folder / name, text)); }
  Expected<Module> load() { return Module::load(device, (folder / "small.json").string()); }
  std::string problem() {
    Expected<Module> module = load();
    return module ? "no error" : module.message();
  }
  std::string json() const { return (folder / "small.json").string(); }
};

} // namespace

TEST_F(LoadModule, PreparesTheFunctions) {
  {
    Expected<Module> module = load();
    ASSERT_TRUE(module) << module.message();
    EXPECT_EQ(fake().images, std::vector<std::string>{kPtx});
    EXPECT_EQ(fake().functionAttributes["8"], 49184); // max dynamic shared memory
    EXPECT_EQ(fake().functionAttributes.count("14"), 0u);
    Module copy = *module;
    auto facts = copy.kernelFacts();
    ASSERT_TRUE(facts);
    EXPECT_EQ((*facts)[0].registers, 40);
    EXPECT_EQ((*facts)[0].ctasPerSm, 4);
    EXPECT_EQ(fake().modules, 1);
  }
  EXPECT_EQ(fake().modules, 0);
}

TEST_F(LoadModule, AllowsLargeClusters) {
  Manifest manifest = smallManifest(kPtx);
  manifest.kernels[0].cluster = {16, 1, 1};
  ASSERT_TRUE(Module::load(device, kPtx, manifest));
  EXPECT_EQ(fake().functionAttributes["14"], 1); // non-portable cluster size
}

TEST_F(LoadModule, RefusesMissingFiles) {
  EXPECT_EQ(Module::load(device, (folder / "none.json").string()).message(),
            "cannot read " + (folder / "none.json").string() + ": No such file or directory");
  fs::remove(folder / "small.ptx");
  EXPECT_EQ(problem(), "cannot read " + (folder / "small.ptx").string() + ": No such file or directory (named by " +
                           json() + ")");
}

TEST_F(LoadModule, RefusesTruncatedPtx) {
  write("small.ptx", kPtx.substr(0, 10));
  EXPECT_NE(problem().find("the PTX of 'small' (10 bytes, sha256"), std::string::npos) << problem();
  EXPECT_TRUE(fake().images.empty());
}

TEST_F(LoadModule, RefusesAForeignManifestWithItsName) {
  write("small.json", "{\"fovea_manifest\": 7}");
  EXPECT_EQ(problem(), json() + ": the manifest has version 7, but this runtime reads version 3; recompile the spec "
                                "with the matching fovea");
}

TEST_F(LoadModule, RefusesAnotherChip) {
  fake().computeMajor = 9;
  device = driver.device();
  EXPECT_EQ(problem(), "'small' was compiled for sm_100a, but cuda:0 is 'Fake GPU' of compute capability 9.0; compile "
                       "with --target sm_90a");
  fake().computeMajor = 12;
  device = driver.device();
  EXPECT_EQ(problem(), "'small' was compiled for sm_100a, but cuda:0 is 'Fake GPU' of compute capability 12.0, for "
                       "which Fovea has no target (it has sm_100a, sm_90a); device \"emulator:sm_100a\" runs it "
                       "anywhere");
}

TEST_F(LoadModule, ShowsTheJitLog) {
  fake().failCall = "cuModuleLoadDataEx";
  fake().failWith = cu::CUDA_ERROR_INVALID_PTX;
  fake().jitLog = "ptxas application ptx input, line 3; error : Unknown symbol";
  EXPECT_EQ(problem(), "cuModuleLoadDataEx failed with CUDA_ERROR_INVALID_PTX (218): as told; while: load 'small' on "
                       "cuda:0; try: the PTX is damaged or was written for another architecture; recompile the "
                       "spec\nptxas application ptx input, line 3; error : Unknown symbol");
}

TEST_F(LoadModule, RefusesMoreSharedMemoryThanThereIs) {
  Manifest manifest = smallManifest(kPtx);
  manifest.kernels[0].dynamicSmem = 300000;
  EXPECT_EQ(Module::load(device, kPtx, manifest).message(),
            "'small_forward' needs 300000 bytes of shared memory per CTA, but cuda:0 offers 232448");
}

TEST_F(LoadModule, NamesAMissingEntry) {
  fake().failCall = "cuModuleGetFunction";
  fake().failWith = cu::CUDA_ERROR_NOT_FOUND;
  EXPECT_NE(problem().find("while: find the entry 'small_forward'; try: the PTX does not hold this name"),
            std::string::npos);
  EXPECT_EQ(fake().modules, 0);
}

TEST_F(LoadModule, CompilesOnceAndThenReadsTheCache) {
  setenv("FOVEA_CACHE", "1", 1);
  setenv("FOVEA_CACHE_DIR", (folder / "cache").c_str(), 1);
  ASSERT_TRUE(load());
  EXPECT_EQ(fake().count("cuLinkComplete"), 1);
  EXPECT_EQ(fake().images.back(), "cubin made by the fake linker");
  ASSERT_TRUE(load());
  EXPECT_EQ(fake().count("cuLinkComplete"), 1);
  EXPECT_EQ(fake().count("cuLinkDestroy"), 1);
  // Another driver must not use it.
  driver.api.version = 13010;
  ASSERT_TRUE(load());
  EXPECT_EQ(fake().count("cuLinkComplete"), 2);
}

TEST_F(LoadModule, ShowsTheLinkersLog) {
  setenv("FOVEA_CACHE", "1", 1);
  setenv("FOVEA_CACHE_DIR", (folder / "cache").c_str(), 1);
  fake().failCall = "cuLinkAddData_v2";
  fake().failWith = cu::CUDA_ERROR_INVALID_PTX;
  fake().jitLog = "line 3: unknown symbol";
  EXPECT_NE(problem().find("while: compile the PTX for cuda:0"), std::string::npos);
  EXPECT_NE(problem().find("\nline 3: unknown symbol"), std::string::npos);
}
