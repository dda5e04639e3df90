// load_lanes and append_lanes through the real procedures: what is sent is what is stored, and what
// is stored is what is read.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "pg/testing/postgres.h"
#include "pg/testing/test_slots.h"
#include "storage/calls/append_lanes.h"
#include "storage/calls/load_lanes.h"
#include "storage/migrator.h"

namespace queen::storage {
namespace {

using State = engine::AppendState;
using engine::Bitmap;
using engine::Progress;

constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();

class Lanes : public testing::Test {
 protected:
  Lanes() : slots_(pg::testing::Postgres::Options()) {}

  void SetUp() override {
    auto connection =
        pg::BlockingConnection::Connect(std::getenv("QUEEN_TEST_DATABASE_URL"), 10'000);
    ASSERT_TRUE(connection.ok()) << connection.status().message();
    const auto report = Migrate(*connection, EmbeddedSchema(), {});
    ASSERT_TRUE(report.ok()) << report.status().message();
    slots_.WaitFree();
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    queue_ = "'lanes." + name + "'";
    partition_.value = std::stoi(postgres_.Ask(
        "SELECT partition_id FROM queen.ensure_partitions(ARRAY[" + queue_ + "], ARRAY['p'])"));
    group_.value = std::stoi(
        postgres_.Ask("SELECT group_id FROM queen.ensure_group(" + queue_ + ", 'g', 'all', NULL)"));
  }

  // Pushes messages in one segment, one byte each.
  void Push(int count) {
    const std::string none = "ARRAY[NULL]::text[]";
    const std::string never = "ARRAY[NULL]::timestamptz[]";
    const std::string number = std::to_string(count);
    postgres_.Ask("SELECT status FROM queen.push_messages(1, NULL, true, ARRAY[" +
                  std::to_string(partition_.value) + "], ARRAY[" + number +
                  "], ARRAY[(SELECT string_agg('1', E'\\n') FROM generate_series(1, " + number +
                  "))], " + none + ", " + none + ", " + none + ", " + none + ", " + never + ", " +
                  never + ", ARRAY[NULL]::boolean[], ARRAY[0]::bigint[], ARRAY[0]::bigint[])");
  }

  pg::Rows Run(const pg::Statement& statement, pg::Params params) {
    pg::BatchResult result = slots_.Run(pg::Batch(statement, std::move(params)));
    EXPECT_TRUE(result.ok()) << result.status.ToString() << " " << result.sqlstate;
    return result.ok() ? std::move(result.rows[0]) : pg::Rows();
  }

  std::vector<load_lanes::Row> Load(const std::vector<engine::LaneAsk>& lanes) {
    auto rows = load_lanes::Decode(Run(load_lanes::kStatement, load_lanes::Encode(lanes)));
    EXPECT_TRUE(rows.ok()) << rows.status().message();
    return rows.ok() ? *std::move(rows) : std::vector<load_lanes::Row>();
  }

  load_lanes::Row LoadOne() {
    auto rows = Load({{{partition_, group_}, 10}});
    EXPECT_EQ(rows.size(), 1U);
    return rows.empty() ? load_lanes::Row() : rows[0];
  }

  std::vector<append_lanes::Row> Append(const engine::AppendRequest& request) {
    auto rows =
        append_lanes::Decode(Run(append_lanes::kAckStatement, append_lanes::Encode(request)));
    EXPECT_TRUE(rows.ok()) << rows.status().message();
    return rows.ok() ? *std::move(rows) : std::vector<append_lanes::Row>();
  }

  append_lanes::Row AppendOne(engine::LaneAppend lane) {
    engine::AppendRequest request;
    request.lanes.push_back(std::move(lane));
    auto rows = Append(request);
    EXPECT_EQ(rows.size(), 1U);
    return rows.empty() ? append_lanes::Row() : rows[0];
  }

  // The lane behind what `loaded` says, with nothing in it but a stamp.
  engine::LaneAppend After(const load_lanes::Row& loaded) {
    engine::LaneAppend lane;
    lane.key = {partition_, group_};
    lane.queue = loaded.rules.queue;
    lane.version = loaded.rules.version;
    lane.prev_epoch = loaded.progress.epoch;
    lane.prev_stamp = loaded.progress.stamp;
    lane.next.stamp = ++stamp_;
    return lane;
  }

  pg::testing::Postgres postgres_;
  pg::testing::TestSlots slots_;
  std::string queue_;
  PartitionId partition_;
  GroupId group_;
  int64_t stamp_ = 1'000;
};

// Every field set, those that are times at the ends of their range.
Progress Full() {
  Progress full;
  full.stamp = std::numeric_limits<int64_t>::min();
  full.cursor = 41;
  full.settled = Bitmap("0101");
  full.settled.Set(9'999);
  full.failed = Bitmap("001");
  full.attempts = {{42, 3}, {1'000'000'000'000, 1}};
  full.lease = {MakeUuidV7(), kForEver, 10'041, 300};
  full.deliveries = 7;
  full.ready_at_micros = std::numeric_limits<int64_t>::min();
  full.window_end = 77;
  return full;
}

TEST_F(Lanes, EveryFieldComesBack) {
  engine::LaneAppend lane = After(LoadOne());
  lane.next = Full();
  Progress expected = Full();
  expected.lease = lane.next.lease;
  expected.epoch = 1;
  const append_lanes::Row row = AppendOne(lane);
  EXPECT_EQ(row.state, State::kWon);
  EXPECT_EQ(row.newest, expected);
  EXPECT_EQ(LoadOne().progress, expected);
}

TEST_F(Lanes, NothingComesBackAsNothing) {
  engine::LaneAppend lane = After(LoadOne());
  Progress expected = lane.next;
  expected.epoch = 1;
  EXPECT_EQ(AppendOne(lane).newest, expected);
  EXPECT_EQ(LoadOne().progress, expected);
}

TEST_F(Lanes, ALaneWithoutARow) {
  const load_lanes::Row row = LoadOne();
  EXPECT_EQ(row.progress, Progress());
  EXPECT_EQ(row.partition_name, "p");
  EXPECT_EQ(row.log.end, 0);
  EXPECT_EQ(row.log.newest_micros, 0);
  EXPECT_TRUE(row.log.segments.empty());
  engine::LaneAppend lane = After(row);
  lane.prev_epoch = 5;
  const append_lanes::Row lost = AppendOne(lane);
  EXPECT_EQ(lost.state, State::kLost);
  EXPECT_EQ(lost.newest, std::nullopt);
}

TEST_F(Lanes, OptionsAndLog) {
  postgres_.Ask("SELECT queen.configure(" + queue_ +
                ", NULL, NULL, '{\"leaseTime\": 7, \"retryLimit\": 8, \"retryDelay\": 9,"
                " \"maxDeliveries\": 10, \"delayedProcessing\": 11, \"windowBuffer\": 12,"
                " \"maxWaitTimeSeconds\": 13}', false)");
  Push(3);
  Push(2);
  const load_lanes::Row row = LoadOne();
  engine::QueueRules rules;
  rules.queue = row.rules.queue;
  rules.version = 1;
  rules.lease_seconds = 7;
  rules.retry_limit = 8;
  rules.retry_delay_ms = 9;
  rules.max_deliveries = 10;
  rules.delay_seconds = 11;
  rules.window_seconds = 12;
  rules.expires_after_seconds = 13;
  EXPECT_EQ(row.rules, rules);
  ASSERT_EQ(row.log.segments.size(), 2U);
  EXPECT_EQ(row.log.segments[0].count, 3);
  EXPECT_EQ(row.log.segments[0].bytes, 5);
  EXPECT_EQ(row.log.segments[1].base_seq, 3);
  EXPECT_EQ(row.log.segments[1].created_micros + 1, row.log.newest_micros);
  EXPECT_GT(row.log.newest_micros, 0);
  EXPECT_GE(row.now_micros, row.log.newest_micros);
  EXPECT_EQ(row.log.from, 0);
  EXPECT_EQ(row.log.known_end, 5);
  EXPECT_EQ(row.log.end, 5);
  EXPECT_EQ(row.log.live_end, 5);
  EXPECT_TRUE(row.log.hidden.empty());
  postgres_.Ask("INSERT INTO queen.hidden_messages VALUES (" + std::to_string(partition_.value) +
                ", 1, 3)");
  postgres_.Ask("UPDATE queen.partitions SET hides = true");
  EXPECT_EQ(LoadOne().log.hidden, Bitmap("011"));
}

TEST_F(Lanes, OnlyWhatIsThereIsLoaded) {
  const auto rows = Load({{{PartitionId{0}, group_}, 1}, {{partition_, group_}, 1}});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].index, 1U);
}

TEST_F(Lanes, DurationsCountFromTheDatabasesClock) {
  engine::LaneAppend lane = After(LoadOne());
  lane.next.lease = {MakeUuidV7(), 0, 3, 60};
  lane.lease_ms = 60'000;
  lane.ready_ms = 5'000;
  const append_lanes::Row row = AppendOne(lane);
  ASSERT_TRUE(row.newest && row.newest->lease);
  EXPECT_EQ(row.newest->lease->until_micros, row.now_micros + 60'000'000);
  EXPECT_EQ(row.newest->ready_at_micros, row.now_micros + 5'000'000);
  // The later of both.
  lane = After(LoadOne());
  lane.next.lease = {MakeUuidV7(), kForEver, 3, 60};
  lane.lease_ms = 1;
  EXPECT_EQ(AppendOne(lane).newest->lease->until_micros, kForEver);
}

TEST_F(Lanes, EveryState) {
  const load_lanes::Row none = LoadOne();
  EXPECT_EQ(AppendOne(After(none)).state, State::kWon);
  EXPECT_EQ(AppendOne(After(none)).state, State::kLost);
  engine::LaneAppend lane = After(LoadOne());
  lane.not_before_micros = kForEver;
  EXPECT_EQ(AppendOne(lane).state, State::kEarly);
  lane = After(LoadOne());
  lane.held = true;
  EXPECT_EQ(AppendOne(lane).state, State::kExpired);
  lane = After(LoadOne());
  lane.log_end = 9;
  EXPECT_EQ(AppendOne(lane).state, State::kMoved);
  lane = After(LoadOne());
  --lane.version;
  EXPECT_EQ(AppendOne(lane).state, State::kStale);
  lane = After(LoadOne());
  postgres_.Ask("BEGIN");
  postgres_.Ask("SELECT epoch FROM queen.progress FOR UPDATE");
  EXPECT_EQ(AppendOne(lane).state, State::kBusy);
  postgres_.Ask("ROLLBACK");
  postgres_.Ask("SELECT queen.delete_queue(" + queue_ + ")");
  EXPECT_EQ(AppendOne(lane).state, State::kGone);
}

TEST_F(Lanes, LanesAreJudgedOneByOne) {
  const PartitionId other{std::stoi(postgres_.Ask(
      "SELECT partition_id FROM queen.ensure_partitions(ARRAY[" + queue_ + "], ARRAY['q'])"))};
  Push(2);
  engine::AppendRequest request;
  request.broker = 7;
  request.n = 70;
  request.lanes = {After(LoadOne()), After(LoadOne())};
  request.lanes[0].key.partition = other;
  request.lanes[0].prev_epoch = 3;
  request.lanes[0].next.settled = Bitmap("01");
  request.lanes[0].dead = {{0, "never", 1}};
  request.lanes[1].next.cursor = 2;
  request.lanes[1].next.attempts = {{2, 1}};
  request.lanes[1].frees = true;
  request.lanes[1].dead = {{0, "why", 4}, {1, "", 0}};
  const auto rows = Append(request);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].state, State::kLost);
  EXPECT_EQ(rows[1].state, State::kWon);
  EXPECT_EQ(rows[1].newest->attempts, request.lanes[1].next.attempts);
  EXPECT_TRUE(rows[1].newest->settled.empty());
  EXPECT_EQ(postgres_.Ask("SELECT string_agg(concat_ws(' ', seq, error, retry_count), ', ' ORDER BY"
                          " seq) FROM queen.dead_letters"),
            "0 why 4, 1 0");
  EXPECT_EQ(postgres_.Ask("SELECT partitions FROM queen.batches WHERE broker = 7 AND n = 70"),
            "{" + std::to_string(partition_.value) + "}");
}

TEST_F(Lanes, AnotherShapeIsRefusedByName) {
  const auto answer = [&](const std::string& sql) {
    pg::BatchResult result = slots_.Run(sql);
    EXPECT_TRUE(result.ok()) << result.status.ToString();
    return append_lanes::Decode(result.rows.at(0)).status().message();
  };
  EXPECT_EQ(answer("SELECT 1"), "append_lanes answered 1 columns instead of 17");
  const std::string tail =
      " 0::bigint AS stamp, 0::bigint AS cursor, '' AS settled, '' AS failed,"
      " NULL::bigint[] AS attempt_seqs, NULL::int[] AS attempt_counts, NULL::uuid AS lease_id,"
      " now() AS lease_until, 0::bigint AS lease_end, 0 AS lease_seconds, 0 AS deliveries,"
      " now() AS ready_at, 0::bigint AS window_end, now() AS now";
  EXPECT_EQ(answer("SELECT 1 AS ordinal, 'won' AS state, 1 AS epoch," + tail),
            "column 3 of append_lanes is epoch of type 23 instead of epoch of type 20");
  EXPECT_EQ(answer("SELECT 1 AS ordinal, 'won' AS status, 1::bigint AS epoch," + tail),
            "column 2 of append_lanes is status of type 25 instead of state of type 25");
  EXPECT_EQ(answer("SELECT 1 AS ordinal, 'strange' AS state, 1::bigint AS epoch," + tail),
            "append_lanes answered the unknown state strange");
}

}  // namespace
}  // namespace queen::storage
