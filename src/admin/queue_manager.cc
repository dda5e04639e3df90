#include "admin/queue_manager.h"

#include <algorithm>

#include "pg/oids.h"
#include "storage/procedures.h"

namespace queen::admin {
namespace {

using pg::Params;
using pg::Rows;

std::string TextAt(const Rows& rows, int row, int column) {
  return std::string(rows.Text(row, column));
}

std::optional<std::string> TextOrNull(const Rows& rows, int row, int column) {
  if (rows.IsNull(row, column)) return std::nullopt;
  return TextAt(rows, row, column);
}

std::string_view ModeName(SeekRequest::Mode mode) {
  switch (mode) {
    case SeekRequest::Mode::kEnd:
      return "end";
    case SeekRequest::Mode::kAfter:
      return "after";
    case SeekRequest::Mode::kOffset:
      break;
  }
  return "offset";
}

Params FilterParams(const DeadLetterFilter& filter) {
  Params params(7);
  params.TextOrNull(filter.queue);
  params.TextOrNull(filter.group);
  params.TextOrNull(filter.partition);
  params.TimestampTzOrNull(filter.from_micros);
  params.TimestampTzOrNull(filter.to_micros);
  return params;
}

Params NameParams(const MessageName& name, size_t count) {
  Params params(count);
  params.Int4(name.partition.value).Text(name.txn);
  return params;
}

DeadLetter ReadDeadLetter(const Rows& rows, int row) {
  DeadLetter letter;
  letter.id = rows.Uuid(row, 0);
  letter.txn = rows.Text(row, 1);
  letter.partition_id = PartitionId{rows.Int4(row, 2)};
  letter.queue = rows.Text(row, 3);
  letter.partition = rows.Text(row, 4);
  letter.group = rows.Text(row, 5);
  letter.error = TextOrNull(rows, row, 6);
  letter.retry_count = rows.Int4(row, 7);
  letter.payload = rows.Text(row, 8);
  letter.meta = TextOrNull(rows, row, 9).value_or("");
  letter.created_micros = rows.TimestampTz(row, 10);
  letter.failed_micros = rows.TimestampTz(row, 11);
  return letter;
}

// The columns that every list of traces begins with.
Trace ReadTrace(const Rows& rows, int row) {
  Trace trace;
  trace.id = rows.Uuid(row, 0);
  trace.event_type = rows.Text(row, 1);
  trace.data = rows.Text(row, 2);
  trace.group = TextOrNull(rows, row, 3);
  trace.worker = TextOrNull(rows, row, 4);
  trace.created_micros = rows.TimestampTz(row, 5);
  return trace;
}

bool ReadBool(const std::vector<Rows>& rows) { return rows[0].Bool(0, 0); }

}  // namespace

template <typename T, typename Read>
void AsyncQueueManager::Ask(const pg::Batch& batch, Read read, Done<T> done, Way way, int tries) {
  here_.AssertOwner();
  auto answer = [this, batch, read, done = std::move(done), way, tries,
                 alive = std::weak_ptr(alive_)](const pg::BatchResult& result) mutable {
    if (alive.expired()) return;
    if (result.ok()) {
      done(Result<T>(read(result.rows)));
    } else if (result.status.code() == Code::kDatabaseRetry && tries > 1) {
      Ask<T>(batch, read, std::move(done), way, tries - 1);
    } else {
      done(Result<T>(result.status));
    }
  };
  (pool_.*way)(here_, batch, std::move(answer));
}

// ---- queues

void AsyncQueueManager::Configure(ConfigureRequest request, Done<ConfigureResult> done) {
  Params params(5);
  params.Text(request.queue);
  params.TextOrNull(request.namespace_name);
  params.TextOrNull(request.task);
  params.Jsonb(request.options).Bool(request.replace);
  const auto read =
      [this, queue = request.queue](const std::vector<Rows>& rows) -> Result<ConfigureResult> {
    // Deleted by somebody else at the same moment.
    if (rows[0].empty()) return Status(Code::kDatabaseRetry);
    ConfigureResult result;
    result.queue_id = QueueId{rows[0].Int4(0, 0)};
    result.partition_id = PartitionId{rows[0].Int4(0, 1)};
    result.namespace_name = rows[0].Text(0, 2);
    result.task = rows[0].Text(0, 3);
    result.options = rows[0].Text(0, 4);
    capacity_.Learn({queue, result.queue_id, rows[0].Int8(0, 5)});
    return result;
  };
  Ask(pg::Batch(storage::kConfigure, std::move(params)), read, std::move(done));
}

void AsyncQueueManager::DeleteQueue(std::string queue, Done<bool> done) {
  Params params(1);
  params.Text(queue);
  const auto read = [this, queue = std::move(queue)](const std::vector<Rows>& rows) {
    capacity_.Forget(queue);
    return ReadBool(rows);
  };
  Ask(pg::Batch(storage::kDeleteQueue, std::move(params)), read, std::move(done));
}

void AsyncQueueManager::DeletePartition(std::string queue, std::string partition, Done<bool> done) {
  Params params(2);
  params.Text(queue).Text(partition);
  Ask(pg::Batch(storage::kDeletePartition, std::move(params)), ReadBool, std::move(done));
}

void AsyncQueueManager::ClearQueue(ClearRequest request, Done<int64_t> done) {
  ClearStep(std::move(request), ClearPlace(), 0, std::move(done));
}

void AsyncQueueManager::ClearStep(ClearRequest request, ClearPlace place, int64_t cleared,
                                  Done<int64_t> done) {
  Params params(6);
  params.Text(request.queue);
  params.TextOrNull(request.partition);
  params.Int4(place.after);
  place.from ? params.Int8(*place.from) : params.Null(pg::oid::kInt8);
  place.upto ? params.Int8(*place.upto) : params.Null(pg::oid::kInt8);
  params.Int4(kClearSegments);
  struct Step {
    int64_t cleared;
    std::optional<ClearPlace> next;
  };
  const auto read = [](const std::vector<Rows>& rows) {
    Step step{rows[0].Int8(0, 0), std::nullopt};
    if (rows[0].IsNull(0, 1)) return step;
    step.next = ClearPlace{rows[0].Int4(0, 1), std::nullopt, std::nullopt};
    if (rows[0].IsNull(0, 2)) return step;
    step.next->from = rows[0].Int8(0, 2);
    step.next->upto = rows[0].Int8(0, 3);
    return step;
  };
  Ask<Step>(pg::Batch(storage::kClearQueue, std::move(params)), read,
            [this, request = std::move(request), cleared,
             done = std::move(done)](Result<Step> step) mutable {
              if (!step.ok()) return done(step.status());
              cleared += step->cleared;
              if (!step->next) return done(cleared);
              ClearStep(std::move(request), *step->next, cleared, std::move(done));
            });
}

// ---- consumer groups

void AsyncQueueManager::Seek(SeekRequest request, Done<int64_t> done) {
  SeekChunk(std::move(request), 0, 0, std::move(done));
}

void AsyncQueueManager::SeekChunk(SeekRequest request, int32_t after, int64_t moved,
                                  Done<int64_t> done) {
  Params params(8);
  params.Text(request.queue).Text(request.group);
  params.TextOrNull(request.partition);
  params.Text(ModeName(request.mode));
  const bool by_time = request.mode == SeekRequest::Mode::kAfter;
  params.TimestampTzOrNull(by_time ? std::optional(request.time_micros) : std::nullopt);
  params.Int8(request.offset).Int4(after).Int4(kSeekPartitions);
  struct Step {
    int64_t moved;
    std::optional<int32_t> next_after;
  };
  const auto read = [](const std::vector<Rows>& rows) {
    Step step{rows[0].IsNull(0, 0) ? 0 : rows[0].Int4(0, 0), std::nullopt};
    if (!rows[0].IsNull(0, 1)) step.next_after = rows[0].Int4(0, 1);
    return step;
  };
  Ask<Step>(pg::Batch(storage::kSeek, std::move(params)), read,
            [this, request = std::move(request), moved,
             done = std::move(done)](Result<Step> step) mutable {
              if (!step.ok()) return done(step.status());
              moved += step->moved;
              if (!step->next_after) return done(moved);
              SeekChunk(std::move(request), *step->next_after, moved, std::move(done));
            });
}

void AsyncQueueManager::DeleteGroup(DeleteGroupRequest request, Done<int64_t> done) {
  Params params(3);
  params.Text(request.group);
  params.TextOrNull(request.queue);
  params.Bool(request.metadata);
  const auto read = [](const std::vector<Rows>& rows) { return rows[0].Int8(0, 0); };
  Ask(pg::Batch(storage::kDeleteGroup, std::move(params)), read, std::move(done));
}

void AsyncQueueManager::SetSubscription(std::string group, int64_t micros, Done<int64_t> done) {
  Params params(2);
  params.Text(group).TimestampTz(micros);
  const auto read = [](const std::vector<Rows>& rows) { return int64_t{rows[0].Int4(0, 0)}; };
  Ask(pg::Batch(storage::kSetSubscription, std::move(params)), read, std::move(done));
}

// ---- lists

void AsyncQueueManager::ListDeadLetters(DeadLetterFilter filter, Done<Listed<DeadLetter>> done) {
  pg::Batch batch(storage::kCountDeadLetters, FilterParams(filter));
  Params params = FilterParams(filter);
  params.Int4(filter.page.limit).Int4(filter.page.offset);
  batch.Add(storage::kListDeadLetters, std::move(params));
  const auto read = [](const std::vector<Rows>& rows) {
    Listed<DeadLetter> listed;
    listed.total = rows[0].Int8(0, 0);
    for (int row = 0; row < rows[1].rows(); ++row) {
      listed.items.push_back(ReadDeadLetter(rows[1], row));
    }
    return listed;
  };
  Ask(batch, read, std::move(done));
}

void AsyncQueueManager::RedriveDeadLetters(DeadLetterFilter filter, Done<DeadLetterProgress> done) {
  ChangeDeadLetters(DeadLetterChange::kRedrive, std::move(filter), {}, std::move(done));
}

void AsyncQueueManager::PurgeDeadLetters(DeadLetterFilter filter, Done<DeadLetterProgress> done) {
  ChangeDeadLetters(DeadLetterChange::kPurge, std::move(filter), {}, std::move(done));
}

// Step by step, each a transaction of its own: a letter is changed or is still there, so whoever
// has lost an answer asks again for the rest.
void AsyncQueueManager::ChangeDeadLetters(DeadLetterChange change, DeadLetterFilter filter,
                                          DeadLetterProgress progress,
                                          Done<DeadLetterProgress> done) {
  const bool redrive = change == DeadLetterChange::kRedrive;
  const int64_t left = filter.page.limit - progress.changed;
  Params params = FilterParams(filter);
  params.Int4(static_cast<int32_t>(std::min<int64_t>(left, kDeadLetterStep)));
  if (redrive) params.Int8(kRedriveStepBytes);
  const auto read = [redrive](const std::vector<Rows>& rows) {
    DeadLetterProgress step;
    step.changed = rows[0].Int4(0, 0);
    step.to_micros = rows[0].TimestampTz(0, 1);
    if (!redrive) return step;
    for (const std::string_view queue : rows[0].TextArray(0, 2)) step.queues.emplace(queue);
    return step;
  };
  Ask<DeadLetterProgress>(
      pg::Batch(redrive ? storage::kRedriveDeadLetters : storage::kPurgeDeadLetters,
                std::move(params)),
      read,
      [this, change, filter = std::move(filter), progress = std::move(progress),
       done = std::move(done)](Result<DeadLetterProgress> step) mutable {
        if (!step.ok()) return done(step.status());
        progress.changed += step->changed;
        progress.to_micros = step->to_micros;
        progress.queues.merge(step->queues);
        filter.to_micros = step->to_micros;
        if (step->changed == 0 || progress.changed >= filter.page.limit) {
          return CountRemaining(filter, std::move(progress), std::move(done));
        }
        ChangeDeadLetters(change, std::move(filter), std::move(progress), std::move(done));
      });
}

void AsyncQueueManager::CountRemaining(const DeadLetterFilter& filter, DeadLetterProgress progress,
                                       Done<DeadLetterProgress> done) {
  const auto read = [progress = std::move(progress)](const std::vector<Rows>& rows) {
    DeadLetterProgress counted = progress;
    counted.remaining = rows[0].Int8(0, 0);
    return counted;
  };
  Ask(pg::Batch(storage::kCountDeadLetters, FilterParams(filter)), read, std::move(done));
}

// ---- messages

void AsyncQueueManager::FindMessage(MessageName name, Done<StoredMessage> done) {
  const auto read = [](const std::vector<Rows>& rows) -> Result<StoredMessage> {
    if (rows[0].empty()) return Status(Code::kNotFound);
    return StoredMessage{TextAt(rows[0], 0, 0), TextAt(rows[0], 0, 1),
                         TextOrNull(rows[0], 0, 2).value_or("")};
  };
  Ask(pg::Batch(storage::kFindMessage, NameParams(name, 2)), read, std::move(done));
}

void AsyncQueueManager::DeleteMessage(MessageName name, Done<std::string> done) {
  const auto read = [](const std::vector<Rows>& rows) -> Result<std::string> {
    if (!rows[0].Bool(0, 0)) return Status(Code::kNotFound);
    return TextAt(rows[0], 0, 1);
  };
  Ask(pg::Batch(storage::kDeleteMessage, NameParams(name, 2)), read, std::move(done));
}

void AsyncQueueManager::RedriveMessage(MessageName name, std::optional<std::string> group,
                                       Done<std::vector<Redriven>> done) {
  Params params = NameParams(name, 3);
  params.TextOrNull(group);
  const auto read = [](const std::vector<Rows>& rows) {
    std::vector<Redriven> redriven;
    redriven.reserve(static_cast<size_t>(rows[0].rows()));
    for (int row = 0; row < rows[0].rows(); ++row) {
      redriven.push_back({TextAt(rows[0], row, 0), TextAt(rows[0], row, 1), rows[0].Uuid(row, 2)});
    }
    return redriven;
  };
  Ask(pg::Batch(storage::kRedriveMessage, std::move(params)), read, std::move(done));
}

void AsyncQueueManager::DeadLetterMessage(MessageName name, std::string group, std::string error,
                                          Done<std::string> done) {
  Params params = NameParams(name, 4);
  params.Text(group).Text(error);
  const auto read = [](const std::vector<Rows>& rows) -> Result<std::string> {
    const std::string_view state = rows[0].Text(0, 0);
    if (state == "settled") return TextAt(rows[0], 0, 1);
    if (state == "passed") {
      return Status(Code::kConflict, "The consumer group is done with this message");
    }
    if (state == "far") {
      return Status(Code::kConflict,
                    "The message is more than 10,000 messages behind the group's cursor");
    }
    return Status(Code::kNotFound);
  };
  Ask(pg::Batch(storage::kDeadLetterMessage, std::move(params)), read, std::move(done));
}

// ---- traces

void AsyncQueueManager::RecordTrace(TraceRequest request, Done<Uuid> done) {
  Params params(7);
  params.Int4(request.partition.value).Text(request.txn);
  params.TextOrNull(request.group);
  params.Text(request.event_type).Text(std::move(request.data));
  pg::TextArray names(request.names.size());
  for (const std::string& name : request.names) names.Add(name);
  params.Add(std::move(names)).Text(request.worker);
  const auto read = [](const std::vector<Rows>& rows) { return rows[0].Uuid(0, 0); };
  Ask(pg::Batch(storage::kRecordTrace, std::move(params)), read, std::move(done));
}

void AsyncQueueManager::ListTraces(PartitionId partition, std::string txn,
                                   Done<std::vector<Trace>> done) {
  Params params(2);
  params.Int4(partition.value).Text(txn);
  const auto read = [](const std::vector<Rows>& rows) {
    std::vector<Trace> traces;
    for (int row = 0; row < rows[0].rows(); ++row) {
      traces.push_back(ReadTrace(rows[0], row));
      for (const std::string_view name : rows[0].TextArray(row, 6)) {
        traces.back().names.emplace_back(name);
      }
    }
    return traces;
  };
  Ask(pg::Batch(storage::kListTraces, std::move(params)), read, std::move(done));
}

void AsyncQueueManager::ListTracesByName(std::string name, Page page, Done<Listed<Trace>> done) {
  Params count(1);
  count.Text(name);
  pg::Batch batch(storage::kCountTracesByName, std::move(count));
  Params params(3);
  params.Text(name).Int4(page.limit).Int4(page.offset);
  batch.Add(storage::kListTracesByName, std::move(params));
  const auto read = [](const std::vector<Rows>& rows) {
    Listed<Trace> listed;
    listed.total = rows[0].Int8(0, 0);
    for (int row = 0; row < rows[1].rows(); ++row) {
      Trace trace = ReadTrace(rows[1], row);
      trace.partition_id = PartitionId{rows[1].Int4(row, 6)};
      trace.txn = rows[1].Text(row, 7);
      trace.queue = TextOrNull(rows[1], row, 8);
      trace.partition = TextOrNull(rows[1], row, 9);
      listed.items.push_back(std::move(trace));
    }
    return listed;
  };
  Ask(batch, read, std::move(done));
}

void AsyncQueueManager::ListTraceNames(Page page, Done<Listed<TraceName>> done) {
  pg::Batch batch(storage::kCountTraceNames, Params(0));
  Params params(2);
  params.Int4(page.limit).Int4(page.offset);
  batch.Add(storage::kListTraceNames, std::move(params));
  const auto read = [](const std::vector<Rows>& rows) {
    Listed<TraceName> listed;
    listed.total = rows[0].Int8(0, 0);
    for (int row = 0; row < rows[1].rows(); ++row) {
      listed.items.push_back({TextAt(rows[1], row, 0), rows[1].Int8(row, 1), rows[1].Int8(row, 2),
                              rows[1].TimestampTz(row, 3)});
    }
    return listed;
  };
  Ask(batch, read, std::move(done));
}

// ---- reports

void AsyncQueueManager::Report(ReportRequest request, Done<std::string> done) {
  const auto read = [](const std::vector<Rows>& rows) -> Result<std::string> {
    if (rows[0].empty() || rows[0].IsNull(0, 0)) return Status(Code::kNotFound);
    return TextAt(rows[0], 0, 0);
  };
  Ask(pg::Batch(request.statement, std::move(request.params)), read, std::move(done),
      &AdminPool::ExecutePage);
}

void AsyncQueueManager::FindQueues(std::vector<PartitionId> partitions,
                                   Done<std::vector<std::string>> done) {
  const int64_t now = here_.NowMillis();
  std::vector<std::string> known;
  pg::Int4Array missing;
  for (const PartitionId partition : partitions) {
    if (const std::string* queue = partition_queues_.Find(partition, now)) {
      known.push_back(*queue);
    } else {
      missing.Add(partition.value);
    }
  }
  if (missing.size() == 0) return done(std::move(known));
  Params params(1);
  params.Add(std::move(missing));
  const auto read = [this, now, known = std::move(known)](const std::vector<Rows>& rows) {
    std::vector<std::string> queues = known;
    for (int row = 0; row < rows[0].rows(); ++row) {
      queues.push_back(TextAt(rows[0], row, 1));
      partition_queues_.Learn(PartitionId{rows[0].Int4(row, 0)}, queues.back(), now);
    }
    return queues;
  };
  Ask(pg::Batch(storage::kFindQueuesOf, std::move(params)), read, std::move(done));
}

void AsyncQueueManager::FindStreamQueues(StreamQueryName query,
                                         Done<std::optional<StreamQueues>> done) {
  Params params(2);
  query.id ? params.Uuid(*query.id) : params.Null(pg::oid::kUuid);
  params.TextOrNull(query.name);
  const auto read = [](const std::vector<Rows>& rows) -> std::optional<StreamQueues> {
    if (rows[0].rows() == 0) return std::nullopt;
    return StreamQueues{TextAt(rows[0], 0, 0), TextAt(rows[0], 0, 1)};
  };
  Ask(pg::Batch(storage::kFindStreamQueues, std::move(params)), read, std::move(done));
}

void AsyncQueueManager::RefreshStats(Done<bool> done) {
  here_.AssertOwner();
  stats_job_.Refresh(here_, [done = std::move(done),
                             alive = std::weak_ptr(alive_)](const Result<bool>& result) mutable {
    if (!alive.expired()) done(result);
  });
}

// ---- maintenance

void AsyncQueueManager::SetMaintenance(state::MaintenanceMode mode, bool enabled, Done<bool> done) {
  Params params(2);
  params.Text(mode == state::MaintenanceMode::kPush ? "push_maintenance" : "pop_maintenance");
  params.Bool(enabled);
  const auto read = [this, mode](const std::vector<Rows>& rows) {
    const bool enabled_now = ReadBool(rows);
    maintenance_.Learn(mode, enabled_now);
    return enabled_now;
  };
  Ask<bool>(pg::Batch(storage::kSetMaintenance, std::move(params)), read, std::move(done));
}

}  // namespace queen::admin
