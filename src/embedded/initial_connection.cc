#include "embedded/initial_connection.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <memory>

#include "embedded/data_directory.h"

namespace queen::embedded {
namespace {

struct Finish {
  void operator()(PGconn* connection) const { PQfinish(connection); }
  void operator()(PGresult* result) const { PQclear(result); }
};
using Connection = std::unique_ptr<PGconn, Finish>;
using Rows = std::unique_ptr<PGresult, Finish>;

Status Unavailable(const PGconn* connection) {
  std::string text = PQerrorMessage(connection);
  while (text.ends_with('\n')) text.pop_back();
  return Status(Code::kDatabaseUnavailable, std::move(text));
}

Result<Connection> Connect(const std::string& socket_directory, const std::string& role,
                           const std::string& database) {
  const std::string conninfo =
      ConnInfo(socket_directory, role, database) + " connect_timeout=5 application_name=queen";
  Connection connection(PQconnectdb(conninfo.c_str()));
  if (PQstatus(connection.get()) != CONNECTION_OK) return Unavailable(connection.get());
  return connection;
}

Result<int> Execute(PGconn* connection, const char* sql) {
  const Rows rows(PQexec(connection, sql));
  const ExecStatusType status = PQresultStatus(rows.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) return Unavailable(connection);
  return PQntuples(rows.get());
}

Status RunUnlessFound(PGconn* connection, const char* question, const char* sql) {
  const Result<int> found = Execute(connection, question);
  if (!found.ok()) return found.status();
  if (*found > 0) return Status::Ok();
  return Execute(connection, sql).status();
}

}  // namespace

std::string ConnInfo(const std::string& socket_directory, const std::string& role,
                     const std::string& database) {
  std::string host;
  for (const char c : socket_directory) {
    if (c == '\'' || c == '\\') host += '\\';
    host += c;
  }
  return fmt::format("host='{}' port={} dbname={} user={}", host, kSocketPort, database, role);
}

Status MakeInitialConnection(const std::string& socket_directory) {
  Result<Connection> superuser = Connect(socket_directory, "postgres", "postgres");
  if (!superuser.ok()) return superuser.status();
  QUEEN_RETURN_IF_ERROR(RunUnlessFound(superuser->get(),
                                       "SELECT 1 FROM pg_roles WHERE rolname = 'queen'",
                                       "CREATE ROLE queen LOGIN"));
  // Its person makes roles for applications (docs/sql.md) without being the superuser.
  QUEEN_RETURN_IF_ERROR(RunUnlessFound(
      superuser->get(), "SELECT 1 FROM pg_roles WHERE rolname = 'queen' AND rolcreaterole",
      "ALTER ROLE queen CREATEROLE"));
  QUEEN_RETURN_IF_ERROR(RunUnlessFound(superuser->get(),
                                       "SELECT 1 FROM pg_database WHERE datname = 'queen'",
                                       "CREATE DATABASE queen OWNER queen"));
  Result<Connection> queen = Connect(socket_directory, "queen", "queen");
  if (!queen.ok()) return queen.status();
  return Execute(queen->get(), "SELECT 1").status();
}

}  // namespace queen::embedded
