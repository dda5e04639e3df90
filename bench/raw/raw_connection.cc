#include "raw/raw_connection.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <cstdlib>

#include "pg/connect_options.h"

namespace queen::bench {
namespace {

[[noreturn]] void Die(const char* what, const char* why) {
  fmt::print(stderr, "raw_reference: {}: {}\n", what, why);
  std::exit(1);
}

}  // namespace

RawConnection::RawConnection(const std::string& conninfo) {
  pg::ConnectOptions options;
  options.conninfo = conninfo;
  options.application_name = "raw_reference";
  const pg::Keywords keywords = options.ConnectionKeywords();
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : keywords) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  connection_.reset(PQconnectdbParams(names.data(), values.data(), 0));
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    Die("cannot connect", PQerrorMessage(connection_.get()));
  }
}

pg::Rows RawConnection::Execute(const pg::Statement& statement, const pg::Params& params) {
  PGconn* connection = connection_.get();
  if (prepared_.insert(statement.name).second) {
    const pg::ResultHandle made(PQprepare(connection, statement.name.c_str(), statement.sql.c_str(),
                                          static_cast<int>(statement.parameter_types.size()),
                                          statement.parameter_types.data()));
    if (PQresultStatus(made.get()) != PGRES_COMMAND_OK) {
      Die("cannot prepare", PQerrorMessage(connection));
    }
  }
  params.Describe(pointers_, lengths_);
  formats_.assign(params.size(), 1);
  pg::ResultHandle result(PQexecPrepared(connection, statement.name.c_str(),
                                         static_cast<int>(params.size()), pointers_.data(),
                                         lengths_.data(), formats_.data(), 1));
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) {
    Die(statement.name.c_str(), PQerrorMessage(connection));
  }
  return pg::Rows(std::move(result));
}

}  // namespace queen::bench
