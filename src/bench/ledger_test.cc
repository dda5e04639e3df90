#include "bench/ledger.h"

#include <gtest/gtest.h>

namespace queen::bench {
namespace {

constexpr uint64_t kRun = 7;

Stamp At(uint32_t seq, uint32_t producer = 0, uint32_t partition = 0) {
  return {.run = kRun, .producer = producer, .partition = partition, .seq = seq};
}

void Send(Ledger& ledger, uint32_t count, uint32_t producer = 0, uint32_t partition = 0) {
  for (uint32_t i = 0; i < count; ++i) ledger.Send(producer, partition);
  ledger.Confirm(producer, partition, count);
}

TEST(LedgerTest, EverythingInOrderIsClean) {
  Ledger ledger(kRun, 2, 3, 2);
  Send(ledger, 3, 0, 0);
  Send(ledger, 2, 1, 2);
  EXPECT_EQ(ledger.backlog(), 10u);
  for (const uint32_t group : {0u, 1u}) {
    EXPECT_FALSE(ledger.complete());
    for (uint32_t seq = 0; seq < 3; ++seq) EXPECT_TRUE(ledger.Receive(group, At(seq)));
    for (uint32_t seq = 0; seq < 2; ++seq) EXPECT_TRUE(ledger.Receive(group, At(seq, 1, 2)));
  }
  EXPECT_TRUE(ledger.complete());
  EXPECT_EQ(ledger.received(), 10u);
  EXPECT_TRUE(ledger.Judge(true).clean());
}

TEST(LedgerTest, WhatNeverCameIsLost) {
  Ledger ledger(kRun, 1, 1, 1);
  Send(ledger, 6);
  for (const uint32_t seq : {0u, 3u, 4u}) ledger.Receive(0, At(seq));
  EXPECT_EQ(ledger.Judge(true), (Verdict{.lost = 3}));
  EXPECT_EQ(ledger.Judge(false), (Verdict{.lost = 2})) << "5 may still be in the queue";
  EXPECT_EQ(ledger.backlog(), 3u);
}

TEST(LedgerTest, EachGroupLosesForItself) {
  Ledger ledger(kRun, 1, 2, 2);
  Send(ledger, 2, 0, 1);
  ledger.Receive(1, At(0, 0, 1));
  EXPECT_EQ(ledger.Judge(true), (Verdict{.lost = 3}));
}

TEST(LedgerTest, WhatCameTwiceIsDuplicatedAndNotReceivedAgain) {
  Ledger ledger(kRun, 1, 1, 1);
  Send(ledger, 3);
  EXPECT_TRUE(ledger.Receive(0, At(0)));
  EXPECT_FALSE(ledger.Receive(0, At(0)));
  EXPECT_TRUE(ledger.Receive(0, At(2)));
  EXPECT_FALSE(ledger.Receive(0, At(2)));
  EXPECT_FALSE(ledger.Receive(0, At(0)));
  EXPECT_EQ(ledger.received(), 2u);
  EXPECT_EQ(ledger.Judge(true), (Verdict{.lost = 1, .duplicated = 3}));
}

TEST(LedgerTest, WhatCameLateIsReorderedAndNotLost) {
  Ledger ledger(kRun, 1, 1, 1);
  Send(ledger, 8);
  for (const uint32_t seq : {7u, 3u, 0u, 6u, 1u, 2u, 5u, 4u}) {
    EXPECT_TRUE(ledger.Receive(0, At(seq))) << seq;
  }
  EXPECT_TRUE(ledger.complete());
  EXPECT_EQ(ledger.Judge(true), (Verdict{.reordered = 7}));
  EXPECT_FALSE(ledger.Receive(0, At(4)));
}

TEST(LedgerTest, ProducersOfOnePartitionAreNotOrderedAmongEachOther) {
  Ledger ledger(kRun, 2, 1, 1);
  Send(ledger, 2, 0);
  Send(ledger, 2, 1);
  for (const uint32_t producer : {1u, 0u}) {
    for (const uint32_t seq : {0u, 1u}) ledger.Receive(0, At(seq, producer));
  }
  EXPECT_TRUE(ledger.Judge(true).clean());
}

TEST(LedgerTest, WhatWasNeverSentIsUnexpected) {
  Ledger ledger(kRun, 1, 1, 1);
  Send(ledger, 1);
  EXPECT_FALSE(ledger.Receive(0, At(1)));
  EXPECT_FALSE(ledger.Receive(0, At(0, 9)));
  EXPECT_FALSE(ledger.Receive(0, At(0, 0, 9)));
  Stamp other = At(0);
  other.run = kRun + 1;
  EXPECT_FALSE(ledger.Receive(0, other));
  ledger.ReceiveForeign();
  ledger.Receive(0, At(0));
  EXPECT_EQ(ledger.Judge(true), (Verdict{.unexpected = 5}));
}

TEST(LedgerTest, WhatWasSentButNeverConfirmedMayComeOrNot) {
  Ledger ledger(kRun, 1, 1, 1);
  Send(ledger, 1);
  ledger.Send(0, 0);
  ledger.Send(0, 0);
  ledger.Receive(0, At(0));
  EXPECT_TRUE(ledger.Judge(true).clean());
  ledger.Receive(0, At(2));
  EXPECT_TRUE(ledger.Judge(true).clean());
}

}  // namespace
}  // namespace queen::bench
