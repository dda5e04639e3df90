// queen.append_lanes as other procedures call it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulator/database/catalog.h"
#include "simulator/database/procedures/progress_answer.h"
#include "simulator/database/task.h"
#include "simulator/database/transaction.h"

namespace queen::simulator {

// One row of the arrays.
struct Append {
  LaneId lane;
  int32_t queue_id = 0;
  int64_t version = 0;
  int64_t prev_epoch = 0;
  int64_t prev_stamp = 0;
  std::optional<int64_t> not_before;
  bool held = false;
  std::optional<int64_t> log_end;
  ProgressRow next;
  bool frees = false;
};

struct AppendedRow {
  std::string state;
  std::optional<std::pair<int64_t, ProgressRow>> newest;  // with its epoch

  bool won() const { return state == "won"; }
};

// The compare-and-append alone: dead letters and the ledger are the caller's. `inserted_count`: how
// many found their place free.
Task<std::vector<AppendedRow>> AppendRows(Transaction& transaction, Catalog& catalog,
                                          const std::vector<Append>& appends, int64_t now,
                                          int& inserted_count);

// The columns of queen.progress and `now`.
inline void AddAppended(Answer& answer, const AppendedRow& row, int64_t now) {
  std::vector<AnswerColumn> columns;
  AddProgressColumns(columns);
  if (row.newest) {
    AddProgress(answer, row.newest->first, row.newest->second);
  } else {
    for (size_t column = 0; column < columns.size(); ++column) answer.Null();
  }
  answer.Time(now);
}

}  // namespace queen::simulator
