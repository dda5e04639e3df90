#include "admin/minute_book.h"

#include <gtest/gtest.h>

#include "base/json_range.h"
#include "base/json_reader.h"

namespace queen::admin {
namespace {

constexpr int64_t kMinute = MinuteBook::kMinuteMicros;
constexpr int64_t kTen = 600 * kMinute;  // 10:00 of the first day

BrokerSample Sample(const std::string& queue, int64_t pushed, int64_t age_max_ms = 0) {
  BrokerSample sample;
  state::QueueTotals totals;
  totals.pushed = pushed;
  totals.age_max_ms = age_max_ms;
  sample.queues.push_back({queue, totals});
  return sample;
}

// The rows of an array as "minute queue pushed".
std::vector<std::string> Read(const std::string& json) {
  std::vector<std::string> rows;
  const Result<JsonValue> value = ParseJson(json);
  EXPECT_TRUE(value.ok()) << json;
  JsonScratch scratch;
  for (const JsonValue row : JsonElements(*value)) {
    std::string text(row.Find("minute").Text(scratch).text);
    text = text.substr(11, 5);
    if (!row.Find("queue").absent()) {
      text += " " + std::string(row.Find("queue").Text(scratch).text);
    }
    rows.push_back(text + " " + std::string(row.Find("pushed").raw()));
  }
  return rows;
}

using Lines = std::vector<std::string>;

class MinuteBookTest : public testing::Test {
 protected:
  Lines Queues() { return Read(book_.Write().queues); }
  Lines Brokers() { return Read(book_.Write().brokers); }
  // A write that reaches PostgreSQL and is answered.
  void Store() { book_.Confirm(book_.Write().flush); }

  MinuteBook book_{{.broker = 7, .hostname = "host", .port = 6632, .workers = 2}, 3};
};

TEST_F(MinuteBookTest, WhatIsNewBelongsToTheMinuteOfTheLook) {
  book_.Take(kTen + 1, kTen + 1, Sample("a", 5));
  book_.Take(kTen + kMinute - 1, kTen + kMinute, Sample("a", 7));
  book_.Take(kTen + kMinute, kTen + kMinute + 5, Sample("a", 10));
  EXPECT_EQ(Queues(), (Lines{"10:00 a 7", "10:01 a 3"}));
  EXPECT_EQ(Brokers(), (Lines{"10:00 7", "10:01 3"}));
}

TEST_F(MinuteBookTest, TotalsOfSeveralWorkersAreAdded) {
  BrokerSample sample = Sample("a", 5);
  sample.queues.push_back({"a", Sample("a", 2).queues[0].totals});
  sample.queues.push_back({"b", Sample("b", 1).queues[0].totals});
  book_.Take(kTen, kTen, sample);
  EXPECT_EQ(Queues(), (Lines{"10:00 a 7", "10:00 b 1"}));
  EXPECT_EQ(Brokers(), (Lines{"10:00 8"}));
}

TEST_F(MinuteBookTest, OnlyWhatHasChangedIsWrittenAgain) {
  BrokerSample sample = Sample("a", 5);
  sample.queues.push_back(Sample("b", 1).queues[0]);
  book_.Take(kTen, kTen, sample);
  Store();
  EXPECT_TRUE(book_.Write().empty());
  sample.queues[0].totals.pushed = 6;
  book_.Take(kTen, kTen, sample);
  EXPECT_EQ(Queues(), (Lines{"10:00 a 6"})) << "absolute, and only the one that changed";
}

TEST_F(MinuteBookTest, AWriteThatWasNotAnsweredIsRepeatedWithWhatCameSince) {
  book_.Take(kTen, kTen, Sample("a", 5));
  const int64_t lost = book_.Write().flush;
  book_.Take(kTen + kMinute, kTen + kMinute, Sample("a", 6));
  EXPECT_EQ(Queues(), (Lines{"10:00 a 5", "10:01 a 1"}));
  // Its answer comes after all, late: what came since is still not known to be stored.
  book_.Confirm(lost);
  EXPECT_EQ(Queues(), (Lines{"10:01 a 1"}));
}

TEST_F(MinuteBookTest, AMinuteIsForgottenWhenItIsOverAndStored) {
  book_.Take(kTen, kTen, Sample("a", 5));
  Store();
  EXPECT_EQ(book_.minutes(), 1U) << "it may go on";
  book_.Take(kTen + kMinute, kTen + kMinute, Sample("a", 5));
  EXPECT_EQ(Queues(), Lines{}) << "nothing was done in it";
  EXPECT_EQ(Brokers(), (Lines{"10:01 0"})) << "but the broker was there";
  Store();
  EXPECT_EQ(book_.minutes(), 1U);
}

TEST_F(MinuteBookTest, WhileNothingIsStoredTheNewestMinutesAreKept) {
  size_t given_up = 0;
  for (int64_t i = 0; i < 70; ++i) {
    given_up += book_.Take(kTen + i * kMinute, kTen + i * kMinute, Sample("a", i + 1));
  }
  EXPECT_EQ(given_up, 10U);
  EXPECT_EQ(book_.minutes(), MinuteBook::kMinutesMax);
  EXPECT_EQ(Queues().front(), "10:10 a 1");
  EXPECT_EQ(Queues().back(), "11:09 a 1");
}

TEST_F(MinuteBookTest, QueuesBeyondTheBoundShareARowAndNothingIsCountedTwice) {
  BrokerSample sample;
  for (const char* queue : {"a", "b", "c", "d", "e"}) {
    sample.queues.push_back(Sample(queue, 1).queues[0]);
  }
  book_.Take(kTen, kTen, sample);
  for (auto& entry : sample.queues) entry.totals.pushed = 2;
  book_.Take(kTen, kTen, sample);
  int64_t total = 0;
  for (const std::string& row : Queues()) total += std::stoll(row.substr(row.rfind(' ')));
  EXPECT_EQ(total, 10);
  EXPECT_EQ(Queues().size(), 4U) << "three of their own, and the others";
  EXPECT_EQ(Queues().front(), "10:00  4");
}

TEST_F(MinuteBookTest, AgesAndGaugesAreThoseOfTheMinute) {
  BrokerSample first = Sample("a", 1, 900);
  first.of(Gauge::kSlotsBusy) = 4;
  book_.Take(kTen, kTen, first);
  BrokerSample second = Sample("a", 2, 100);
  second.of(Gauge::kSlotsBusy) = 2;
  second.waiting_on["a"] = 3;
  book_.Take(kTen, kTen, second);
  const MinuteBook::Rows rows = book_.Write();
  EXPECT_NE(rows.queues.find("\"age_max_ms\":900"), std::string::npos) << rows.queues;
  EXPECT_NE(rows.queues.find("\"parked_sum\":3,\"parked_max\":3"), std::string::npos);
  EXPECT_NE(rows.brokers.find("\"slots_busy\":{\"sum\":6,\"min\":2,\"max\":4,\"last\":2}"),
            std::string::npos)
      << rows.brokers;
  EXPECT_NE(rows.brokers.find("\"looks\":2"), std::string::npos);
}

}  // namespace
}  // namespace queen::admin
