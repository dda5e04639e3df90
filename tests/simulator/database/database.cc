#include "simulator/database/database.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "base/random.h"
#include "pg/sqlstate.h"
#include "simulator/database/procedures/procedures.h"

namespace queen::simulator {

struct Database::Work {
  pg::Batch batch;
  pg::BatchCallback callback;
};

struct Database::Session {
  SessionId id = 0;
  SessionOptions options;
  bool client_gone = false;
  std::deque<Work> waiting;
  bool due = false;         // the next of `waiting` is on its way
  int64_t answered_at = 0;  // the last answer arrives then; no later one comes before it
  // The batch being executed. What runs is destroyed before what it works on.
  std::optional<Work> work;
  std::unique_ptr<Transaction> transaction;
  bool awaits_standby = false;
  bool standby_cancelled = false;
  Task<void> running;
};

Database::Database(Scheduler& scheduler, DatabaseOptions options)
    : scheduler_(scheduler),
      options_(options),
      random_(options.seed),
      log_(options.standby_micros_max > 0),
      transactions_(scheduler, log_, random_, options.transactions) {
  for (uint8_t& byte : catalog_.identity.bytes) byte = static_cast<uint8_t>(random_());
}

Database::~Database() {
  for (auto& [id, session] : sessions_) session->client_gone = true;
  End(std::move(sessions_));
}

int64_t Database::Draw(int64_t low, int64_t high) {
  return high <= low ? low : RandomBetween(random_, low, high);
}

std::optional<Database::SessionId> Database::Open(SessionOptions options) {
  if (!up_) return std::nullopt;
  auto session = std::make_unique<Session>();
  session->id = ++session_ids_;
  session->options = std::move(options);
  const SessionId id = session->id;
  sessions_.emplace(id, std::move(session));
  return id;
}

void Database::Lose(SessionId id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  Session& session = *found->second;
  session.client_gone = true;
  if (session.running.done() && (session.waiting.empty() || Draw(0, 1) == 0)) {
    sessions_.erase(found);  // nothing of it has arrived
    return;
  }
  if (!session.running.done() && Draw(0, 1) == 0) session.waiting.clear();
}

void Database::Execute(SessionId id, pg::Batch batch, pg::BatchCallback callback) {
  Session& session = *sessions_.at(id);
  session.waiting.push_back({std::move(batch), std::move(callback)});
  if (session.running.done() && !session.due) {
    BeginNext(id, Draw(0, options_.network_micros_max), false);
  }
}

void Database::BeginNext(SessionId id, int64_t delay_micros, bool late) {
  sessions_.at(id)->due = true;
  scheduler_.After(delay_micros, [this, id, late] {
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    Session& session = *found->second;
    if (session.client_gone && !late && options_.stray_micros_max > 0) {
      return BeginNext(id, Draw(0, options_.stray_micros_max), true);
    }
    session.due = false;
    if (session.waiting.empty()) return;
    session.work = std::move(session.waiting.front());
    session.waiting.pop_front();
    session.running = Run(session);
    session.running.Start();
  });
}

Task<void> Database::Run(Session& session) {
  ++counts_.batches;
  if (session.client_gone) ++counts_.strays;
  pg::BatchResult result;
  result.sent = true;
  int statement = 0;
  session.transaction = std::make_unique<Transaction>(transactions_, transactions_.NextId(),
                                                      session.options.lock_timeout_micros);
  Transaction& transaction = *session.transaction;
  try {
    for (const pg::Batch::Execution& execution : session.work->batch.executions()) {
      const int64_t pause = AtLeastUntil(statements_from_, Draw(0, options_.statement_micros_max));
      if (pause > 0) co_await transaction.Sleep(pause);
      co_await transaction.NextStatement();
      const Arguments arguments(execution.params);
      Call call{transaction, catalog_, arguments};
      pg::Rows rows = co_await CallProcedure(*execution.statement, call);
      result.rows.push_back(std::move(rows));
      ++statement;
    }
    statement = pg::BatchResult::kNoStatement;
    result.outcome = pg::Outcome::kSuccess;
    co_await Commit(session, result);
  } catch (const SqlError& error) {
    ++counts_.refused;
    if (error.sqlstate == "40P01") ++counts_.deadlocks;
    if (error.sqlstate == "55P03") ++counts_.lock_timeouts;
    result.rows.clear();
    result.outcome = pg::Outcome::kFailure;
    result.status = Status(pg::CodeOf(error.sqlstate), error.message);
    result.sqlstate = error.sqlstate;
    result.detail = error.detail;
    result.failed_statement = statement;
  }
  session.transaction.reset();
  Answer(session.id, std::move(session.work->callback), std::move(result));
}

Task<void> Database::Commit(Session& session, pg::BatchResult& result) {
  Transaction& transaction = *session.transaction;
  if (transaction.has_xid()) {
    const Lsn lsn = transaction.WriteCommit();
    if (transaction.synchronous()) {
      const int64_t flush =
          AtLeastUntil(flushes_from_, Draw(options_.flush_micros_min, options_.flush_micros_max));
      if (flush > 0) co_await transaction.Sleep(flush);
      log_.Flush(lsn);
      if (options_.standby_micros_max > 0) {
        session.awaits_standby = true;
        int64_t left = Draw(1, options_.standby_micros_max);
        while (left > 0 && !session.standby_cancelled) {
          const int64_t step = std::min<int64_t>(left, 1'000);
          co_await transaction.Sleep(step);
          left -= step;
        }
        session.awaits_standby = false;
        if (session.standby_cancelled) {
          session.standby_cancelled = false;
          result.rows.clear();
          result.outcome = pg::Outcome::kUnknown;
          result.status = Status(Code::kOutcomeUnknown);
        } else {
          log_.Confirm(lsn);
        }
      }
    } else {
      FlushSoon();
    }
  }
  transaction.ShowCommit();
  VacuumSoon();
}

// The coroutine that calls this ends before the next begins.
void Database::Answer(SessionId id, pg::BatchCallback callback, pg::BatchResult result) {
  struct Reply {
    pg::BatchCallback callback;
    pg::BatchResult result;
  };
  auto reply = std::make_unique<Reply>(Reply{std::move(callback), std::move(result)});
  int64_t& answered_at = sessions_.at(id)->answered_at;
  const int64_t now = scheduler_.NowMicros();
  answered_at = std::max(answered_at, now + Draw(0, options_.network_micros_max));
  scheduler_.After(answered_at - now, [this, id, reply = std::move(reply)] {
    const auto found = sessions_.find(id);
    if (found == sessions_.end() || found->second->client_gone) return;
    reply->callback(std::move(reply->result));
  });
  scheduler_.After(0, [this, id] {
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    Session& session = *found->second;
    session.running = Task<void>();
    session.work.reset();
    if (!session.waiting.empty()) return BeginNext(id, 0, session.client_gone);
    if (session.client_gone) sessions_.erase(found);
  });
}

void Database::End(std::map<SessionId, std::unique_ptr<Session>> sessions) {
  for (auto& [id, session] : sessions) session->running = Task<void>();
  for (auto& [id, session] : sessions) session->transaction.reset();
  for (auto& [id, session] : sessions) {
    if (session->client_gone || !session->options.on_lost) continue;
    scheduler_.After(Draw(0, options_.network_micros_max),
                     [lost = std::move(session->options.on_lost)]() mutable { lost(); });
  }
}

void Database::Crash(int64_t down_micros) {
  GoDown(static_cast<Lsn>(
             Draw(static_cast<int64_t>(log_.flushed()), static_cast<int64_t>(log_.end()))),
         down_micros);
}

void Database::Failover(int64_t down_micros, int64_t clock_micros) {
  assert(options_.standby_micros_max > 0);
  GoDown(
      static_cast<Lsn>(Draw(static_cast<int64_t>(log_.safe()), static_cast<int64_t>(log_.end()))),
      down_micros);
  JumpClock(clock_micros);
}

void Database::GoDown(Lsn prefix, int64_t down_micros) {
  ++counts_.crashes;
  counts_.lost_commits += log_.end() - prefix;
  up_ = false;
  const uint64_t generation = ++generation_;
  // Whose commit is in the log has committed, whatever its session knew: so before they abort.
  log_.Crash(prefix);
  End(std::exchange(sessions_, {}));
  for (AnyTable* table : catalog_.AllTables()) table->Recover(log_);
  for (Sequence* sequence : catalog_.AllSequences()) sequence->Recover(log_);
  scheduler_.After(down_micros, [this, generation] {
    if (generation == generation_) up_ = true;
  });
}

void Database::CancelStandbyWaits() {
  for (auto& [id, session] : sessions_) session->standby_cancelled = session->awaits_standby;
}

void Database::JumpClock(int64_t micros) {
  transactions_.set_clock_offset_micros(transactions_.clock_offset_micros() + micros);
}

void Database::Stall(int64_t micros, bool whole) {
  const int64_t until = scheduler_.NowMicros() + micros;
  flushes_from_ = std::max(flushes_from_, until);
  if (whole) statements_from_ = std::max(statements_from_, until);
}

int64_t Database::AtLeastUntil(int64_t time, int64_t micros) const {
  return std::max(micros, time - scheduler_.NowMicros());
}

int64_t Database::ClockMicros() const {
  return scheduler_.NowMicros() + transactions_.clock_offset_micros();
}

std::unique_ptr<Transaction> Database::Look() {
  return std::make_unique<Transaction>(transactions_, transactions_.NextId(), 0);
}

void Database::FlushSoon() {
  if (std::exchange(flush_due_, true)) return;
  scheduler_.After(options_.async_flush_micros, [this, generation = generation_] {
    flush_due_ = false;
    if (generation == generation_) {
      log_.Flush(log_.end());
      if (options_.standby_micros_max > 0) log_.Confirm(log_.end());
    } else if (log_.flushed() < log_.end()) {
      FlushSoon();
    }
  });
}

void Database::VacuumSoon() {
  if (std::exchange(vacuum_due_, true)) return;
  scheduler_.After(options_.vacuum_every_micros, [this] {
    vacuum_due_ = false;
    const Xid horizon = transactions_.Horizon();
    for (AnyTable* table : catalog_.AllTables()) table->Vacuum(log_, horizon);
  });
}

}  // namespace queen::simulator
