#include "pg/connector.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>

#include "base/log.h"
#include "pg/libpq_message.h"
#include "pg/sqlstate.h"

namespace queen::pg {
namespace {

constexpr int kServerVersionMin = 140000;

// What libpq prints is not for standard error.
void LogNotice(void*, const PGresult* result) {
  const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  log::Debug("PostgreSQL notice", {{"message", message == nullptr ? "" : message}});
}

// Why libpq gave up, under PQERRORS_VERBOSE.
ConnectFailure FailureOf(PGconn* connection) {
  const std::string_view message = PQerrorMessage(connection);
  // libpq does not ask a server that wants a password when it has none.
  const std::string_view sqlstate =
      PQconnectionNeedsPassword(connection) != 0 ? "28P01" : SqlstateIn(message);
  return {.status = Status(Code::kDatabaseUnavailable, OneLine(message)),
          .sqlstate = std::string(sqlstate),
          .needs_person = NeedsAPerson(sqlstate)};
}

// What is wrong with a server that let us in; ok when nothing is.
Status Verify(PGconn* connection) {
  const int version = PQserverVersion(connection);
  if (version < kServerVersionMin) {
    return Status(Code::kDatabaseUnavailable,
                  fmt::format("PostgreSQL {} is too old: 14 or later is needed", version / 10000));
  }
  const char* encoding = PQparameterStatus(connection, "server_encoding");
  if (encoding == nullptr || std::string_view(encoding) != "UTF8") {
    return Status(Code::kDatabaseUnavailable,
                  fmt::format("the database {} has the encoding {}: UTF8 is needed",
                              PQdb(connection), encoding == nullptr ? "unknown" : encoding));
  }
  return Status::Ok();
}

}  // namespace

Connector::Connector(Loop& loop, const ConnectOptions& options)
    : loop_(loop),
      keywords_(options.ConnectionKeywords()),
      timeout_ms_(options.EffectiveConnectTimeoutMs()),
      timeout_(loop, [this] { OnTimeout(); }) {}

void Connector::Start(Done done) {
  loop_.AssertOwner();
  assert(!done_);
  done_ = std::move(done);
  timeout_.Start(timeout_ms_);
  auto hosts = CandidatesOf(keywords_);
  // A mistake in the lists, or none at all, is libpq's to judge.
  if (!hosts.ok()) hosts = std::vector<Candidate>();
  if (hosts->empty()) hosts->push_back({});
  resolver_ = std::make_unique<Resolver>(
      loop_, *std::move(hosts),
      [this](Result<std::vector<Candidate>> candidates) { OnResolved(std::move(candidates)); });
}

void Connector::Cancel() {
  timeout_.Stop();
  resolver_.reset();
  watch_.reset();
  connection_.reset();
  done_ = nullptr;
}

void Connector::OnResolved(Result<std::vector<Candidate>> candidates) {
  resolver_.reset();
  if (!candidates.ok()) return Fail({.status = candidates.status()});
  std::vector<Candidate> list = *std::move(candidates);
  if (list.size() == 1 && list[0] == Candidate{}) return Connect(keywords_);
  const auto first = static_cast<std::ptrdiff_t>(first_candidate_ % list.size());
  std::rotate(list.begin(), list.begin() + first, list.end());
  Connect(WithCandidates(keywords_, list));
}

void Connector::Connect(const Keywords& keywords) {
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : keywords) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  connection_.reset(PQconnectStartParams(names.data(), values.data(), 0));
  if (!connection_) {
    return Fail({.status = Status(Code::kDatabaseUnavailable, "libpq is out of memory")});
  }
  // Only this makes libpq tell the SQLSTATE of a refused connection.
  PQsetErrorVerbosity(connection_.get(), PQERRORS_VERBOSE);
  PQsetNoticeReceiver(connection_.get(), LogNotice, nullptr);
  if (PQstatus(connection_.get()) == CONNECTION_BAD) {
    return Fail(FailureOf(connection_.get()));
  }
  Watch(UV_WRITABLE);
}

void Connector::Watch(int events) {
  watch_ =
      std::make_unique<SocketWatch>(loop_, PQsocket(connection_.get()), [this](int) { Step(); });
  watch_->Want(events);
}

void Connector::Step() {
  watch_.reset();
  switch (PQconnectPoll(connection_.get())) {
    case PGRES_POLLING_READING:
      return Watch(UV_READABLE);
    case PGRES_POLLING_WRITING:
      return Watch(UV_WRITABLE);
    case PGRES_POLLING_OK:
      return OnConnected();
    default:
      return Fail(FailureOf(connection_.get()));
  }
}

void Connector::OnTimeout() {
  ++first_candidate_;
  const std::string_view doing = connection_ ? "no answer from PostgreSQL" : "no answer from DNS";
  Fail({.status = Status(Code::kDatabaseUnavailable,
                         fmt::format("{} within {} ms", doing, timeout_ms_))});
}

void Connector::OnConnected() {
  if (Status status = Verify(connection_.get()); !status.ok()) {
    return Fail({.status = std::move(status), .needs_person = true});
  }
  PQsetErrorVerbosity(connection_.get(), PQERRORS_DEFAULT);
  Finish({.connection = std::move(connection_)});
}

void Connector::Fail(ConnectFailure failure) { Finish({.failure = std::move(failure)}); }

void Connector::Finish(Attempt attempt) {
  Done done = std::exchange(done_, nullptr);
  Cancel();
  done(std::move(attempt));
}

}  // namespace queen::pg
