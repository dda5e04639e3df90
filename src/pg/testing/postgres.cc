#include "pg/testing/postgres.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace queen::pg::testing {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    std::fprintf(stderr, "%s is not set: run this under scripts/with-postgres\n", name);
    std::abort();
  }
  return value;
}

void Shell(const std::string& command) {
  if (std::system(command.c_str()) != 0) {  // NOLINT(cert-env33-c): a fixed command of a test
    std::fprintf(stderr, "failed: %s\n", command.c_str());
    std::abort();
  }
}

void PgCtl(const std::string& verb) { Shell(Postgres::Directory() + "/pg_ctl " + verb); }

}  // namespace

Postgres::Postgres() { Reconnect(); }

ConnectOptions Postgres::Options() {
  ConnectOptions options;
  options.conninfo = Environment("QUEEN_TEST_DATABASE_URL");
  options.backoff_base_ms = 5;
  options.backoff_max_ms = 50;
  return options;
}

std::string Postgres::Directory() { return Environment("QUEEN_TEST_POSTGRES_DIR"); }

std::string Postgres::SocketPath() { return Directory() + "/.s.PGSQL.5432"; }

void Postgres::Reconnect() {
  connection_.reset(PQconnectdb(Environment("QUEEN_TEST_DATABASE_URL").c_str()));
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    std::fprintf(stderr, "%s\n", PQerrorMessage(connection_.get()));
    std::abort();
  }
  PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
}

std::string Postgres::Ask(const std::string& sql) {
  ResultHandle result(PQexec(connection_.get(), sql.c_str()));
  if (PQstatus(connection_.get()) == CONNECTION_BAD) {
    Reconnect();
    result.reset(PQexec(connection_.get(), sql.c_str()));
  }
  const auto status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    std::fprintf(stderr, "%s: %s\n", sql.c_str(), PQresultErrorMessage(result.get()));
    std::abort();
  }
  if (PQntuples(result.get()) == 0 || PQnfields(result.get()) == 0) return {};
  return PQgetvalue(result.get(), 0, 0);
}

void Postgres::WaitUntil(const std::string& condition) {
  while (Ask("SELECT " + condition) != "t") Ask("SELECT pg_sleep(0.002)");
}

void Postgres::WaitUntilBlocked(int pid) {
  WaitUntil(
      fmt::format("EXISTS (SELECT FROM pg_stat_activity WHERE pid = {} AND state = 'active' "
                  "AND (wait_event_type = 'Lock' OR wait_event = 'PgSleep'))",
                  pid));
}

void Postgres::Terminate(int pid) { Ask(fmt::format("SELECT pg_terminate_backend({})", pid)); }

void Postgres::Restart() { PgCtl("-m fast restart"); }
void Postgres::Stop() { PgCtl("-m fast stop"); }
void Postgres::Start() {
  // Without -o it would forget where to listen; restart remembers, start does not.
  PgCtl(fmt::format("-o \"-k {} -c listen_addresses='' -c fsync=off\" start", Directory()));
}

std::string Postgres::RestartWithTls() {
  const std::string directory = Directory();
  // Of a process's own, so that test servers may run side by side on the default port.
  const int pid = getpid();
  std::string address =
      fmt::format("127.{}.{}.{}", 1 + (pid >> 16) % 250, (pid >> 8) % 256, 1 + pid % 250);
  Shell(
      fmt::format("cd {} && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
                  "-addext subjectAltName=DNS:localhost -keyout server.key -out server.crt "
                  ">/dev/null 2>&1 && chown --reference=data server.key && chmod 600 server.key && "
                  "sed -i '1i hostssl all all 127.0.0.0/8 scram-sha-256' data/pg_hba.conf",
                  directory));
  PgCtl(
      fmt::format("-m fast -o \"-k {0} -c listen_addresses={1} -c fsync=off -c ssl=on -c "
                  "ssl_cert_file={0}/server.crt -c ssl_key_file={0}/server.key\" restart",
                  directory, address));
  return address;
}

}  // namespace queen::pg::testing
