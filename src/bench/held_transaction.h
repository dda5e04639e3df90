// HeldTransaction: one open REPEATABLE READ transaction with a snapshot, as a dump or a report
// holds it: while it lives, PostgreSQL keeps every row version that it might still see. Blocks.
#pragma once

#include <string>

#include "base/status.h"
#include "pg/blocking_connection.h"

namespace queen::bench {

class HeldTransaction {
 public:
  static Result<HeldTransaction> Begin(const std::string& conninfo);

  // Commits; an error if the server has ended it before.
  Status End();

 private:
  explicit HeldTransaction(pg::BlockingConnection connection)
      : connection_(std::move(connection)) {}

  pg::BlockingConnection connection_;
};

}  // namespace queen::bench
