#include "buffer/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace queen::buffer {
namespace {

class Files : public testing::Test {
 protected:
  Files() {
    char name[] = "/tmp/queen-buffer-test.XXXXXX";
    root_ = mkdtemp(name);
  }
  ~Files() override { std::filesystem::remove_all(root_); }

  std::string root_;
};

TEST_F(Files, WhatIsAppendedIsRead) {
  auto directory = OpenDirectory(root_ + "/a/b");
  ASSERT_TRUE(directory.ok()) << directory.status().message();
  auto file = (*directory)->Create("one");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE((*file)->Append("0123456789").ok());
  EXPECT_TRUE((*file)->Truncate(8).ok());
  EXPECT_TRUE((*file)->Append("ab").ok());
  EXPECT_TRUE((*file)->Sync().ok());
  EXPECT_TRUE((*directory)->Sync().ok());
  EXPECT_EQ(*(*directory)->Read("one", 6, 100), "67ab");
  EXPECT_FALSE((*directory)->Create("one").ok());
  EXPECT_FALSE((*directory)->Read("two", 0, 1).ok());
  const auto entries = (*directory)->List();
  ASSERT_TRUE(entries.ok());
  EXPECT_EQ(entries->size(), 2U);  // and the lock
  EXPECT_TRUE((*directory)->Remove("one").ok());
  EXPECT_FALSE((*directory)->Remove("one").ok());
}

TEST_F(Files, OneBrokerPerDirectory) {
  auto first = OpenDirectory(root_ + "/buffer");
  ASSERT_TRUE(first.ok());
  const auto second = OpenDirectory(root_ + "/buffer");
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find("another broker uses it"), std::string::npos);
  EXPECT_NE(second.status().message().find(std::to_string(getpid())), std::string::npos);
  EXPECT_NE(second.status().message().find("FILE_BUFFER_DIR"), std::string::npos);
  first = Status(Code::kInternal);  // gives it up
  EXPECT_TRUE(OpenDirectory(root_ + "/buffer").ok());
}

TEST_F(Files, WhatIsNoDirectoryIsRefusedByName) {
  ASSERT_TRUE(OpenDirectory(root_ + "/d").ok());
  std::filesystem::copy_file("/proc/self/status", root_ + "/file");
  for (const auto* path : {"/file", "/file/below"}) {
    const auto refused = OpenDirectory(root_ + path);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.status().message().find(root_ + path), std::string::npos);
  }
}

}  // namespace
}  // namespace queen::buffer
