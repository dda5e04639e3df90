#include "buffer/file_buffer.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "buffer/testing.h"

namespace queen::buffer {
namespace {

using Route = sidecar::PushBuffer::Route;

// A buffer without a replay, and the loop of somebody who pushes.
class FileBufferTest : public testing::Test {
 protected:
  FileBufferTest() : thread_([this] { loop_.Run(); }) { Open({}); }
  ~FileBufferTest() override {
    Close();
    loop_.Stop();
    thread_.join();
  }

  void Open(const BufferLog::Options& options) {
    auto directory = std::make_unique<MemoryDirectory>();
    for (const auto& [name, bytes] : kept_) directory->Put(name, bytes);
    directory_ = directory.get();
    auto opened = FileBuffer::Open(std::move(directory), options);
    ASSERT_TRUE(opened.ok());
    buffer_ = *std::move(opened);
    buffer_->Start();
  }

  void Close() {
    buffer_->Close();
    kept_ = directory_->contents();
    buffer_.reset();
  }

  Status Append(std::string_view partition, int count = 1) {
    std::promise<Status> done;
    const std::vector<sidecar::BufferedMessage> messages(static_cast<size_t>(count),
                                                         {"txn", "{}", ""});
    buffer_->Append(loop_, "q", partition, messages, [&](const Status& status) {
      EXPECT_TRUE(loop_.IsOwner());
      done.set_value(status);
    });
    return done.get_future().get();
  }

