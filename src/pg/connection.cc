#include "pg/connection.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/random.h"
#include "pg/libpq_message.h"
#include "pg/sqlstate.h"

namespace queen::pg {
namespace {

constexpr int kBinary = 1;
constexpr std::string_view kReadOnly = "25006";

std::string_view FieldOf(const PGresult* result, int field) {
  const char* text = PQresultErrorField(result, field);
  return text == nullptr ? std::string_view() : text;
}

bool EndsTheSession(const PGresult* result) {
  const std::string_view severity = FieldOf(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  return severity == "FATAL" || severity == "PANIC";
}

// A plan whose result type has changed is refused once and works when prepared again.
bool IsStalePlan(const PGresult* result) {
  return FieldOf(result, PG_DIAG_SQLSTATE) == "0A000" &&
         FieldOf(result, PG_DIAG_SOURCE_FUNCTION) == "RevalidateCachedQuery";
}

// The commit stands on this server, but nobody knows whether the synchronous standby has it. Told
// by the place in PostgreSQL's source: the text is translated and the SQLSTATE is that of any
// warning.
bool IsCancelledStandbyWait(const PGresult* result) {
  return FieldOf(result, PG_DIAG_SOURCE_FUNCTION) == "SyncRepWaitForLSN";
}

// Decrypted bytes that OpenSSL holds back: the socket will not become readable for them. Servers
// before 17 send records small enough for libpq to take whole; later ones do not.
bool HasDecryptedBytes(PGconn* connection) {
  auto* ssl = static_cast<SSL*>(PQsslStruct(connection, "OpenSSL"));
  return ssl != nullptr && SSL_pending(ssl) > 0;
}

bool HasUnreadBytes(int socket) {
  char byte = 0;
  return recv(socket, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void CheckTypes(const Statement& statement, const Params& params) {
  bool same = params.size() == statement.parameter_types.size();
  for (size_t i = 0; same && i < params.size(); ++i) {
    same = params.TypeOf(i) == statement.parameter_types[i];
  }
  if (same) return;
  log::ErrorRarely("parameters do not have the types of their statement",
                   {{"statement", statement.name}, {"sql", statement.sql}});
  std::abort();
}

}  // namespace

Connection::Connection(Loop& loop, const ConnectOptions& options, int pipeline_depth,
                       Listener& listener)
    : loop_(loop),
      options_(options),
      pipeline_depth_(pipeline_depth),
      listener_(listener),
      connector_(loop, options),
      backoff_(options.backoff_base_ms, options.backoff_max_ms),
      timer_(loop, [this] { OnTimer(); }) {
  assert(pipeline_depth > 0);
}

Connection::~Connection() { Close(); }

int Connection::backend_pid() const { return connection_ ? PQbackendPID(connection_.get()) : 0; }

int Connection::server_version() const {
  return connection_ ? PQserverVersion(connection_.get()) : 0;
}

// ---- connecting ----

void Connection::Start() {
  loop_.AssertOwner();
  assert(state_ == State::kClosed);
  BeginConnecting();
}

void Connection::BeginConnecting() {
  state_ = State::kConnecting;
  connector_.Start([this](Connector::Attempt attempt) { OnAttempt(std::move(attempt)); });
}

void Connection::OnAttempt(Connector::Attempt attempt) {
  if (!attempt.connection) {
    BeginBackoff();
    listener_.OnConnectFailed(*this, attempt.failure);
    return;
  }
  connection_ = std::move(attempt.connection);
  PQsetNoticeReceiver(connection_.get(), OnNotice, this);
  if (PQsetnonblocking(connection_.get(), 1) != 0 || PQenterPipelineMode(connection_.get()) != 1) {
    Drop();
    BeginBackoff();
    listener_.OnConnectFailed(
        *this, {.status = Status(Code::kDatabaseUnavailable, "libpq cannot pipeline")});
    return;
  }
  backoff_.Reset();
  prepared_.Clear();
  farewell_.clear();
  farewell_sqlstate_.clear();
  doomed_ = false;
  state_ = State::kIdle;
  watch_ = std::make_unique<SocketWatch>(loop_, PQsocket(connection_.get()),
                                         [this](int events) { OnSocket(events); });
  watch_->Want(UV_READABLE);
  listener_.OnUp(*this);
}

void Connection::BeginBackoff() {
  state_ = State::kBackoff;
  timer_.Start(backoff_.Next(ThreadRandom()));
}

// ---- sending ----

void Connection::Execute(Batch batch, BatchCallback callback) {
  loop_.AssertOwner();
  assert(IsFree() && !batch.empty());
  for (const auto& execution : batch.executions()) {
    CheckTypes(*execution.statement, execution.params);
  }
  waiting_.push_back({.batch = std::move(batch), .callback = std::move(callback)});
  state_ = State::kBusy;
  SendWaiting();
}

void Connection::SendWaiting() {
  bool sent = false;
  while (!doomed_ && !waiting_.empty() && !MustWait(waiting_.front().batch)) {
    if (in_flight_.empty()) last_progress_ms_ = loop_.NowMillis();
    in_flight_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    Pending& pending = in_flight_.back();
    pending.result.sent = true;
    doomed_ = !Send(pending);
    sent = true;
  }
  if (sent) Flush();
  if (doomed_) {
    timer_.Start(0);
  } else if (!in_flight_.empty() && !timer_.IsActive()) {
    timer_.Start(options_.in_flight_deadline_ms);
  }
}

bool Connection::MustWait(const Batch& batch) const {
  if (in_flight_.empty()) return false;
  for (const auto& execution : batch.executions()) {
    if (prepared_.IsPending(*execution.statement)) return true;
  }
  return false;
}

bool Connection::Send(Pending& pending) {
  const int count = static_cast<int>(pending.batch.size());
  for (int i = 0; i < count; ++i) {
    if (!SendExecution(pending, i)) return false;
  }
  return PQpipelineSync(connection_.get()) == 1;
}

bool Connection::SendExecution(Pending& pending, int index) {
  const auto& [statement, params] = pending.batch.executions()[static_cast<size_t>(index)];
  PGconn* const connection = connection_.get();
  const auto& types = statement->parameter_types;
  const int count = static_cast<int>(params.size());
  params.Describe(scratch_values_, scratch_lengths_);
  scratch_formats_.assign(params.size(), kBinary);
  if (statement->name.empty()) {
    pending.steps.push_back({Step::Kind::kExecute, index});
    return PQsendQueryParams(connection, statement->sql.c_str(), count, types.data(),
                             scratch_values_.data(), scratch_lengths_.data(),
                             scratch_formats_.data(), kBinary) == 1;
  }
  const auto needs = prepared_.NeedsOf(*statement);
  if (needs.deallocate) {
    pending.steps.push_back({Step::Kind::kDeallocate, index});
    const std::string sql = fmt::format("DEALLOCATE \"{}\"", statement->name);
    if (PQsendQueryParams(connection, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr,
                          kBinary) != 1) {
      return false;
    }
  }
  if (needs.prepare) {
    pending.steps.push_back({Step::Kind::kPrepare, index});
    prepared_.OnPrepareSent(*statement);
    if (PQsendPrepare(connection, statement->name.c_str(), statement->sql.c_str(), count,
                      types.data()) != 1) {
      return false;
    }
  }
  pending.steps.push_back({Step::Kind::kExecute, index});
  return PQsendQueryPrepared(connection, statement->name.c_str(), count, scratch_values_.data(),
                             scratch_lengths_.data(), scratch_formats_.data(), kBinary) == 1;
}

void Connection::Flush() {
  // A failed write is not the end yet: what the server said before it hung up may still be there to
  // read, and reading finds the end by itself.
  const bool more = PQflush(connection_.get()) == 1;
  watch_->Want(more ? UV_READABLE | UV_WRITABLE : UV_READABLE);
}

// ---- receiving ----

void Connection::OnSocket(int events) {
  last_progress_ms_ = loop_.NowMillis();
  const bool alive = (events & UV_READABLE) == 0 || ReadSocket();
  TakeResults();
  if (!connection_) return;
  if (!alive) {
    Lose(Status(Code::kDatabaseUnavailable, OneLine(PQerrorMessage(connection_.get()))), {});
    return;
  }
  Flush();
}

bool Connection::ReadSocket() {
  do {
    if (PQconsumeInput(connection_.get()) != 1) {
      // Kept now: what libpq is asked next adds complaints of its own.
      if (farewell_.empty()) farewell_ = OneLine(PQerrorMessage(connection_.get()));
      return false;
    }
  } while (HasDecryptedBytes(connection_.get()));
  return true;
}

void Connection::TakeResults() {
  bool was_null = false;
  while (connection_ && PQisBusy(connection_.get()) == 0 && !in_flight_.empty()) {
    ResultHandle result(PQgetResult(connection_.get()));
    if (result) {
      was_null = false;
      OnResult(std::move(result));
      continue;
    }
    // One null ends each step's results; two mean that libpq expects nothing more.
    if (was_null) {
      Lose(Status(Code::kDatabaseUnavailable, "libpq lost count of the answers"), {});
      return;
    }
    was_null = true;
  }
}

void Connection::OnResult(ResultHandle result) {
  Pending& pending = in_flight_.front();
  switch (PQresultStatus(result.get())) {
    case PGRES_PIPELINE_SYNC:
      return OnSync();
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY:
      return OnStepDone(pending, std::move(result));
    case PGRES_FATAL_ERROR:
    case PGRES_PIPELINE_ABORTED:
      if (EndsTheSession(result.get()) || PQstatus(connection_.get()) == CONNECTION_BAD) {
        return Lose(Status(Code::kDatabaseUnavailable, OneLine(PQresultErrorMessage(result.get()))),
                    std::string(FieldOf(result.get(), PG_DIAG_SQLSTATE)));
      }
      return OnStepFailed(pending, result.get());
    default:
      return Lose(Status(Code::kDatabaseUnavailable,
                         fmt::format("an answer that does not belong in a pipeline: {}",
                                     PQresStatus(PQresultStatus(result.get())))),
                  {});
  }
}

void Connection::OnStepDone(Pending& pending, ResultHandle result) {
  if (pending.answered == pending.steps.size()) {
    return Lose(Status(Code::kDatabaseUnavailable, "more answers than statements"), {});
  }
  const Step step = pending.steps[pending.answered++];
  const Statement& statement =
      *pending.batch.executions()[static_cast<size_t>(step.execution)].statement;
  switch (step.kind) {
    case Step::Kind::kDeallocate:
      return prepared_.OnDeallocated(statement, {});
    case Step::Kind::kPrepare:
      return prepared_.OnPrepared(statement, {});
    case Step::Kind::kExecute:
      pending.result.rows.emplace_back(std::move(result));
      return;
  }
}

void Connection::OnStepFailed(Pending& pending, const PGresult* result) {
  const bool skipped = PQresultStatus(result) == PGRES_PIPELINE_ABORTED;
  const std::string_view sqlstate =
      skipped ? PreparedStatements::kSkipped : FieldOf(result, PG_DIAG_SQLSTATE);
  const bool at_commit = pending.answered == pending.steps.size();
  if (!at_commit) {
    const Step step = pending.steps[pending.answered++];
    const Statement& statement =
        *pending.batch.executions()[static_cast<size_t>(step.execution)].statement;
    switch (step.kind) {
      case Step::Kind::kDeallocate:
        prepared_.OnDeallocated(statement, sqlstate);
        break;
      case Step::Kind::kPrepare:
        prepared_.OnPrepared(statement, sqlstate);
        break;
      case Step::Kind::kExecute:
        prepared_.OnExecutionFailed(statement, sqlstate);
        break;
    }
    if (!skipped) pending.result.failed_statement = step.execution;
  }
  if (skipped) return;
  const Code code = IsStalePlan(result) ? Code::kDatabaseRetry : CodeOf(sqlstate);
  pending.result.status = Status(code, std::string(FieldOf(result, PG_DIAG_MESSAGE_PRIMARY)));
  pending.result.sqlstate = sqlstate;
  pending.result.detail = FieldOf(result, PG_DIAG_MESSAGE_DETAIL);
}

void Connection::OnSync() {
  Pending done = std::move(in_flight_.front());
  BatchResult& result = done.result;
  if (result.status.ok() && done.answered != done.steps.size()) {
    in_flight_.front() = std::move(done);
    return Lose(Status(Code::kDatabaseUnavailable, "fewer answers than statements"), {});
  }
  in_flight_.pop_front();
  result.outcome = result.status.ok()                              ? Outcome::kSuccess
                   : result.status.code() == Code::kOutcomeUnknown ? Outcome::kUnknown
                                                                   : Outcome::kFailure;
  if (!result.ok()) result.rows.clear();
  const bool read_only = result.sqlstate == kReadOnly;
  if (load() == 0) state_ = State::kIdle;
  SendWaiting();
  done.callback(std::move(result));
  if (!connection_) return;
  if (read_only) {
    return Lose(Status(Code::kDatabaseUnavailable, "the server has become read-only"),
                std::string(kReadOnly));
  }
  if (IsFree()) listener_.OnFree(*this);
}

void Connection::OnNotice(void* self, const PGresult* result) {
  const std::string_view message = FieldOf(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string_view sqlstate = FieldOf(result, PG_DIAG_SQLSTATE);
  log::Debug("PostgreSQL notice", {{"message", message}, {"sqlstate", sqlstate}});
  auto* connection = static_cast<Connection*>(self);
  if (IsCancelledStandbyWait(result) && !connection->in_flight_.empty()) {
    // Only a commit waits, and its Sync is still to come: it is the first batch's.
    BatchResult& first = connection->in_flight_.front().result;
    first.status = Status(Code::kOutcomeUnknown, std::string(message));
    first.sqlstate = sqlstate;
  }
  if (!EndsTheSession(result)) return;
  connection->farewell_ = message;
  connection->farewell_sqlstate_ = sqlstate;
}

// ---- losing, closing ----

void Connection::OnTimer() {
  switch (state_) {
    case State::kBackoff:
      return BeginConnecting();
    case State::kBusy:
      return OnSilence();
    default:
      return;
  }
}

void Connection::OnSilence() {
  if (doomed_) {
    // What arrived before the write failed still counts.
    ReadSocket();
    TakeResults();
    if (connection_) {
      Lose(Status(Code::kDatabaseUnavailable, OneLine(PQerrorMessage(connection_.get()))), {});
    }
    return;
  }
  const int64_t left = last_progress_ms_ + options_.in_flight_deadline_ms - loop_.NowMillis();
  if (left > 0) return timer_.Start(left);
  // The loop itself may have stood still while the answer came.
  if (HasUnreadBytes(PQsocket(connection_.get()))) {
    return timer_.Start(options_.in_flight_deadline_ms);
  }
  Lose(Status(Code::kDatabaseUnavailable,
              fmt::format("no answer within {} ms", options_.in_flight_deadline_ms)),
       {});
}

void Connection::Lose(Status reason, std::string sqlstate) {
  if (sqlstate.empty() && !farewell_.empty()) {
    reason = Status(Code::kDatabaseUnavailable, farewell_);
    sqlstate = farewell_sqlstate_;
  }
  Drop();
  // Taken first: the listener may close what it believes to be drained.
  std::deque<Pending> batches = TakeBatches();
  BeginBackoff();
  listener_.OnDown(*this, reason);
  EndBatches(std::move(batches), reason, sqlstate);
}

void Connection::Drop() {
  watch_.reset();
  if (connection_) {
    // Closed with a reset and without sending what is still buffered: the server learns of it now
    // and not after it has run a half-sent batch.
    const int socket = PQsocket(connection_.get());
    if (socket >= 0) {
      const linger reset{.l_onoff = 1, .l_linger = 0};
      setsockopt(socket, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
      shutdown(socket, SHUT_RDWR);
    }
    connection_.reset();
  }
}

std::deque<Connection::Pending> Connection::TakeBatches() {
  std::deque<Pending> batches = std::exchange(in_flight_, {});
  for (Pending& pending : waiting_) batches.push_back(std::move(pending));
  waiting_.clear();
  return batches;
}

void Connection::EndBatches(std::deque<Pending> batches, const Status& reason,
                            const std::string& sqlstate) {
  for (Pending& pending : batches) {
    BatchResult result;
    result.sent = pending.result.sent;
    result.outcome = result.sent ? Outcome::kUnknown : Outcome::kFailure;
    result.status = result.sent ? Status(Code::kOutcomeUnknown, reason.message()) : reason;
    result.sqlstate = sqlstate;
    pending.callback(std::move(result));
  }
}

void Connection::Close() {
  loop_.AssertOwner();
  if (state_ == State::kClosed) return;
  std::deque<Pending> batches = TakeBatches();
  state_ = State::kClosed;
  timer_.Stop();
  connector_.Cancel();
  if (batches.empty()) {
    watch_.reset();
    connection_.reset();  // says goodbye
    return;
  }
  Drop();
  const Status reason(Code::kShuttingDown);
  listener_.OnDown(*this, reason);
  EndBatches(std::move(batches), reason, {});
}

}  // namespace queen::pg
