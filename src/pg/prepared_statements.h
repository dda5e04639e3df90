// PreparedStatements: what one connection's session has prepared, as far as we know.
//
//   absent --Parse sent--> pending --ok--> ready --0A000--> stale (on the server, but useless)
//     ^                       |              |                |
//     +------ failed, --------+              |                | DEALLOCATE and Parse sent with the
//     |       or never ran                   |                | next use: pending again
//     +------------- 26000 ------------------+                v
//
// PostgreSQL keeps a prepared statement even when the transaction that prepared it is rolled back,
// so each step's own result decides, not the batch's. While a Parse is pending nobody else may use
// the statement: if it fails, theirs would fail with it.
#pragma once

#include <string_view>
#include <unordered_map>

#include "pg/statement.h"

namespace queen::pg {

class PreparedStatements {
 public:
  // Before an execution of `statement`, which has a name: what has to be sent in front of it.
  struct Needs {
    bool deallocate = false;
    bool prepare = false;
  };
  Needs NeedsOf(const Statement& statement) const;
  bool IsPending(const Statement& statement) const;

  void OnPrepareSent(const Statement& statement);
  // The results of those steps; `sqlstate` is empty for success and kSkipped when an earlier error
  // of the batch kept the step from running.
  static constexpr std::string_view kSkipped = "skipped";
  void OnDeallocated(const Statement& statement, std::string_view sqlstate);
  void OnPrepared(const Statement& statement, std::string_view sqlstate);
  // An execution failed: notices when the statement itself has become unusable.
  void OnExecutionFailed(const Statement& statement, std::string_view sqlstate);

  // A new session knows nothing.
  void Clear() { entries_.clear(); }

 private:
  struct Entry {
    const Statement* statement = nullptr;
    bool exists = false;   // on the server
    bool stale = false;    // exists, but has to be replaced
    bool pending = false;  // a Parse is on its way
  };
  Entry& EntryOf(const Statement& statement);

  std::unordered_map<std::string_view, Entry> entries_;  // by name, which the statement owns
};

}  // namespace queen::pg
