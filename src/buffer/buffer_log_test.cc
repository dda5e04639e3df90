#include "buffer/buffer_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <optional>

#include "buffer/testing.h"

namespace queen::buffer {
namespace {

std::string BodyOf(const std::string& text) {
  return EncodeBody({"queue", "partition", 1, {{text, "{}", ""}}});
}

std::string TextOf(std::string_view body) {
  Group group;
  return DecodeBody(body, group) ? std::string(group.messages[0].txn) : "?";
}

// One life of a log on a directory that outlives it.
struct Life {
  explicit Life(Directory& directory, BufferLog::Options options = {})
      : failed(directory), log(directory, failed, options) {
    EXPECT_TRUE(failed.Open().ok());
    opened = log.Open([this](const Group& group) { found.emplace_back(group.messages[0].txn); });
    log.Start([] {});
  }
  ~Life() { log.Close(); }

  // Returns when it is durable, or has failed.
  Status Append(const std::string& text) {
    std::promise<Status> done;
    const Status accepted =
        log.Append(BodyOf(text), 1, [&done](const Status& status) { done.set_value(status); });
    return accepted.ok() ? done.get_future().get() : accepted;
  }

  std::vector<std::string> Read() {
    std::vector<std::string> texts;
    while (log.HasUnread()) {
      auto records = log.Read();
      EXPECT_TRUE(records.ok());
      for (const BufferLog::Record& record : *records) {
        texts.push_back(TextOf(record.body));
        read.push_back(record.file);
      }
    }
    return texts;
  }

  void SettleAll() {
    for (const uint64_t file : read) log.Settle(file, 1);
    read.clear();
    log.RemoveSettled();
  }

