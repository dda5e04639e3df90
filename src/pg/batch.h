// A batch: statement executions that are one transaction, sent with one Sync, and how it ended.
//
//   kSuccess  every statement ran and the transaction is committed; `rows` has one entry each.
//   kFailure  it is certain that nothing of it is committed: PostgreSQL refused it, or (`sent` is
//             false) not a byte of it left.
//   kUnknown  it was sent and the connection broke before the answer: it may be committed, or even
//             still be running and commit later. Or it is committed, but its wait for the
//             synchronous standby was cancelled, so that a failover may still lose it. Only the
//             database can tell, by a transaction that writes and so waits for the standby itself
//             (the batches table).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_function.h"
#include "pg/params.h"
#include "pg/rows.h"
#include "pg/statement.h"

namespace queen::pg {

class Batch {
 public:
  // More than this is refused unsent: PostgreSQL takes no message above 1 GiB.
  static constexpr size_t kBytesMax = size_t{512} << 20;

  struct Execution {
    const Statement* statement;
    Params params;
  };

  Batch() = default;
  Batch(const Statement& statement, Params params) { Add(statement, std::move(params)); }

  // REQUIRES: `statement` outlives the connections; `params` have its types
  void Add(const Statement& statement, Params params) {
    executions_.push_back({&statement, std::move(params)});
  }

  size_t size() const { return executions_.size(); }
  // Bytes of all parameters.
  size_t bytes() const {
    size_t sum = 0;
    for (const Execution& execution : executions_) sum += execution.params.bytes();
    return sum;
  }
  bool empty() const { return executions_.empty(); }
  const std::vector<Execution>& executions() const { return executions_; }

 private:
  std::vector<Execution> executions_;
};

enum class Outcome { kSuccess, kFailure, kUnknown };

struct BatchResult {
  static constexpr int kNoStatement = -1;

  Outcome outcome = Outcome::kFailure;
  // Whether any byte may have reached the server.
  bool sent = false;
  // Ok exactly when the outcome is kSuccess; kOutcomeUnknown exactly when it is kUnknown.
  Status status;
  // What PostgreSQL said, when it did: also the reason a connection ended (57P01).
  std::string sqlstate;
  std::string detail;
  // The statement that was refused; kNoStatement when the refusal came at commit.
  int failed_statement = kNoStatement;
  // One per statement on success, else empty.
  std::vector<Rows> rows;

  bool ok() const { return outcome == Outcome::kSuccess; }
};

using BatchCallback = UniqueFunction<void(BatchResult)>;

// A batch that was never sent.
BatchResult NotSent(Status status);

// A batch that was carried out, whose answer cannot be understood: what it did is not known.
BatchResult Unread(const Status& why);

}  // namespace queen::pg
