// Owners of libpq's two objects. Its header is included only by the .cc files of this directory;
// everybody else sees these names of its structs.
#pragma once

#include <memory>

struct pg_conn;    // libpq's PGconn
struct pg_result;  // libpq's PGresult

namespace queen::pg {

struct FinishConnection {
  void operator()(pg_conn* connection) const;
};
using ConnectionHandle = std::unique_ptr<pg_conn, FinishConnection>;

struct ClearResult {
  void operator()(pg_result* result) const;
};
using ResultHandle = std::unique_ptr<pg_result, ClearResult>;

}  // namespace queen::pg