  Loop loop_{"test"};
  std::thread thread_;
  std::map<std::string, std::string> kept_;
  MemoryDirectory* directory_ = nullptr;  // buffer_'s
  std::unique_ptr<FileBuffer> buffer_;
};

TEST_F(FileBufferTest, MessagesOfOneDatabaseAreNotForAnother) {
  const std::string one = "11111111-1111-4111-8111-111111111111";
  const std::string other = "22222222-2222-4222-8222-222222222222";
  EXPECT_TRUE(Append("a").ok()) << "before any database was met: it is for the first";
  EXPECT_TRUE(buffer_->Claim(one).ok());
  Close();
  Open({});
  const auto before = directory_->contents();
  const Status refused = buffer_->Claim(other);
  EXPECT_EQ(refused.code(), Code::kConflict);
  for (const std::string& part :
       {one, other, std::string("/memory"), std::string("FILE_BUFFER_DIR")})
    EXPECT_NE(refused.message().find(part), std::string::npos) << refused.message();
  EXPECT_EQ(directory_->contents(), before);
  EXPECT_TRUE(buffer_->Claim(one).ok());
}

TEST_F(FileBufferTest, ABufferThatIsEmptyAtTheStartIsNobodys) {
  EXPECT_TRUE(buffer_->Claim("11111111-1111-4111-8111-111111111111").ok());
  Close();
  Open({});
  EXPECT_TRUE(buffer_->Claim("22222222-2222-4222-8222-222222222222").ok());
}

TEST_F(FileBufferTest, ARunningBufferIsForTheLastDatabaseItMetWhileItWasEmpty) {
  const std::string one = "11111111-1111-4111-8111-111111111111";
  const std::string other = "22222222-2222-4222-8222-222222222222";
  EXPECT_TRUE(buffer_->Claim(one).ok());
  EXPECT_TRUE(buffer_->Claim(other).ok());
  EXPECT_EQ(buffer_->owner(), other);
  EXPECT_EQ(directory_->contents().at("database"), other);
  EXPECT_TRUE(Append("a").ok());
  EXPECT_EQ(buffer_->Claim(one).code(), Code::kConflict);
  EXPECT_EQ(buffer_->owner(), other);
}

TEST_F(FileBufferTest, ADatabaseIsAStrangerUntilTheDiskHasItsId) {
  const std::string id = "11111111-1111-4111-8111-111111111111";
  std::vector<std::string> strangers;
  buffer_->OnStranger([&](const std::string& met) { strangers.push_back(met); });
  buffer_->Meet(id);
  EXPECT_EQ(strangers, std::vector{id});
  directory_->SetFault(Fault::kSync, true);
  EXPECT_FALSE(buffer_->Claim(id).ok());
  EXPECT_EQ(buffer_->owner(), id) << "what is buffered is for it all the same";
  buffer_->Meet(id);
  EXPECT_EQ(strangers.size(), 2U);
  directory_->SetFault(Fault::kSync, false);
  EXPECT_TRUE(buffer_->Claim(id).ok());
  buffer_->Meet(id);
  EXPECT_EQ(strangers.size(), 2U);
}

TEST_F(FileBufferTest, AnOwnerThatWasCutOffByACrashIsNone) {
  EXPECT_TRUE(Append("a").ok());
  Close();
  kept_["database"] = "1111";
  Open({});
  EXPECT_TRUE(buffer_->Claim("22222222-2222-4222-8222-222222222222").ok());
  EXPECT_EQ(directory_->contents().at("database"), "22222222-2222-4222-8222-222222222222");
}

TEST_F(FileBufferTest, APartitionIsHeldFromItsFirstMessageAlsoAfterARestart) {
  EXPECT_FALSE(buffer_->active());
  EXPECT_EQ(buffer_->RouteOf("q", "p"), Route::kDirect);
  EXPECT_TRUE(Append("p", 3).ok());
  for (int start = 0; start < 2; ++start) {
    EXPECT_TRUE(buffer_->active());
    EXPECT_TRUE(buffer_->Holds("q", "p"));
    EXPECT_FALSE(buffer_->Holds("q", "other"));
    EXPECT_EQ(buffer_->RouteOf("q", "p"), Route::kWait);  // few: they are drained in a moment
    EXPECT_EQ(buffer_->RouteOf("q", "other"), Route::kDirect);
    const FileBufferStats stats = buffer_->stats();
    EXPECT_EQ(stats.pending_messages, 3);
    EXPECT_EQ(stats.pending_partitions, 1);
    EXPECT_GT(stats.bytes, 0);
    EXPECT_GT(stats.oldest_micros, 0);
    EXPECT_TRUE(stats.healthy);
    Close();
    Open({});
  }
}

TEST_F(FileBufferTest, ForcedBuffersEverything) {
  buffer_->SetForced(true);
  EXPECT_TRUE(buffer_->active());
  EXPECT_TRUE(buffer_->stats().forced);
  EXPECT_EQ(buffer_->RouteOf("q", "p"), Route::kBuffer);
  EXPECT_FALSE(buffer_->Holds("q", "p"));
  buffer_->SetForced(false);
  EXPECT_EQ(buffer_->RouteOf("q", "p"), Route::kDirect);
}

TEST_F(FileBufferTest, WhatIsNotKeptDoesNotHoldItsPartition) {
  directory_->SetFault(Fault::kSync, true);
  const Status failed = Append("p");
  EXPECT_EQ(failed.code(), Code::kDatabaseUnavailable);  // a 503
  EXPECT_FALSE(buffer_->Holds("q", "p"));
  EXPECT_FALSE(buffer_->active());
  EXPECT_FALSE(buffer_->stats().healthy);
  directory_->SetFault(Fault::kSync, false);
  EXPECT_TRUE(Append("p").ok());
  EXPECT_TRUE(buffer_->stats().healthy);
}

TEST_F(FileBufferTest, AFullBufferRefuses) {
  Close();
  Open({.file_bytes = 4096, .bytes_max = 1000});
  Status status;
  while ((status = Append("p")).ok()) {
  }
  EXPECT_EQ(status.code(), Code::kOverloaded);
  EXPECT_EQ(Append("other").code(), Code::kOverloaded);
  EXPECT_FALSE(buffer_->Holds("q", "other"));
  EXPECT_TRUE(buffer_->Holds("q", "p"));
}

}  // namespace
}  // namespace queen::buffer
