// The rules of READ COMMITTED that the simulated database stands on: snapshots, waiting, locks, and
// what a crash keeps. Transactions are run by hand, on a table of numbers.
#include <gtest/gtest.h>

#include "simulator/database/sequence.h"
#include "simulator/database/table.h"

namespace queen::simulator {
namespace {

constexpr int64_t kSecond = 1'000'000;

struct Number {
  int value = 0;
};

class Core : public testing::Test {
 protected:
  std::unique_ptr<Transaction> Begin(int64_t lock_timeout_micros = 0) {
    return std::make_unique<Transaction>(all_, all_.NextId(), lock_timeout_micros);
  }
  // Its commit is durable when `sync`.
  void Commit(std::unique_ptr<Transaction> transaction, bool sync = true) {
    if (transaction->has_xid()) {
      const Lsn lsn = transaction->WriteCommit();
      if (sync) log_.Flush(lsn);
    }
    transaction->ShowCommit();
    time_.RunFor(0);
  }
  void Abort(std::unique_ptr<Transaction> transaction) {
    transaction.reset();
    time_.RunFor(0);
  }

  // Something that may have to wait, and how it ended.
  struct Step {
    Task<void> task;
    std::optional<bool> done;
    std::string refused;
  };
  static Task<void> Follow(Step& step, Task<bool> task) {
    try {
      step.done = co_await task;
    } catch (const SqlError& error) {
      step.refused = error.sqlstate;
    }
  }
  std::unique_ptr<Step> Start(Task<bool> task) {
    auto step = std::make_unique<Step>();
    step->task = Follow(*step, std::move(task));
    step->task.Start();
    return step;
  }
  std::unique_ptr<Step> Insert(Transaction& writer, int key, int value) {
    return Start(table_.Insert(writer, key, Number{value}));
  }
  std::unique_ptr<Step> Delete(Transaction& writer, int key) {
    return Start(table_.Delete(writer, key));
  }
  static Task<bool> Add(Table<int, Number>& table, Transaction& writer, int key, int more) {
    co_return co_await table.Update(writer, key, [more](Number& number) { number.value += more; });
  }
  static Task<bool> LockKey(Transaction& writer, AdvisoryKey key) {
    co_await writer.Lock(key);
    co_return true;
  }

  void Store(int key, int value) {
    auto writer = Begin();
    ASSERT_EQ(Insert(*writer, key, value)->done, true);
    Commit(std::move(writer));
  }
  std::optional<int> Value(const Transaction& reader, int key) const {
    const Number* number = table_.Find(reader, key);
    return number == nullptr ? std::nullopt : std::optional(number->value);
  }
  std::optional<int> Value(int key) { return Value(*Begin(), key); }
  void NextStatement(Transaction& transaction) {
    Task<void> next = transaction.NextStatement();
    next.Start();
    ASSERT_TRUE(next.done());
  }
  void Crash(Lsn prefix) {
    log_.Crash(prefix);
    table_.Recover(log_);
  }

