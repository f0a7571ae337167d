// test/unit/runtime/FileTest.cpp - files appear whole or not at all.
#include "runtime/core/File.h"

#include <filesystem>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace fovea;
namespace fs = std::filesystem;

namespace {
struct File : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("fovea_file_test_" + std::to_string(getpid()));
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
};
} // namespace

TEST_F(File, IsReplacedAtomically) {
  std::string path = folder / "a.txt";
  ASSERT_TRUE(writeFileAtomically(path, "first"));
  ASSERT_TRUE(writeFileAtomically(path, std::string(200000, 'x')));
  Expected<std::string> read = readFile(path);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->size(), 200000u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1); // no temporary is left
}

TEST_F(File, LeavesNothingBehindWhenItFails) {
  fs::create_directories(folder / "taken");
  Expected<void> result = writeFileAtomically(folder / "taken", "x");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.message(), "cannot write " + (folder / "taken").string() + ": it is a folder");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(File, LeavesPipesAndDevicesInPlace) {
  std::string path = folder / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK); // so that the writer finds one
  ASSERT_GE(reader, 0);
  ASSERT_TRUE(writeFileAtomically(path, "whole"));
  char bytes[8] = {};
  EXPECT_EQ(read(reader, bytes, sizeof bytes), 5);
  EXPECT_STREQ(bytes, "whole");
  close(reader);
  EXPECT_TRUE(fs::is_fifo(path)) << "a rename has replaced it";
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(File, SaysWhatIsWrong) {
  EXPECT_EQ(readFile("/nowhere/x").message(), "cannot read /nowhere/x: No such file or directory");
  EXPECT_EQ(readFile(folder).message(), "cannot read " + folder.string() + ": it is a folder");
  EXPECT_EQ(writeFileAtomically("/nowhere/x", "").message(), "cannot write /nowhere/x: No such file or directory");
}
