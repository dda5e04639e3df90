// A row of queen.progress as load_lanes and append_lanes answer it: the columns of
// storage/calls/progress_columns.h.
#pragma once

#include <vector>

#include "simulator/database/answer.h"
#include "simulator/database/catalog.h"

namespace queen::simulator {

inline void AddProgressColumns(std::vector<AnswerColumn>& columns) {
  namespace oid = pg::oid;
  for (const AnswerColumn& column :
       std::initializer_list<AnswerColumn>{{"epoch", oid::kInt8},
                                           {"stamp", oid::kInt8},
                                           {"cursor", oid::kInt8},
                                           {"settled", oid::kText},
                                           {"failed", oid::kText},
                                           {"attempt_seqs", oid::kInt8Array},
                                           {"attempt_counts", oid::kInt4Array},
                                           {"lease_id", oid::kUuid},
                                           {"lease_until", oid::kTimestampTz},
                                           {"lease_end", oid::kInt8},
                                           {"lease_seconds", oid::kInt4},
                                           {"deliveries", oid::kInt4},
                                           {"ready_at", oid::kTimestampTz},
                                           {"window_end", oid::kInt8}}) {
    columns.push_back(column);
  }
}

inline void AddProgress(Answer& answer, int64_t epoch, const ProgressRow& row) {
  answer.Int8(epoch)
      .Int8(row.stamp)
      .Int8(row.cursor)
      .Text(row.settled)
      .Text(row.failed)
      .Int8sOrNull(row.attempt_seqs)
      .Int4sOrNull(row.attempt_counts)
      .Uuid(row.lease_id)
      .Time(row.lease_until)
      .Int8(row.lease_end)
      .Int4(row.lease_seconds)
      .Int4(row.deliveries)
      .Time(row.ready_at)
      .Int8(row.window_end);
}

}  // namespace queen::simulator
