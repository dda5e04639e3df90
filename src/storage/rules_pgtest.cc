// The rules of src/engine and the procedures of PostgreSQL decide alike: random lanes, the same
// moment, the same question. A clock of the test's own stands before PostgreSQL's in the search
// path, so that the two meet to the microsecond.
//
// The rules differ on purpose where
//   - failures of messages that the cursor has passed are dropped with the next row;
//   - a hole behind hidden or settled messages is skipped, where the procedure finds the lane full;
//   - a lease given again goes on behind a hole;
//   - a lease is whole when what is behind it is settled, where the procedure says "maybe more";
//   - deliveries never fall below 0.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "engine/testing/random_lanes.h"
#include "storage/migrator.h"

namespace queen::storage {
namespace {

using engine::ArrayOf;
using engine::Bitmap;
using engine::LaneMaker;
using engine::LaneState;
using engine::LeaseOutcome;
using engine::LeaseState;
using engine::LogView;
using engine::Progress;
using engine::RandomLane;

constexpr int kRounds = 4;
constexpr int kLanes = 500;  // of a round, in one call

// Parameters of a bulk statement, each an array in text form.
class Columns {
 public:
  explicit Columns(size_t count) : texts_(count, "{") {}

  // The next row. Values: integers, bool, std::string, Bitmap, optionals of them.
  template <typename... Values>
  void Add(const Values&... values) {
    size_t column = 0;
    (Append(column++, TextOf(values)), ...);
    first_ = false;
  }

  std::vector<std::optional<std::string>> Take() {
    std::vector<std::optional<std::string>> parameters;
    for (std::string& text : texts_) parameters.emplace_back(std::move(text) + "}");
    return parameters;
  }

 private:
  void Append(size_t column, const std::string& text) {
    texts_[column].append(first_ ? "" : ",").append(text);
  }
  template <std::integral Value>
  static std::string TextOf(Value value) {
    return std::to_string(value);
  }
  static std::string TextOf(bool value) { return value ? "t" : "f"; }
  static std::string TextOf(const std::string& value) { return '"' + value + '"'; }
  static std::string TextOf(const Bitmap& value) { return value.empty() ? "NULL" : value.ToText(); }
  template <typename Value>
  static std::string TextOf(const std::optional<Value>& value) {
    return value ? TextOf(*value) : "NULL";
  }