  VirtualTime time_{1'700'000'000 * kSecond};
  std::mt19937_64 random_{1};
  CommitLog log_;
  Transactions all_{time_, log_, random_, {}};
  Table<int, Number> table_;
};

TEST_F(Core, AStatementSeesWhatWasCommittedWhenItBegan) {
  auto reader = Begin();
  auto writer = Begin();
  EXPECT_EQ(Insert(*writer, 1, 10)->done, true);
  EXPECT_EQ(Value(*writer, 1), 10);
  EXPECT_EQ(Value(*reader, 1), std::nullopt);
  Commit(std::move(writer));
  EXPECT_EQ(Value(*reader, 1), std::nullopt);
  NextStatement(*reader);
  EXPECT_EQ(Value(*reader, 1), 10);
}

TEST_F(Core, ARowThatIsDeletedIsSeenByOlderStatements) {
  Store(1, 10);
  auto reader = Begin();
  auto writer = Begin();
  EXPECT_EQ(Delete(*writer, 1)->done, true);
  EXPECT_EQ(Value(*writer, 1), std::nullopt);
  Commit(std::move(writer));
  table_.Vacuum(log_, all_.Horizon());
  EXPECT_EQ(Value(*reader, 1), 10);
  NextStatement(*reader);
  EXPECT_EQ(Value(*reader, 1), std::nullopt);
  reader.reset();
  table_.Vacuum(log_, all_.Horizon());
  EXPECT_EQ(table_.size(), 0U);
}

TEST_F(Core, AnInsertWaitsForAnotherOfItsKeyAndLosesAgainstARowItDoesNotSee) {
  auto winner = Begin();
  auto loser = Begin();
  EXPECT_EQ(Insert(*winner, 1, 10)->done, true);
  const auto step = Insert(*loser, 1, 20);
  EXPECT_EQ(step->done, std::nullopt);
  EXPECT_TRUE(loser->waiting());
  Commit(std::move(winner));
  EXPECT_EQ(step->done, false);
  EXPECT_EQ(Value(*loser, 1), std::nullopt);
  NextStatement(*loser);
  EXPECT_EQ(Value(*loser, 1), 10);
}

TEST_F(Core, AnInsertTakesThePlaceOfOneThatWasGivenUp) {
  auto first = Begin();
  auto second = Begin();
  EXPECT_EQ(Insert(*first, 1, 10)->done, true);
  const auto step = Insert(*second, 1, 20);
  Abort(std::move(first));
  EXPECT_EQ(step->done, true);
  Commit(std::move(second));
  EXPECT_EQ(Value(1), 20);
}

TEST_F(Core, AnInsertWaitsForTheDeletionOfItsKey) {
  Store(1, 10);
  auto deleter = Begin();
  auto writer = Begin();
  EXPECT_EQ(Delete(*deleter, 1)->done, true);
  const auto step = Insert(*writer, 1, 20);
  EXPECT_EQ(step->done, std::nullopt);
  Commit(std::move(deleter));
  EXPECT_EQ(step->done, true);
  Commit(std::move(writer));
  EXPECT_EQ(Value(1), 20);
}

TEST_F(Core, AnUpdateGoesOnFromWhatAnotherHasMadeOfTheRow) {
  Store(1, 10);
  auto first = Begin();
  auto second = Begin();
  EXPECT_EQ(Start(Add(table_, *first, 1, 1))->done, true);
  const auto step = Start(Add(table_, *second, 1, 100));
  EXPECT_EQ(step->done, std::nullopt);
  Commit(std::move(first));
  EXPECT_EQ(step->done, true);
  Commit(std::move(second));
  EXPECT_EQ(Value(1), 111);
}

TEST_F(Core, AnUpdateFindsNothingWhereTheRowWasDeletedMeanwhile) {
  Store(1, 10);
  auto deleter = Begin();
  auto writer = Begin();
  EXPECT_EQ(Delete(*deleter, 1)->done, true);
  const auto step = Start(Add(table_, *writer, 1, 1));
  Commit(std::move(deleter));
  EXPECT_EQ(step->done, false);
}

TEST_F(Core, ARowThatIsLockedIsSkipped) {
  Store(1, 10);
  auto holder = Begin();
  auto other = Begin();
  EXPECT_EQ(table_.TryLock(*holder, 1), RowLock::kLocked);
  EXPECT_EQ(table_.TryLock(*holder, 1), RowLock::kLocked);
  EXPECT_EQ(table_.TryLock(*other, 1), RowLock::kBusy);
  EXPECT_EQ(table_.TryLock(*other, 2), RowLock::kGone);
  // An insert of a key that stands does not wait for who has locked it.
  EXPECT_EQ(Insert(*other, 1, 20)->done, false);
  Commit(std::move(holder));
  EXPECT_EQ(table_.TryLock(*other, 1), RowLock::kLocked);
}

TEST_F(Core, AnAdvisoryLockIsHeldToTheEnd) {
  const AdvisoryKey key{7, 1};
  auto holder = Begin();
  auto waiter = Begin();
  EXPECT_TRUE(holder->TryLock(key));
  EXPECT_TRUE(holder->TryLock(key));
  EXPECT_FALSE(waiter->TryLock(key));
  const auto step = Start(LockKey(*waiter, key));
  EXPECT_EQ(step->done, std::nullopt);
  Abort(std::move(holder));
  EXPECT_EQ(step->done, true);
}

TEST_F(Core, AWaitEndsWithTheLockTimeout) {
  auto holder = Begin();
  auto waiter = Begin(kSecond / 10);
  EXPECT_EQ(Insert(*holder, 1, 10)->done, true);
  const auto step = Insert(*waiter, 1, 20);
  time_.RunFor(kSecond / 10 - 1);
  EXPECT_EQ(step->refused, "");
  time_.RunFor(1);
  EXPECT_EQ(step->refused, "55P03");
}

TEST_F(Core, OneOfACycleIsTheVictimAfterASecond) {
  const AdvisoryKey a{7, 1};
  const AdvisoryKey b{7, 2};
  auto first = Begin();
  auto second = Begin();
  EXPECT_TRUE(first->TryLock(a));
  EXPECT_TRUE(second->TryLock(b));
  const auto first_step = Start(LockKey(*first, b));
  time_.RunFor(kSecond / 2);
  const auto second_step = Start(LockKey(*second, a));
  time_.RunFor(kSecond / 2 - 1);
  EXPECT_EQ(first_step->refused, "");
  time_.RunFor(1);
  EXPECT_EQ(first_step->refused, "40P01");
  EXPECT_EQ(second_step->done, std::nullopt);
  Abort(std::move(first));
  EXPECT_EQ(second_step->done, true);
}

TEST_F(Core, AWaitThatIsNoCycleIsLeftAlone) {
  auto holder = Begin();
  auto waiter = Begin();
  EXPECT_TRUE(holder->TryLock({7, 1}));
  const auto step = Start(LockKey(*waiter, {7, 1}));
  time_.RunFor(10 * kSecond);
  EXPECT_EQ(step->refused, "");
  EXPECT_TRUE(waiter->waiting());
}

TEST_F(Core, TheTableOfLocksHasItsLimit) {
  TransactionOptions options;
  options.locks_max = 2;
  Transactions few(time_, log_, random_, options);
  Transaction holder(few, few.NextId(), 0);
  EXPECT_TRUE(holder.TryLock({7, 1}));
  EXPECT_TRUE(holder.TryLock({7, 2}));
  try {
    holder.TryLock({7, 3});
    ADD_FAILURE() << "a third lock was given";
  } catch (const SqlError& error) {
    EXPECT_EQ(error.sqlstate, "53200");
  }
}

TEST_F(Core, ACrashForgetsWhatWasSeenAndNotDurable) {
  Store(1, 10);
  auto writer = Begin();
  const Xid lost = writer->xid();
  EXPECT_EQ(Insert(*writer, 2, 20)->done, true);
  EXPECT_EQ(Delete(*writer, 1)->done, true);
  Commit(std::move(writer), false);
  EXPECT_EQ(Value(2), 20);
  // What a crash may bring back is not removed.
  table_.Vacuum(log_, all_.Horizon());
  Crash(log_.flushed());
  EXPECT_EQ(Value(1), 10);
  EXPECT_EQ(Value(2), std::nullopt);
  // Its number is another transaction's now.
  auto next = Begin();
  EXPECT_EQ(next->xid(), lost);
}

TEST_F(Core, ADurableCommitKeepsAllBeforeIt) {
  auto first = Begin();
  EXPECT_EQ(Insert(*first, 1, 10)->done, true);
  Commit(std::move(first), false);
  auto second = Begin();
  EXPECT_EQ(Insert(*second, 2, 20)->done, true);
  Commit(std::move(second), true);
  Crash(log_.flushed());
  EXPECT_EQ(Value(1), 10);
  EXPECT_EQ(Value(2), 20);
}

TEST_F(Core, ACommitThatNobodyHasSeenMaySurviveACrash) {
  auto writer = Begin();
  EXPECT_EQ(Insert(*writer, 1, 10)->done, true);
  writer->WriteCommit();
  EXPECT_EQ(Value(1), std::nullopt);
  Crash(log_.end());
  writer.reset();
  EXPECT_EQ(Value(1), 10);
}

TEST_F(Core, ASnapshotIsReadFromItsText) {
  auto first = Begin();
  auto second = Begin();
  auto third = Begin();
  first->xid();
  second->xid();
  third->xid();
  Commit(std::move(second));
  const Snapshot snapshot = log_.Take();
  EXPECT_EQ(snapshot.ToText(), "1000:1003:1000,1002");
  const Snapshot read = Snapshot::FromText(snapshot.ToText());
  EXPECT_EQ(read.xmin, snapshot.xmin);
  EXPECT_EQ(read.xmax, snapshot.xmax);
  EXPECT_EQ(read.active, snapshot.active);
  EXPECT_TRUE(Snapshot::FromText("7:7:").active.empty());
}

TEST_F(Core, ASequenceNeverGivesAValueOfADurableTransactionAgain) {
  Sequence sequence;
  for (int i = 1; i <= 40; ++i) EXPECT_EQ(sequence.Next(log_), i);
  log_.Flush(log_.end());
  log_.Crash(log_.flushed());
  sequence.Recover(log_);
  EXPECT_GT(sequence.Next(log_), 40);
}

}  // namespace
}  // namespace queen::simulator
