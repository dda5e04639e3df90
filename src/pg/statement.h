// A statement as the code knows it: a constant with a name, its SQL and the types of its
// parameters. Each connection prepares it on first use, in the same write as that use, and again
// after reconnecting, when the server has lost it (26000), or when its result type has changed
// (0A000): see prepared_statements.h.
//
//   const Statement kPush{"push_messages", "SELECT * FROM queen.push_messages($1, $2)",
//                         {oid::kInt4Array, oid::kTextArray}};
//
// Names are qualified in the SQL: the search path is pinned to pg_catalog. An empty name makes a
// statement that is parsed at every use, for what runs once. One SQL command per statement, and
// none that ends a transaction: a batch is one.
#pragma once

#include <string>
#include <vector>

#include "pg/oids.h"

namespace queen::pg {

struct Statement {
  std::string name;  // lower case letters, digits and underscores; one name, one SQL
  std::string sql;
  std::vector<Oid> parameter_types;
};

}  // namespace queen::pg
