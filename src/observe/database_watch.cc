#include "observe/database_watch.h"

#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "storage/metrics_statements.h"

namespace queen::observe {
namespace {

std::string TextOrEmpty(const pg::Rows& rows, int row, int column) {
  return rows.IsNull(row, column) ? std::string() : std::string(rows.Text(row, column));
}

}  // namespace

DatabaseWatch::DatabaseWatch(admin::AdminPool& pool, QueueSeries& series, DatabaseNumbers& numbers,
                             std::function<void()> tick)
    : pool_(pool),
      series_(series),
      numbers_(numbers),
      tick_(std::move(tick)),
      timer_(pool.loop(), [this] { OnTick(); }) {
  timer_.Start(0, kTickMs);
}

void DatabaseWatch::Start() {
  pool_.loop().AssertOwner();
  asking_ = true;
}

void DatabaseWatch::Stop() {
  pool_.loop().AssertOwner();
  asking_ = false;
}

void DatabaseWatch::OnTick() {
  const pg::Slots::Counts counts = pool_.counts();
  numbers_.SetPool({.size = counts.total,
                    .idle = counts.up - counts.busy,
                    .busy = counts.busy,
                    .waiting = static_cast<int64_t>(pool_.waiting())});
  series_.Merge();
  tick_();
  if (!asking_) return;
  const int64_t now = SteadyMillis();
  if (queues_.IsDue(now)) AskQueues();
  if (groups_.IsDue(now)) AskGroups();
  if (database_.IsDue(now)) AskDatabase();
}

void DatabaseWatch::Ask(Question& question, const pg::Statement& statement, pg::Params params,
                        std::function<void(const pg::Rows&)> take) {
  question.open = true;
  question.asked_ms = SteadyMillis();
  pool_.Execute(
      pool_.loop(), pg::Batch(statement, std::move(params)),
      [this, &question, take = std::move(take)](const pg::BatchResult& result) {
        question.open = false;
        if (!asking_) return;
        if (result.ok()) return take(result.rows[0]);
        log::Debug("the database was not heard for metrics", {{"error", result.status.ToString()}});
      });
}

void DatabaseWatch::AskQueues() {
  const std::vector<std::string> shown = series_.Shown();
  pg::TextArray names(shown.size());
  for (const std::string& name : shown) names.Add(name);
  pg::Params params(2);
  params.Add(std::move(names)).Int4(kMoreQueues);
  Ask(queues_, storage::kMetricsQueues, std::move(params), [this](const pg::Rows& rows) {
    std::vector<QueueDepth> queues;
    queues.reserve(static_cast<size_t>(rows.rows()));
    for (int row = 0; row < rows.rows(); ++row) {
      queues.push_back({.queue = TextOrEmpty(rows, row, 0),
                        .partitions = rows.Int8(row, 1),
                        .stored = rows.Int8(row, 2),
                        .pending = rows.Int8(row, 3),
                        .processing = rows.Int8(row, 4),
                        .failed = rows.Int8(row, 5),
                        .dead_letters = rows.Int8(row, 6),
                        .oldest_age_seconds = rows.Float8(row, 7)});
    }
    numbers_.SetQueues(std::move(queues));
  });
}

void DatabaseWatch::AskGroups() {
  pg::Params params(1);
  params.Int4(kMoreGroups);
  Ask(groups_, storage::kMetricsGroups, std::move(params), [this](const pg::Rows& rows) {
    std::vector<GroupLag> groups;
    groups.reserve(static_cast<size_t>(rows.rows()));
    for (int row = 0; row < rows.rows(); ++row) {
      groups.push_back({.queue = TextOrEmpty(rows, row, 0),
                        .group = TextOrEmpty(rows, row, 1),
                        .lag = rows.Int8(row, 2),
                        .oldest_age_seconds = rows.Float8(row, 3)});
    }
    numbers_.SetGroups(std::move(groups));
  });
}

void DatabaseWatch::AskDatabase() {
  Ask(database_, storage::kMetricsDatabase, pg::Params(0), [this](const pg::Rows& rows) {
    std::vector<DatabaseValue> values;
    values.reserve(static_cast<size_t>(rows.rows()));
    for (int row = 0; row < rows.rows(); ++row) {
      values.push_back({.kind = std::string(rows.Text(row, 0)),
                        .subject = std::string(rows.Text(row, 1)),
                        .value = rows.Float8(row, 2)});
    }
    numbers_.SetDatabase(std::move(values));
  });
}

}  // namespace queen::observe