  FailedFiles failed;
  BufferLog log;
  Status opened;
  std::vector<std::string> found;
  std::vector<uint64_t> read;
};

using Texts = std::vector<std::string>;

TEST(BufferLog, KeepsAReserveOfTheDiskFree) {
  MemoryDirectory directory;
  Life life(directory, {.free_bytes_min = 1'000'000});
  EXPECT_TRUE(life.Append("a").ok());
  directory.SetFreeBytes(1'000'010);
  const auto before = directory.contents();
  const Status refused = life.Append("b");
  EXPECT_EQ(refused.code(), Code::kDiskFull);
  for (const auto* part : {"/memory", "1000010", "1000000", "FILE_BUFFER_MIN_FREE_BYTES"}) {
    EXPECT_NE(refused.message().find(part), std::string::npos) << refused.message();
  }
  EXPECT_EQ(directory.contents(), before) << "not a byte of the reserve is used";
  EXPECT_FALSE(life.log.stats().healthy);
  directory.SetFreeBytes(2'000'000);
  EXPECT_TRUE(life.Append("c").ok());
  EXPECT_TRUE(life.log.stats().healthy);
  EXPECT_EQ(life.Read(), (Texts{"a", "c"}));
}

TEST(BufferLog, WhatWasAppendedSurvivesALossOfPower) {
  MemoryDirectory directory;
  std::optional<Life> life(directory);
  for (const auto* text : {"a", "b", "c"}) EXPECT_TRUE(life->Append(text).ok());
  life.reset();
  directory.LosePower();
  Life next(directory);
  EXPECT_EQ(next.found, (Texts{"a", "b", "c"}));
  EXPECT_EQ(next.log.outstanding(), 3);
  EXPECT_EQ(next.Read(), (Texts{"a", "b", "c"}));
}

TEST(BufferLog, AReaderFollowsTheWriterAndDoneFilesAreRemoved) {
  MemoryDirectory directory;
  Life life(directory);
  EXPECT_TRUE(life.Append("a").ok());
  EXPECT_EQ(life.Read(), Texts{"a"});
  EXPECT_TRUE(life.Append("b").ok());
  EXPECT_EQ(life.Read(), Texts{"b"});
  EXPECT_EQ(life.log.stats().messages, 2);
  life.SettleAll();
  EXPECT_TRUE(directory.contents().empty());
  EXPECT_EQ(life.log.stats().messages, 0);
  EXPECT_EQ(life.log.stats().bytes, 0);
  EXPECT_TRUE(life.Append("c").ok());
  EXPECT_EQ(life.Read(), Texts{"c"});
}

TEST(BufferLog, AFileIsKeptUntilEveryRecordOfItIsSettled) {
  MemoryDirectory directory;
  Life life(directory);
  for (const auto* text : {"a", "b"}) EXPECT_TRUE(life.Append(text).ok());
  life.Read();
  life.log.Settle(1, 1);
  life.log.RemoveSettled();
  EXPECT_EQ(directory.contents().size(), 1U);
  life.log.Settle(1, 1);
  life.log.RemoveSettled();
  EXPECT_TRUE(directory.contents().empty());
}

TEST(BufferLog, FilesAreRotatedBySize) {
  MemoryDirectory directory;
  {
    Life life(directory, {.file_bytes = 300, .bytes_max = 100'000});
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(life.Append(std::to_string(i)).ok());
    EXPECT_GT(directory.contents().size(), 3U);
    for (const auto& [name, bytes] : directory.contents()) EXPECT_LE(bytes.size(), 300U);
  }
  Life next(directory);
  Texts expected;
  for (int i = 0; i < 20; ++i) expected.push_back(std::to_string(i));
  EXPECT_EQ(next.found, expected);
  EXPECT_EQ(next.Read(), expected);
  EXPECT_TRUE(next.Append("after").ok());
  EXPECT_EQ(next.Read(), Texts{"after"});
  next.SettleAll();
  EXPECT_TRUE(directory.contents().empty());
}

TEST(BufferLog, ItIsBoundedAndTakesMoreWhenFilesAreRemoved) {
  MemoryDirectory directory;
  Life life(directory, {.file_bytes = 300, .bytes_max = 1'000});
  int accepted = 0;
  Status status;
  while ((status = life.Append("some text")).ok()) ++accepted;
  EXPECT_EQ(status.code(), Code::kOverloaded);
  EXPECT_GT(accepted, 3);
  EXPECT_LE(life.log.stats().bytes, 1'000);
  EXPECT_EQ(life.Read().size(), static_cast<size_t>(accepted));
  life.SettleAll();
  EXPECT_TRUE(life.Append("again").ok());
}

TEST(BufferLog, AppendsThatMeetAreSyncedTogether) {
  MemoryDirectory directory;
  FailedFiles failed(directory);
  BufferLog log(directory, failed, {});
  std::vector<std::promise<Status>> done(100);
  for (auto& promise : done) {
    EXPECT_TRUE(
        log.Append(BodyOf("x"), 1, [&promise](const Status& status) { promise.set_value(status); })
            .ok());
  }
  log.Start([] {});
  for (auto& promise : done) EXPECT_TRUE(promise.get_future().get().ok());
  log.Close();
  EXPECT_EQ(directory.syncs(), 1);
}

class BufferLogFault : public testing::TestWithParam<Fault> {};

TEST_P(BufferLogFault, FailsTheAppendAndGoesOnInANewFile) {
  MemoryDirectory directory;
  std::optional<Life> life(directory);
  EXPECT_TRUE(life->Append("before").ok());
  if (GetParam() == Fault::kCreate || GetParam() == Fault::kDirectorySync) {
    life->Read();
    life->SettleAll();  // so that the next append begins a file
  }
  directory.SetFault(GetParam(), true);
  EXPECT_FALSE(life->Append("lost").ok());
  EXPECT_FALSE(life->log.stats().healthy);
  directory.SetFault(GetParam(), false);
  EXPECT_TRUE(life->Append("after").ok());
  EXPECT_TRUE(life->log.stats().healthy);
  const Texts seen = life->Read();
  EXPECT_EQ(seen.back(), "after");
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "lost"), 0);
  life.reset();
  Life next(directory);
  EXPECT_EQ(next.found.back(), "after");
  EXPECT_EQ(std::count(next.found.begin(), next.found.end(), "lost"), 0);
  EXPECT_EQ(next.failed.damaged_ranges(), 0);
  next.Read();
  next.SettleAll();
  EXPECT_TRUE(directory.contents().empty());
}

INSTANTIATE_TEST_SUITE_P(All, BufferLogFault,
                         testing::Values(Fault::kAppend, Fault::kTornAppend, Fault::kSync,
                                         Fault::kCreate, Fault::kDirectorySync));

TEST(BufferLog, ATailThatCouldNotBeCutOffIsNotReplayed) {
  MemoryDirectory directory;
  {
    Life life(directory);
    EXPECT_TRUE(life.Append("before").ok());
    directory.SetFault(Fault::kSync, true);
    directory.SetFault(Fault::kTruncate, true);
    EXPECT_FALSE(life.Append("answered 503").ok());
    directory.SetFault(Fault::kSync, false);
    directory.SetFault(Fault::kTruncate, false);
    EXPECT_TRUE(life.Append("after").ok());
    EXPECT_EQ(life.Read(), (Texts{"before", "after"}));
  }
  Life next(directory);
  EXPECT_EQ(next.found, (Texts{"before", "after"}));
  EXPECT_EQ(next.failed.damaged_ranges(), 0);
}

TEST(BufferLog, ADamagedRecordIsSetAsideOnceAndTheOthersAreRead) {
  MemoryDirectory directory;
  {
    Life life(directory);
    for (const auto* text : {"one", "two", "three"}) EXPECT_TRUE(life.Append(text).ok());
  }
  auto [name, bytes] = *directory.contents().begin();
  bytes[bytes.find("two")] = 'T';
  directory.Put(name, bytes);
  for (int start = 0; start < 2; ++start) {
    Life life(directory);
    EXPECT_EQ(life.found, (Texts{"one", "three"}));
    EXPECT_EQ(life.Read(), (Texts{"one", "three"}));
    EXPECT_EQ(life.failed.damaged_ranges(), start == 0 ? 1 : 0);
    EXPECT_EQ(life.failed.files(), 1);
    EXPECT_EQ(life.log.outstanding(), 2);
  }
}

TEST(BufferLog, ATornTailIsSetAside) {
  MemoryDirectory directory;
  {
    Life life(directory);
    for (const auto* text : {"one", "two"}) EXPECT_TRUE(life.Append(text).ok());
  }
  auto [name, bytes] = *directory.contents().begin();
  directory.Put(name, bytes.substr(0, bytes.size() - 1));
  Life life(directory);
  EXPECT_EQ(life.found, Texts{"one"});
  EXPECT_EQ(life.failed.damaged_ranges(), 1);
}

TEST(BufferLog, DamageThatComesAfterTheStartDoesNotKeepTheLogWaiting) {
  MemoryDirectory directory;
  Life life(directory);
  for (const auto* text : {"one", "two"}) EXPECT_TRUE(life.Append(text).ok());
  auto [name, bytes] = *directory.contents().begin();
  bytes[bytes.find("two")] = 'T';
  directory.Put(name, bytes);
  EXPECT_EQ(life.Read(), Texts{"one"});
  EXPECT_EQ(life.log.outstanding(), 1);
  life.SettleAll();
  EXPECT_EQ(life.log.outstanding(), 0);
  EXPECT_EQ(life.log.messages(), 0);
  EXPECT_EQ(life.failed.damaged_ranges(), 1);
}

TEST(BufferLog, AFileWithoutAHeaderIsSetAsideWhole) {
  MemoryDirectory directory;
  directory.Put("00000000000000000003.log", "no header");
  Life life(directory);
  EXPECT_TRUE(life.opened.ok());
  EXPECT_EQ(life.failed.damaged_ranges(), 1);
  EXPECT_FALSE(directory.contents().contains("00000000000000000003.log"));
  EXPECT_TRUE(life.Append("x").ok());
  EXPECT_TRUE(directory.contents().contains("00000000000000000004.log"));
}

TEST(BufferLog, AfterCloseAppendsAreRefused) {
  MemoryDirectory directory;
  Life life(directory);
  life.log.Close();
  EXPECT_EQ(life.Append("x").code(), Code::kShuttingDown);
}

TEST(FailedFiles, RefusedMessagesAreLinesOfJson) {
  MemoryDirectory directory;
  FailedFiles failed(directory);
  std::string lines;
  const Group group{"q\"", "p", 0, {{"t", "{\n\"a\": 1}", ""}, {"u", "2", R"({"x":1})"}}};
  FailedFiles::AppendLine(group, group.messages[0], "Queue is full", lines);
  FailedFiles::AppendLine(group, group.messages[1], "bad", lines);
  EXPECT_TRUE(failed.SetAsideMessages(lines, 2).ok());
  ASSERT_EQ(directory.contents().size(), 1U);
  EXPECT_EQ(directory.contents().begin()->second,
            "{\"queue\":\"q\\\"\",\"partition\":\"p\",\"transactionId\":\"t\",\"error\":\"Queue is "
            "full\",\"meta\":null,\"payload\":{ \"a\": 1}}\n"
            "{\"queue\":\"q\\\"\",\"partition\":\"p\",\"transactionId\":\"u\",\"error\":\"bad\","
            "\"meta\":{\"x\":1},\"payload\":2}\n");
  EXPECT_EQ(failed.messages(), 2);
  directory.LosePower();
  EXPECT_EQ(directory.contents().size(), 1U);
}

}  // namespace
}  // namespace queen::buffer
