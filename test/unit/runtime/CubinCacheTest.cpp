// test/unit/runtime/CubinCacheTest.cpp - the disk cache under damage, concurrency and missing folders.
#include "runtime/core/CubinCache.h"
#include "runtime/core/File.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fovea;
namespace fs = std::filesystem;

namespace {

struct Cache : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("fovea_cache_test_" + std::to_string(getpid()));
  void TearDown() override { fs::remove_all(folder); }
};

/// A cubin whose bytes say which process wrote it, so that a mixture is recognised.
std::string cubinOf(int writer) { return std::string(100000, char('a' + writer)); }

bool isWhole(const std::string &cubin) { return cubin == std::string(100000, cubin.empty() ? 0 : cubin[0]); }

} // namespace

TEST_F(Cache, FindsWhatWasStored) {
  CubinCache cache(folder);
  EXPECT_EQ(cache.find("k"), std::nullopt);
  cache.store("k", "bytes");
  EXPECT_EQ(cache.find("k"), "bytes");
  EXPECT_EQ(cache.find("other"), std::nullopt);
}

TEST_F(Cache, RemovesDamagedFiles) {
  CubinCache cache(folder);
  for (auto damage : {+[](std::string text) { return text.substr(0, text.size() - 1); },
                      +[](std::string text) { return text + "x"; }, +[](std::string) { return std::string(); },
                      +[](std::string text) { return text[70] ^= 1, text; }}) {
    cache.store("k", "a long enough cubin");
    std::string path = folder / "k.cubin";
    ASSERT_TRUE(writeFileAtomically(path, damage(*readFile(path))));
    EXPECT_EQ(cache.find("k"), std::nullopt);
    EXPECT_FALSE(fs::exists(path));
  }
}

TEST_F(Cache, SurvivesConcurrentWritersAndKills) {
  CubinCache cache(folder);
  std::vector<pid_t> writers;
  for (int w = 0; w < 4; ++w) {
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0)
      for (;;)
        cache.store("k", cubinOf(w));
    writers.push_back(pid);
  }
  int found = 0;
  for (int i = 0; i < 2000 && found < 300; ++i) {
    if (auto cubin = cache.find("k")) {
      ++found;
      ASSERT_TRUE(isWhole(*cubin));
    } else
      usleep(1000);
  }
  for (pid_t pid : writers) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  EXPECT_GT(found, 0);
  auto left = cache.find("k");
  ASSERT_TRUE(left.has_value());
  EXPECT_TRUE(isWhole(*left));
}

TEST_F(Cache, IsSilentWhenItCannotWrite) {
  CubinCache cache("/proc/nowhere");
  cache.store("k", "bytes");
  EXPECT_EQ(cache.find("k"), std::nullopt);
}

TEST_F(Cache, FollowsTheEnvironment) {
  setenv("FOVEA_CACHE", "0", 1);
  EXPECT_FALSE(CubinCache::fromEnvironment()->enabled());
  setenv("FOVEA_CACHE", "banana", 1);
  EXPECT_EQ(CubinCache::fromEnvironment().message(), "FOVEA_CACHE=banana: expected 0 or 1");
  unsetenv("FOVEA_CACHE");
  setenv("FOVEA_CACHE_DIR", folder.c_str(), 1);
  EXPECT_TRUE(CubinCache::fromEnvironment()->enabled());
  unsetenv("FOVEA_CACHE_DIR");
}

TEST_F(Cache, KeysDependOnEverythingThatChangesTheCode) {
  DeviceFacts hopper, blackwell;
  hopper.computeMajor = 9;
  blackwell.computeMajor = 10;
  std::string key = CubinCache::keyOf("ptx", hopper, 13000);
  EXPECT_EQ(key, CubinCache::keyOf("ptx", hopper, 13000));
  EXPECT_NE(key, CubinCache::keyOf("ptx2", hopper, 13000));
  EXPECT_NE(key, CubinCache::keyOf("ptx", blackwell, 13000));
  EXPECT_NE(key, CubinCache::keyOf("ptx", hopper, 13010));
}
