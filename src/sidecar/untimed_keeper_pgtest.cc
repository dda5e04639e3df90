// UntimedKeeper against PostgreSQL: memories are filled from the log in both directions, what
// others write is followed, and the database is asked to index.
#include "sidecar/untimed_keeper.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <thread>

#include "base/keyed_hash.h"
#include "pg/blocking_connection.h"
#include "pg/slots.h"
#include "pg/testing/loop_thread.h"
#include "pg/testing/postgres.h"
#include "storage/migrator.h"

namespace queen::sidecar {
namespace {

class UntimedKeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    auto connection =
        pg::BlockingConnection::Connect(std::getenv("QUEEN_TEST_DATABASE_URL"), 10'000);
    ASSERT_TRUE(connection.ok()) << connection.status().message();
    ASSERT_TRUE(storage::Migrate(*connection, storage::EmbeddedSchema(), {}).ok());
    partition_ = std::stoi(
        Ask("SELECT partition_id FROM queen.ensure_partitions(ARRAY['keeper'], ARRAY['" +
            std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "'])"));
    thread_.Call([this] {
      slots_ = std::make_unique<pg::Slots>(thread_.loop(), pg::testing::Postgres::Options(), 2);
      scheduler_ = std::make_unique<Scheduler>(thread_.loop(), *slots_, 0);
      lookups_ = std::make_unique<Lookups>(*scheduler_);
      keeper_ = std::make_unique<UntimedKeeper>(*lookups_, room_);
      entry_ = std::make_unique<UntimedKeeper::Entry>(room_);
      scheduler_->Add(*lookups_, Operation::kPush, 1);
      slots_->Start({.on_free = [this](int) { scheduler_->Wake(); },
                     .on_up = [](int) {},
                     .on_down = [](int, const Status&) {}});
    });
    WaitUntil([this] { return scheduler_->AnyUp(); });
  }

  void TearDown() override {
    std::promise<void> closed;
    thread_.Call([&] {
      keeper_->Forget(*entry_);
      slots_->Close([&] { closed.set_value(); });
    });
    closed.get_future().wait();
    thread_.Call([this] {
      keeper_.reset();
      entry_.reset();
      lookups_.reset();
      scheduler_.reset();
      slots_.reset();
    });
    EXPECT_EQ(room_.bytes, 0u);
  }

  static std::string Ask(const std::string& sql) { return pg::testing::Postgres().Ask(sql); }

  // `segments` of `count` ids key-<offset>, as another broker writes them, from offset `base` on.
  void Write(int64_t base, int64_t segments, int64_t count) const {
    Ask(
        fmt::format("INSERT INTO queen.segments (partition_id, base_seq, count, created_at, "
                    "payloads, txns, untimed) "
                    "SELECT {0}, {1} + s * {3}, {3}, now() + s * interval '1 s', repeat(E'1\\n', "
                    "{3} - 1) || '1', "
                    "(SELECT string_agg('key-' || {1} + s * {3} + i, E'\\n' ORDER BY i) FROM "
                    "generate_series(0, {3} - 1) i), true "
                    "FROM generate_series(0, {2} - 1) s RETURNING 1",
                    partition_, base, segments, count));
  }

  static uint64_t HashOf(int64_t offset) { return KeyedHash("key-" + std::to_string(offset)); }

  // A segment of one id of our own.
  void Store(int64_t offset) {
    Write(offset, 1, 1);
    const uint64_t hash = HashOf(offset);
    thread_.Call([&] {
      keeper_->OnStored(*entry_, PartitionId{partition_}, offset, 1, std::span(&hash, 1));
    });
  }

  // Asks on the loop until it is so.
  void WaitUntil(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!thread_.Call(holds)) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "it never came";
      std::this_thread::yield();
    }
  }

  void ExpectCovers(int64_t from, int64_t to) {
    thread_.Call([&] {
      EXPECT_EQ(entry_->memory.from(), from);
      EXPECT_EQ(entry_->memory.to(), to);
      for (int64_t i = from; i < to; ++i) ASSERT_FALSE(entry_->memory.IsNew(HashOf(i))) << i;
      EXPECT_TRUE(entry_->memory.IsNew(HashOf(to)));
    });
  }

  int32_t partition_ = 0;
  UntimedRoom room_{size_t{64} << 20};
  pg::testing::LoopThread thread_;
  std::unique_ptr<pg::Slots> slots_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Lookups> lookups_;
  std::unique_ptr<UntimedKeeper> keeper_;
  std::unique_ptr<UntimedKeeper::Entry> entry_;
};

TEST_F(UntimedKeeperTest, FillsAColdMemoryToTheBeginning) {
  Write(0, 300, 100);
  Store(30'000);
  WaitUntil([this] { return entry_->memory.from() == 0; });
  ExpectCovers(0, 30'001);
}

TEST_F(UntimedKeeperTest, FollowsWhatOthersWrite) {
  for (int64_t i = 0; i < 3; ++i) Store(i);
  Write(3, 1, 10);
  Store(13);
  ExpectCovers(0, 3);  // so little is left to the search
  Write(14, 200, 100);
  Store(20'014);
  WaitUntil([this] { return entry_->memory.gap() == 0; });
  ExpectCovers(0, 20'015);
}

TEST_F(UntimedKeeperTest, AForgottenMemoryStaysForgotten) {
  Write(0, 300, 100);
  Store(30'000);
  thread_.Call([this] { keeper_->Forget(*entry_); });
  Store(30'001);
  WaitUntil([this] { return entry_->memory.from() == 0; });
  ExpectCovers(0, 30'002);
}

TEST_F(UntimedKeeperTest, AsksForAnIndex) {
  for (int64_t i = 0; i < UntimedKeeper::kIndexSegments; ++i) Store(i);
  WaitUntil([this] {
    return Ask("SELECT count(*) FROM queen.dedup_runs WHERE state = 'ready' AND to_seq = 64 AND "
               "partition_id = " +
               std::to_string(partition_)) == "1";
  });
}

}  // namespace
}  // namespace queen::sidecar
