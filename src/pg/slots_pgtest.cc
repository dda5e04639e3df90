// Slots: who is free, what is answered when nobody is, and closing with work in flight.

#include <gtest/gtest.h>

#include "pg/testing/postgres.h"
#include "pg/testing/test_slots.h"

namespace queen::pg {
namespace {

using testing::LoopThread;
using testing::Postgres;
using testing::TestSlots;

const Statement kLock{"lock", "SELECT pg_advisory_xact_lock(7)", {}};
const Statement kOne{"one", "SELECT 1", {}};

TEST(Slots, CountsFollowTheWork) {
  Postgres postgres;
  postgres.Ask("SELECT pg_advisory_lock(7)");
  TestSlots slots(Postgres::Options(), 3);
  slots.WaitFree(3);
  EXPECT_EQ(slots.counts().total, 3);
  EXPECT_EQ(slots.counts().up, 3);
  EXPECT_EQ(slots.counts().busy, 0);
  auto first = slots.Begin(Batch(kLock, Params()));
  auto second = slots.BeginOn(2, Batch(kLock, Params()));
  EXPECT_EQ(slots.counts().busy, 2);
  EXPECT_EQ(slots.counts().free, 1);
  EXPECT_EQ(slots.Call([](Slots& s) { return s.FindFree(); }), 1);
  EXPECT_FALSE(slots.Call([](Slots& s) { return s.IsFree(2); }));
  auto third = slots.Begin(Batch(kLock, Params()));

  const BatchResult refused = slots.Run(Batch(kOne, Params()));
  EXPECT_EQ(refused.outcome, Outcome::kFailure);
  EXPECT_FALSE(refused.sent);
  EXPECT_EQ(refused.status.code(), Code::kOverloaded);

  postgres.Ask("SELECT pg_advisory_unlock(7)");
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(second.get().ok());
  EXPECT_TRUE(third.get().ok());
  slots.WaitFree(3);
  EXPECT_EQ(slots.counts().busy, 0);
}

TEST(Slots, PipelinedBatchesGoToTheLeastLoaded) {
  Postgres postgres;
  postgres.Ask("SELECT pg_advisory_lock(7)");
  TestSlots slots(Postgres::Options(), 2, 2);
  slots.WaitFree(2);
  std::vector<std::future<BatchResult>> answers;
  for (int i = 0; i < 4; ++i) answers.push_back(slots.Begin(Batch(kLock, Params())));
  slots.Call([](Slots& s) {
    EXPECT_EQ(s.connection(0).load(), 2);
    EXPECT_EQ(s.connection(1).load(), 2);
    EXPECT_EQ(s.FindFree(), Slots::kNone);
  });
  postgres.Ask("SELECT pg_advisory_unlock(7)");
  for (auto& answer : answers) EXPECT_TRUE(answer.get().ok());
}

TEST(Slots, CloseWaitsForWhatIsInFlight) {
  Postgres postgres;
  postgres.Ask("SELECT pg_advisory_lock(7)");
  TestSlots slots(Postgres::Options(), 2);
  slots.WaitFree(2);
  const int pid = slots.backend_pid();
  auto answer = slots.Begin(Batch(kLock, Params()));
  postgres.WaitUntilBlocked(pid);
  std::promise<void> closed;
  auto closed_future = closed.get_future();
  slots.Call([&](Slots& s) { s.Close([&] { closed.set_value(); }); });
  EXPECT_EQ(slots.counts().up, 1);
  EXPECT_EQ(slots.counts().free, 0);
  const BatchResult refused = slots.Run(Batch(kOne, Params()));
  EXPECT_FALSE(refused.sent);
  EXPECT_EQ(refused.status.code(), Code::kShuttingDown);
  postgres.Ask("SELECT pg_advisory_unlock(7)");
  EXPECT_TRUE(answer.get().ok());
  closed_future.wait();
  EXPECT_EQ(slots.counts().up, 0);
  postgres.WaitUntil("NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'queen')");
}

TEST(Slots, CloseEndsWhenTheConnectionInFlightIsLost) {
  Postgres postgres;
  postgres.Ask("SELECT pg_advisory_lock(7)");
  TestSlots slots(Postgres::Options(), 2);
  slots.WaitFree(2);
  const int pid = slots.backend_pid();
  auto answer = slots.Begin(Batch(kLock, Params()));
  postgres.WaitUntilBlocked(pid);
  std::promise<void> closed;
  slots.Call([&](Slots& s) { s.Close([&] { closed.set_value(); }); });
  postgres.Terminate(pid);
  const BatchResult result = answer.get();
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_EQ(result.sqlstate, "57P01");
  closed.get_future().wait();
}

TEST(Slots, CloseInsideACallbackAndDestroyInsideDone) {
  LoopThread thread;
  std::unique_ptr<Slots> slots;
  std::promise<BatchResult> answer;
  std::promise<void> destroyed;
  thread.Call([&] {
    slots = std::make_unique<Slots>(thread.loop(), Postgres::Options(), 2);
    Slots::Events events;
    events.on_free = [&, sent = false](int) mutable {
      if (std::exchange(sent, true)) return;
      slots->Execute(Batch(kOne, Params()), [&](BatchResult result) {
        answer.set_value(std::move(result));
        slots->Close([&] {
          slots.reset();
          destroyed.set_value();
        });
      });
    };
    slots->Start(std::move(events));
  });
  EXPECT_TRUE(answer.get_future().get().ok());
  destroyed.get_future().wait();
}

TEST(Slots, DestroyedWithoutCloseEndsBatchesUnknown) {
  Postgres postgres;
  postgres.Ask("SELECT pg_advisory_lock(7)");
  LoopThread thread;
  std::unique_ptr<Slots> slots;
  std::promise<BatchResult> answer;
  std::promise<int> busy;
  thread.Call([&] {
    ConnectOptions options = Postgres::Options();
    options.client_connection_check_interval_ms = 20;
    slots = std::make_unique<Slots>(thread.loop(), options, 1);
    Slots::Events events;
    events.on_up = [&](int slot) {
      slots->ExecuteOn(slot, Batch(kLock, Params()),
                       [&](BatchResult result) { answer.set_value(std::move(result)); });
      busy.set_value(slots->connection(slot).backend_pid());
    };
    slots->Start(std::move(events));
  });
  postgres.WaitUntilBlocked(busy.get_future().get());
  thread.Call([&] { slots.reset(); });
  const BatchResult result = answer.get_future().get();
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_TRUE(result.sent);
  // The server notices (client_connection_check_interval) although it is waiting for a lock.
  postgres.WaitUntil("NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'queen')");
}

TEST(Slots, DestroyedWhileConnecting) {
  LoopThread thread;
  thread.Call([&] {
    Slots slots(thread.loop(), Postgres::Options(), 3);
    slots.Start({});
  });
  thread.Call([&] {
    Slots slots(thread.loop(), Postgres::Options(), 1);  // never started
  });
}

TEST(Slots, TooLargeABatchIsNotSent) {
  TestSlots slots(Postgres::Options());
  slots.WaitFree();
  const Statement length{"length", "SELECT length($1)", {oid::kText}};
  Batch batch;
  for (int i = 0; i < 3; ++i) {
    Params params;
    params.Text(std::string(Batch::kBytesMax / 3 + 1, 'x'));
    batch.Add(length, std::move(params));
  }
  const BatchResult refused = slots.Run(std::move(batch));
  EXPECT_FALSE(refused.sent);
  EXPECT_EQ(refused.status.code(), Code::kPayloadTooLarge);
  EXPECT_TRUE(slots.Run(Batch(kOne, Params())).ok());
}

TEST(Slots, WrongParameterTypesAreABug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        TestSlots slots(Postgres::Options());
        slots.WaitFree();
        Params params;
        params.Int4(1);
        slots.Run(Batch(kOne, std::move(params)));
      },
      "do not have the types");
}

}  // namespace
}  // namespace queen::pg