  std::vector<std::string> texts_;
  bool first_ = true;
};

std::vector<int64_t> Numbers(std::string_view text) {
  std::vector<int64_t> numbers;
  for (size_t at = 1; at + 1 < text.size(); at = text.find_first_of(",}", at) + 1) {
    numbers.push_back(std::strtoll(text.data() + at, nullptr, 10));
  }
  return numbers;
}

std::optional<int64_t> MaybeInt(const pg::TextRows& rows, int row, int column) {
  return rows.IsNull(row, column) ? std::nullopt : std::optional(rows.Int(row, column));
}

constexpr const char* kLatestProgress =
    "SELECT DISTINCT ON (r.partition_id) r.partition_id, r.epoch, r.cursor, r.settled, r.failed, "
    "r.attempt_seqs, r.attempt_counts, r.lease_id, "
    "(extract(epoch FROM r.lease_until) * 1000000)::bigint, r.lease_end, r.lease_seconds, "
    "r.deliveries, (extract(epoch FROM r.ready_at) * 1000000)::bigint, r.window_end "
    "FROM queen.progress r ORDER BY r.partition_id, r.epoch DESC";

// A row of kLatestProgress.
Progress ProgressOf(const pg::TextRows& rows, int row) {
  Progress progress;
  progress.epoch = rows.Int(row, 1);
  progress.cursor = rows.Int(row, 2);
  progress.settled = Bitmap(rows.Text(row, 3));
  progress.failed = Bitmap(rows.Text(row, 4));
  const auto seqs = Numbers(rows.Text(row, 5));
  const auto counts = Numbers(rows.Text(row, 6));
  for (size_t i = 0; i < seqs.size(); ++i) {
    if (seqs[i] < progress.cursor) continue;  // passed
    progress.attempts.push_back({seqs[i], static_cast<int32_t>(counts[i])});
  }
  if (!rows.IsNull(row, 7)) {
    progress.lease = engine::Lease{*Uuid::Parse(rows.Text(row, 7)), rows.Int(row, 8),
                                   rows.Int(row, 9), static_cast<int32_t>(rows.Int(row, 10))};
  }
  progress.deliveries = std::max(static_cast<int32_t>(rows.Int(row, 11)), 0);
  progress.ready_at_micros = MaybeInt(rows, row, 12);
  progress.window_end = MaybeInt(rows, row, 13);
  return progress;
}

const char* StateOf(const LeaseOutcome& outcome) {
  switch (outcome.state) {
    case LeaseState::kLeased:
      return "leased";
    case LeaseState::kDeadHead:
      return "again";
    case LeaseState::kFull:
      return "full";
    case LeaseState::kLarge:
      return "large";
    case LeaseState::kNotNow:
      break;
  }
  constexpr const char* kNames[] = {"ready",  "held",  "retry",  "delayed",
                                    "window", "empty", "unknown"};
  return kNames[static_cast<int>(outcome.found.state)];
}

class Rules : public testing::Test {
 protected:
  void SetUp() override {
    auto connection =
        pg::BlockingConnection::Connect(std::getenv("QUEEN_TEST_DATABASE_URL"), 10'000);
    ASSERT_TRUE(connection.ok()) << connection.status().message();
    connection_.emplace(std::move(*connection));
    const auto report = Migrate(*connection_, EmbeddedSchema(), {});
    ASSERT_TRUE(report.ok()) << report.status().message();
    Run("CREATE SCHEMA IF NOT EXISTS frozen");
    Run("CREATE OR REPLACE FUNCTION frozen.clock_timestamp() RETURNS timestamptz LANGUAGE sql "
        "STABLE AS $$ SELECT 'epoch'::timestamptz + current_setting('frozen.now')::bigint "
        "* interval '1 microsecond' $$");
    Run("SET search_path = frozen, pg_catalog");
    Run("SET plan_cache_mode = force_generic_plan");
  }

  // Lanes of their own, stored, and the clock set.
  std::vector<RandomLane> MakeRound(LaneMaker& maker, int round, int64_t now, bool acks) {
    Run("TRUNCATE queen.queues, queen.partitions, queen.groups, queen.group_starts, "
        "queen.segments, queen.progress, queen.hidden_messages, queen.dead_letters");
    Run("SET frozen.now = '" + std::to_string(now) + "'");
    const int64_t bytes_max = round % 2 == 0 ? 1'000'000 : maker.Between(20, 100);
    std::vector<RandomLane> lanes;
    for (int32_t id = 1; id <= kLanes; ++id) {
      lanes.push_back(maker.Make(id));
      if (acks) {
        maker.MakeVerdicts(lanes.back());
      } else {
        maker.MakeRequest(lanes.back(), bytes_max);
      }
    }
    StoreNames(lanes);
    StoreLogs(lanes);
    StoreProgress(lanes);
    return lanes;
  }

  void StoreNames(const std::vector<RandomLane>& lanes) {
    Columns columns(12);
    for (const RandomLane& lane : lanes) {
      const bool starts = lane.progress.epoch == 0 && lane.progress.cursor > 0;
      columns.Add(lane.id, lane.rules.lease_seconds, lane.rules.retry_limit,
                  lane.rules.retry_delay_ms, lane.rules.max_deliveries, lane.rules.delay_seconds,
                  lane.rules.window_seconds, lane.retention_enabled, lane.retention_seconds,
                  lane.max_wait_seconds, !lane.hidden.empty(),
                  starts ? std::optional(lane.progress.cursor) : std::nullopt);
    }
    Run("WITH lane AS (SELECT * FROM unnest($1::int[], $2::int[], $3::int[], $4::int[], "
        "$5::int[], $6::int[], $7::int[], $8::bool[], $9::int[], $10::int[], $11::bool[], "
        "$12::bigint[]) AS l(id, lease, retries, delay, deliveries, delayed, win, retains, kept, "
        "waits, hides, start)), q AS (INSERT INTO queen.queues (id, name, namespace, task, "
        "lease_time, retry_limit, retry_delay, max_deliveries, delayed_processing, window_buffer, "
        "retention_enabled, retention_seconds, max_wait_time_seconds) OVERRIDING SYSTEM VALUE "
        "SELECT id, 'q' || id, '', '', lease, retries, delay, deliveries, delayed, win, retains, "
        "kept, waits FROM lane), p AS (INSERT INTO queen.partitions (id, queue_id, name, hides) "
        "OVERRIDING SYSTEM VALUE SELECT id, id, 'p', hides FROM lane), g AS (INSERT INTO "
        "queen.groups (id, queue_id, name, start_mode) OVERRIDING SYSTEM VALUE SELECT id, id, 'g', "
        "CASE WHEN start IS NULL THEN 'all' ELSE 'new' END FROM lane) "
        "INSERT INTO queen.group_starts SELECT id, id, start FROM lane WHERE start IS NOT NULL",
        columns.Take());
  }

  void StoreLogs(const std::vector<RandomLane>& lanes) {
    Columns segments(6);
    Columns hidden(4);
    for (const RandomLane& lane : lanes) {
      for (const engine::StoredSegment& segment : lane.segments) {
        if (segment.fate == engine::Fate::kRemoved) continue;
        segments.Add(lane.id, segment.span.base_seq, segment.span.count,
                     segment.span.created_micros, segment.padding,
                     segment.fate == engine::Fate::kLives);
      }
      for (const engine::HiddenRange& range : lane.hidden) {
        hidden.Add(lane.id, range.from, range.to, range.only_group);
      }
    }
    // A third of the padding is the meta: the bytes of a segment are those of all its columns.
    Run("INSERT INTO queen.segments (partition_id, base_seq, count, created_at, payloads, meta) "
        "SELECT s.id, s.base, s.count, 'epoch'::timestamptz + s.at * interval '1 microsecond', "
        "CASE WHEN s.lives THEN repeat('{}' || E'\\n', s.count - 1) || '{}' "
        "|| repeat(' ', s.padding - s.padding / 3) END, "
        "CASE WHEN s.lives THEN repeat(' ', s.padding / 3) END "
        "FROM unnest($1::int[], $2::bigint[], $3::int[], $4::bigint[], $5::int[], $6::bool[]) "
        "AS s(id, base, count, at, padding, lives)",
        segments.Take());
    Run("INSERT INTO queen.hidden_messages (partition_id, from_seq, to_seq, only_group) "
        "SELECT * FROM unnest($1::int[], $2::bigint[], $3::bigint[], $4::int[])",
        hidden.Take());
  }

  void StoreProgress(const std::vector<RandomLane>& lanes) {
    Columns columns(14);
    for (const RandomLane& lane : lanes) {
      const Progress& row = lane.progress;
      if (row.epoch == 0) continue;
      const engine::Lease lease = row.lease.value_or(engine::Lease{});
      const auto of_lease = [&row](auto value) {
        return row.lease ? std::optional(value) : std::nullopt;
      };
      columns.Add(lane.id, row.epoch, row.cursor, row.settled, row.failed,
                  ArrayOf(row.attempts, false), ArrayOf(row.attempts, true),
                  of_lease(lease.id.ToString()), of_lease(lease.until_micros), of_lease(lease.end),
                  of_lease(lease.seconds), row.deliveries, row.ready_at_micros, row.window_end);
    }
    Run("INSERT INTO queen.progress (partition_id, group_id, epoch, cursor, settled, failed, "
        "attempt_seqs, attempt_counts, lease_id, lease_until, lease_end, lease_seconds, "
        "deliveries, ready_at, window_end, changed_at) SELECT r.id, r.id, r.epoch, r.cursor, "
        "r.settled, r.failed, nullif(r.seqs::bigint[], '{}'), nullif(r.counts::int[], '{}'), "
        "r.lease_id, 'epoch'::timestamptz + r.until * interval '1 microsecond', r.lease_end, "
        "r.seconds, r.deliveries, 'epoch'::timestamptz + r.ready * interval '1 microsecond', "
        "r.win, clock_timestamp() FROM unnest($1::int[], $2::bigint[], $3::bigint[], "
        "$4::bit varying[], $5::bit varying[], $6::text[], $7::text[], $8::uuid[], $9::bigint[], "
        "$10::bigint[], $11::int[], $12::int[], $13::bigint[], $14::bigint[]) AS r(id, epoch, "
        "cursor, settled, failed, seqs, counts, lease_id, until, lease_end, seconds, deliveries, "
        "ready, win)",
        columns.Take());
  }

  // What is stored now, by partition.
  void LoadAfterwards() {
    after_.clear();
    dead_.clear();
    const pg::TextRows rows = Run(kLatestProgress);
    for (int row = 0; row < rows.size(); ++row) {
      after_.emplace(rows.Int(row, 0), ProgressOf(rows, row));
    }
    const pg::TextRows letters =
        Run("SELECT partition_id, seq, error, retry_count FROM queen.dead_letters ORDER BY 1, 2");
    for (int row = 0; row < letters.size(); ++row) {
      dead_[letters.Int(row, 0)].push_back({letters.Int(row, 1), std::string(letters.Text(row, 2)),
                                            static_cast<int32_t>(letters.Int(row, 3))});
    }
  }

  pg::TextRows Run(const std::string& sql,
                   const std::vector<std::optional<std::string>>& parameters = {}) {
    auto rows = connection_->ExecParams(sql, parameters);
    if (!rows.ok()) {
      ADD_FAILURE() << rows.status().message() << "\n" << sql;
      std::abort();
    }
    return *std::move(rows);
  }

  // `next` as it was stored at `now`.
  void ExpectStored(const RandomLane& lane, const Progress& next) {
    const auto stored = after_.find(lane.id);
    ASSERT_NE(stored, after_.end());
    EXPECT_EQ(stored->second, next)
        << "SQL:  " << Describe(stored->second) << "\nrule: " << Describe(next);
  }

  void CompareLease(const RandomLane& lane, const pg::TextRows& rows, int row, int64_t now);
  pg::TextRows Acknowledge(const std::vector<RandomLane>& lanes, LaneMaker& maker);
  void CompareVerdicts(const RandomLane& lane, const pg::TextRows& rows, int row, int64_t now);

  std::optional<pg::BlockingConnection> connection_;
  std::map<int64_t, Progress> after_;
  std::map<int64_t, std::vector<engine::DeadLetter>> dead_;
  int64_t holes_skipped_ = 0;  // lanes that the procedure leaves before a hole
  std::map<std::string, int> seen_;
};

// The first message that may be delivered, in the plainest way.
std::optional<int64_t> FirstToDeliver(const RandomLane& lane, int64_t now) {
  const int64_t age = lane.rules.expires_after_seconds * engine::kTestSecond;
  for (const engine::StoredSegment& segment : lane.segments) {
    if (segment.fate != engine::Fate::kLives) continue;
    for (int64_t seq = segment.span.base_seq; seq < segment.span.end(); ++seq) {
      const int64_t created = segment.span.created_micros + seq - segment.span.base_seq;
      const bool hides =
          std::any_of(lane.hidden.begin(), lane.hidden.end(), [&](const auto& range) {
            return range.only_group != lane.id && range.from <= seq && seq < range.to;
          });
      if (seq >= lane.progress.cursor && !hides && (age == 0 || created >= now - age) &&
          !lane.progress.settled.Get(seq - lane.progress.cursor)) {
        return seq;
      }
    }
  }
  return std::nullopt;
}

// Of a part of the list the same comes out, as far as it goes, or nothing is said.
void CheckShorterList(const RandomLane& lane, const LogView& log, const LeaseOutcome& whole,
                      int64_t now, LaneMaker& maker) {
  if (log.segments.empty()) return;
  const auto kept = static_cast<size_t>(maker.Between(0, std::ssize(log.segments) - 1));
  const int64_t known_end =
      std::max(log.from, kept == 0 ? log.segments[0].base_seq : log.segments[kept - 1].end());
  const LogView part = engine::ListedUpTo(log, known_end);
  const LeaseOutcome outcome = DecideLease(lane.progress, lane.rules, part, lane.request, now);
  if (outcome.state == LeaseState::kLeased && whole.next) {
    ASSERT_EQ(whole.state, LeaseState::kLeased);
    EXPECT_EQ(outcome.cursor, whole.cursor);
    const int64_t reach = std::min(whole.end, known_end);
    EXPECT_LE(outcome.end, reach);
    EXPECT_EQ(whole.settled.Count(outcome.end - whole.cursor, reach - whole.cursor),
              reach - outcome.end);
    EXPECT_FALSE(outcome.whole);
  } else if (outcome.found.state != LaneState::kUnknown) {
    EXPECT_STREQ(StateOf(outcome), StateOf(whole));
    EXPECT_EQ(outcome.next, whole.next);
  }
}

// A decision is the same from its not_before on, and another one before.
void CheckNotBefore(const RandomLane& lane, const LogView& log, const LeaseOutcome& outcome,
                    int64_t now) {
  if (!outcome.next || outcome.not_before_micros == 0) return;
  ASSERT_LE(outcome.not_before_micros, now);
  const auto next_at = [&](int64_t time) {
    return DecideLease(lane.progress, lane.rules, log, lane.request, time).next;
  };
  EXPECT_EQ(next_at(outcome.not_before_micros), outcome.next);
  if (lane.rules.expires_after_seconds == 0) {
    EXPECT_NE(next_at(outcome.not_before_micros - 1), outcome.next);
  }
}

std::optional<int64_t> ReadyInMs(const LeaseOutcome& outcome, int64_t now) {
  if (outcome.state == LeaseState::kLeased) {
    return outcome.whole ? std::nullopt : std::optional<int64_t>(0);
  }
  if (!outcome.found.ready_at_micros) return std::nullopt;
  return std::max<int64_t>(0, (*outcome.found.ready_at_micros - now + 999) / 1000);
}

void Rules::CompareLease(const RandomLane& lane, const pg::TextRows& rows, int row, int64_t now) {
  const LogView log = ViewOf(lane);
  const LeaseOutcome outcome = DecideLease(lane.progress, lane.rules, log, lane.request, now);
  const std::string state(rows.Text(row, 1));
  const bool again = outcome.state == LeaseState::kLeased && !outcome.next;
  ++seen_[again ? "same lease" : lane.request.auto_ack && outcome.next ? "auto ack" : state];
  if (outcome.found.state == LaneState::kEmpty) {
    ASSERT_EQ(FirstToDeliver(lane, now), std::nullopt);
  } else if (outcome.found.state != LaneState::kHeld) {
    ASSERT_EQ(FirstToDeliver(lane, now), outcome.found.cursor);
  }
  if (state != "held" && state != "empty" && !again && !engine::CreatedAt(log, rows.Int(row, 3))) {
    ++holes_skipped_;
    return;
  }

  ASSERT_EQ(StateOf(outcome), state)
      << "cursor " << rows.Text(row, 3) << ", rule " << outcome.found.cursor;
  if (state == "leased" && !again) {
    EXPECT_EQ(outcome.cursor, rows.Int(row, 3));
    EXPECT_EQ(outcome.end, rows.Int(row, 4));
    if (!lane.request.auto_ack) {
      EXPECT_EQ(now + outcome.lease_ms * 1000, rows.Int(row, 5));
    }
    EXPECT_EQ(outcome.settled, Bitmap(rows.Text(row, 6)).Cut(outcome.end - outcome.cursor));
  }
  if (state == "leased" && outcome.messages > 0) {
    const auto bases = Numbers(rows.Text(row, 7));
    ASSERT_TRUE(bases.size() == outcome.segments.size() ||
                (again && bases.size() < outcome.segments.size()));
    for (size_t i = 0; i < bases.size(); ++i) EXPECT_EQ(outcome.segments[i].base_seq, bases[i]);
    EXPECT_LE(outcome.messages, again ? INT64_MAX : lane.request.messages_left);
  }
  if (state == "large") {
    EXPECT_EQ(outcome.bytes, rows.Int(row, 4));
  }
  if (state != "again" && state != "full" && state != "large") {
    const bool rest_is_settled = outcome.whole && outcome.end < log.live_end;
    EXPECT_EQ(rest_is_settled ? 0 : ReadyInMs(outcome, now), MaybeInt(rows, row, 2));
  }

  EXPECT_EQ(outcome.dead, dead_[lane.id]);
  if (outcome.next) {
    Progress next = *outcome.next;
    if (next.lease) next.lease->until_micros = now + outcome.lease_ms * 1000;
    ExpectStored(lane, next);
  } else if (lane.progress.epoch > 0) {
    ExpectStored(lane, lane.progress);
  } else {
    EXPECT_FALSE(after_.contains(lane.id));
  }
}

TEST_F(Rules, LeasesAreDecidedAlike) {
  const uint64_t seed = engine::TestSeed();
  SCOPED_TRACE(testing::Message() << "QUEEN_TEST_SEED=" << seed);
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    const int64_t now = engine::kTestNow + round * int64_t{1'234'567'891};
    LaneMaker maker(seed + static_cast<uint64_t>(round), now);
    const std::vector<RandomLane> lanes = MakeRound(maker, round, now, false);
    Columns columns(7);
    for (const RandomLane& lane : lanes) {
      columns.Add(lane.id, lane.id, lane.id, lane.request.lease_id.ToString(),
                  lane.request.messages_left, lane.request.seconds, lane.request.auto_ack);
    }
    auto parameters = columns.Take();
    parameters.emplace_back(std::to_string(lanes[0].request.bytes_max));
    const pg::TextRows rows =
        Run("SELECT ordinal, state, ready_in_ms, cursor, lease_end, "
            "(extract(epoch FROM lease_until) * 1000000)::bigint, settled, segment_bases "
            "FROM queen.pop_sm_lease($1::int[], $2::int[], $3::int[], $4::uuid[], $5::int[], "
            "$6::int[], $7::bool[], $8::bigint, true) ORDER BY ordinal",
            parameters);
    ASSERT_EQ(rows.size(), kLanes);
    LoadAfterwards();
    for (int row = 0; row < kLanes && !HasFailure(); ++row) {
      const RandomLane& lane = lanes[static_cast<size_t>(row)];
      SCOPED_TRACE(testing::Message()
                   << "round " << round << " at " << now << " " << Describe(lane));
      CompareLease(lane, rows, row, now);
      const LogView log = ViewOf(lane);
      const LeaseOutcome outcome = DecideLease(lane.progress, lane.rules, log, lane.request, now);
      CheckShorterList(lane, log, outcome, now, maker);
      CheckNotBefore(lane, log, outcome, now);
    }
  }
  if (HasFailure()) return;
  for (const char* state : {"leased", "auto ack", "same lease", "held", "retry", "delayed",
                            "window", "empty", "large", "again"}) {
    EXPECT_GT(seen_[state], 0) << state << " is never tried";
  }
  EXPECT_LT(holes_skipped_, kRounds * kLanes / 10);
}

void Rules::CompareVerdicts(const RandomLane& lane, const pg::TextRows& rows, int row,
                            int64_t now) {
  const engine::VerdictOutcome outcome = ApplyVerdicts(lane.progress, lane.rules, lane.verdicts);
  ASSERT_EQ(rows.Text(row, 1), "applied");
  EXPECT_EQ(outcome.next.cursor, rows.Int(row, 2));
  EXPECT_EQ(outcome.released, rows.Bool(row, 3));
  std::vector<int64_t> dead;
  std::vector<engine::DeadLetter> letters;  // copies need a message that is still there
  RandomLane all = lane;
  all.from = 0;
  for (const engine::DeadLetter& letter : outcome.dead) {
    dead.push_back(letter.seq);
    if (engine::CreatedAt(ViewOf(all), letter.seq)) letters.push_back(letter);
  }
  EXPECT_EQ(dead, Numbers(rows.Text(row, 4)));
  EXPECT_EQ(letters, dead_[lane.id]);
  ++seen_[outcome.released ? "released" : "kept"];
  seen_["dead"] += letters.empty() ? 0 : 1;
  seen_["retry delay"] += outcome.ready_in_ms ? 1 : 0;

  Progress next = outcome.next;
  if (outcome.ready_in_ms) {
    next.ready_at_micros =
        std::max(next.ready_at_micros.value_or(0), now + *outcome.ready_in_ms * 1000);
  }
  ExpectStored(lane, next);
}

// The verdicts as queen.ack_messages takes them. One cumulative and one retry verdict of a lane
// may be arguments of their own.
pg::TextRows Rules::Acknowledge(const std::vector<RandomLane>& lanes, LaneMaker& maker) {
  constexpr const char* kKinds[] = {"failed", "dlq", "retry", "cumulative", "before"};
  Columns keys(8);
  Columns items(4);
  for (const RandomLane& lane : lanes) {
    std::optional<int64_t> cumulative;
    std::optional<int64_t> retry_from;
    for (const engine::SingleVerdict& single : lane.verdicts.singles) {
      const bool own = maker.Chance(50);
      if (own && single.kind == engine::VerdictKind::kCumulative && !cumulative) {
        cumulative = single.seq;
      } else if (own && single.kind == engine::VerdictKind::kRetry && !retry_from) {
        retry_from = single.seq;
      } else {
        items.Add(lane.id, single.seq, std::string(kKinds[static_cast<int>(single.kind)]),
                  std::string(single.error));
      }
    }
    const engine::LeaseAfter after = lane.verdicts.lease_after;
    keys.Add(lane.id, lane.id,
             maker.Chance(50) ? std::optional(lane.progress.lease->id.ToString()) : std::nullopt,
             lane.verdicts.base, lane.verdicts.done, cumulative, retry_from,
             after == engine::LeaseAfter::kKeptOnPurpose
                 ? std::nullopt
                 : std::optional(after == engine::LeaseAfter::kEnds));
  }
  auto parameters = keys.Take();
  for (auto& item : items.Take()) parameters.push_back(std::move(item));
  return Run(
      "SELECT ordinal, state, new_cursor, released, dead_seqs FROM queen.ack_messages(NULL, NULL, "
      "$1::int[], $2::int[], $3::uuid[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[], "
      "$8::bool[], $9::int[], $10::bigint[], $11::text[], $12::text[]) ORDER BY ordinal",
      parameters);
}

TEST_F(Rules, VerdictsAreDecidedAlike) {
  const uint64_t seed = engine::TestSeed();
  SCOPED_TRACE(testing::Message() << "QUEEN_TEST_SEED=" << seed);
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    const int64_t now = engine::kTestNow + round * int64_t{1'234'567'891};
    LaneMaker maker(seed + static_cast<uint64_t>(round), now);
    const std::vector<RandomLane> lanes = MakeRound(maker, round, now, true);
    const pg::TextRows rows = Acknowledge(lanes, maker);
    ASSERT_EQ(rows.size(), kLanes);
    LoadAfterwards();
    for (int row = 0; row < kLanes && !HasFailure(); ++row) {
      const RandomLane& lane = lanes[static_cast<size_t>(row)];
      SCOPED_TRACE(testing::Message() << "round " << round << " at " << now << " " << Describe(lane)
                                      << DescribeVerdicts(lane));
      CompareVerdicts(lane, rows, row, now);
    }
  }
  if (HasFailure()) return;
  for (const char* state : {"released", "kept", "dead", "retry delay"}) {
    EXPECT_GT(seen_[state], 0) << state << " is never tried";
  }
}

}  // namespace
}  // namespace queen::storage
