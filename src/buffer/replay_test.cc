#include "buffer/replay.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <optional>

#include "buffer/testing.h"

namespace queen::buffer {
namespace {

using sidecar::PushOutcome;
using sidecar::PushRequest;
using Outcome = PushOutcome::Status;

// A log, its replay, and a push queue that keeps what it is given until the test answers.
class ReplayTest : public testing::Test {
 protected:
  ~ReplayTest() override { End(); }

  void Begin() {
    failed_.emplace(directory_);
    ASSERT_TRUE(failed_->Open().ok());
    log_.emplace(directory_, *failed_, BufferLog::Options{.file_bytes = 200});
    ASSERT_TRUE(
        log_->Open([this](const Group& group) { held_.Add(group.queue, group.partition); }).ok());
    replay_.emplace(*log_, held_, *failed_, pace_,
                    Replay::Limits{.records_max = records_max_, .retry_ms = 1});
    log_->Start([this] { replay_->Wake(); });
    replay_->Start([this](std::string_view, PushRequest request) {
      const std::lock_guard lock(mutex_);
      requests_.push_back(std::move(request));
      changed_.notify_all();
    });
  }

  void End() {
    if (!replay_) return;
    replay_->Stop();
    log_->Close();
    replay_.reset();
    log_.reset();
  }

  void Append(const std::string& partition, const std::string& txn) {
    std::promise<Status> done;
    held_.Add("q", partition);
    ASSERT_TRUE(
        log_->Append(EncodeBody({"q", partition, 1, {{txn, "{}", ""}, {txn + "'", "1", ""}}}), 2,
                     [&done](const Status& status) { done.set_value(status); })
            .ok());
    ASSERT_TRUE(done.get_future().get().ok());
  }

  // The transactionId of request `index`, once it is there.
  std::string TxnOf(size_t index) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return requests_.size() > index; });
    EXPECT_TRUE(requests_[index].replay);
    return std::string(requests_[index].items[0].txn);
  }

  void Answer(size_t index, Outcome first, Outcome second) {
    TxnOf(index);
    std::vector<PushOutcome> outcomes(2);
    outcomes[0].status = first;
    outcomes[1].status = second;
    outcomes[0].error = outcomes[1].error = "refused";
    PushRequest request;
    {
      const std::lock_guard lock(mutex_);
      request = std::move(requests_[index]);
    }
    request.done(request, std::move(outcomes));
  }

  size_t LogFiles() const {
    size_t count = 0;
    for (const auto& [name, bytes] : directory_.contents()) count += name.ends_with(".log") ? 1 : 0;
    return count;
  }

  void WaitForLogFiles(size_t count) {
    while (LogFiles() != count) std::this_thread::yield();
  }

  size_t requests() {
    const std::lock_guard lock(mutex_);
    return requests_.size();
  }

  MemoryDirectory directory_;
  int64_t records_max_ = 100;
  HeldPartitions held_;
  DrainPace pace_;
  std::optional<FailedFiles> failed_;
  std::optional<BufferLog> log_;
  std::optional<Replay> replay_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PushRequest> requests_;  // guarded by mutex_
};

TEST_F(ReplayTest, RecordsComeInOrderAndTheirFilesGoWhenAllAreSettled) {
  Begin();
  for (const auto* txn : {"a", "b", "c"}) Append("p", txn);
  EXPECT_EQ(LogFiles(), 3U);
  for (const auto* txn : {"a", "b", "c"}) EXPECT_EQ(TxnOf(static_cast<size_t>(*txn - 'a')), txn);
  Answer(1, Outcome::kQueued, Outcome::kQueued);
  Answer(2, Outcome::kDuplicate, Outcome::kQueued);
  EXPECT_TRUE(held_.Contains("q", "p"));
  EXPECT_EQ(LogFiles(), 3U);  // the first is not settled, and they go in order
  Answer(0, Outcome::kDuplicate, Outcome::kDuplicate);
  EXPECT_FALSE(held_.Contains("q", "p"));
  WaitForLogFiles(0);
  EXPECT_EQ(log_->outstanding(), 0);
}

TEST_F(ReplayTest, WhatIsNotSettledIsReplayedByTheNextOne) {
  Begin();
  for (const auto* txn : {"a", "b"}) Append("p", txn);
  Answer(0, Outcome::kQueued, Outcome::kQueued);
  WaitForLogFiles(1);
  End();
  directory_.LosePower();
  requests_.clear();
  held_.Remove("q", "p");
  Begin();
  EXPECT_EQ(TxnOf(0), "b");
  EXPECT_TRUE(held_.Contains("q", "p"));
}

TEST_F(ReplayTest, RefusedMessagesAreSetAsideBeforeTheirFileGoes) {
  Begin();
  Append("p", "a");
  directory_.SetFault(Fault::kCreate, true);  // they cannot be set aside for now
  Answer(0, Outcome::kFailed, Outcome::kQueued);
  EXPECT_FALSE(held_.Contains("q", "p")) << "what is behind does not wait";
  EXPECT_EQ(log_->outstanding(), 1);
  EXPECT_EQ(LogFiles(), 1U);
  directory_.SetFault(Fault::kCreate, false);
  WaitForLogFiles(0);
  EXPECT_EQ(failed_->messages(), 1);
  const auto contents = directory_.contents();
  ASSERT_EQ(contents.size(), 1U);
  EXPECT_NE(contents.begin()->second.find("\"transactionId\":\"a\""), std::string::npos);
}

TEST_F(ReplayTest, AFailureWhileStoppingIsNoRefusal) {
  Begin();
  Append("p", "a");
  TxnOf(0);
  replay_->Stop();
  Answer(0, Outcome::kFailed, Outcome::kFailed);
  EXPECT_EQ(failed_->messages(), 0);
  EXPECT_EQ(LogFiles(), 1U);
  EXPECT_EQ(log_->outstanding(), 1);
}

TEST_F(ReplayTest, WhilePausedNothingIsSubmitted) {
  Begin();
  replay_->SetPaused(true);
  Append("p", "a");
  Append("p", "b");
  EXPECT_EQ(requests(), 0U);
  replay_->SetPaused(false);
  EXPECT_EQ(TxnOf(0), "a");
  EXPECT_EQ(TxnOf(1), "b");
}

TEST_F(ReplayTest, OnlySoManyAreOnTheirWay) {
  records_max_ = 2;
  Begin();
  for (const auto* txn : {"a", "b", "c"}) Append("p", txn);
  TxnOf(1);
  EXPECT_EQ(requests(), 2U);
  Answer(0, Outcome::kQueued, Outcome::kQueued);
  EXPECT_EQ(TxnOf(2), "c");
}

}  // namespace
}  // namespace queen::buffer
