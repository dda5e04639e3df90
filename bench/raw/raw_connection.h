// A blocking connection that speaks the broker's own statements (storage/procedures) with the
// broker's session settings: what is measured through it is the procedure and nothing else. One
// thread each. Any failure ends the program with its reason: a reference with errors is none.
#pragma once

#include <string>
#include <unordered_set>

#include "pg/handles.h"
#include "pg/params.h"
#include "pg/rows.h"
#include "pg/statement.h"

namespace queen::bench {

class RawConnection {
 public:
  explicit RawConnection(const std::string& conninfo);

  // Prepares on first use; one round trip after that.
  pg::Rows Execute(const pg::Statement& statement, const pg::Params& params);

 private:
  pg::ConnectionHandle connection_;
  std::unordered_set<std::string> prepared_;
  std::vector<const char*> pointers_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
};

}  // namespace queen::bench
