// What the API asks of administration and what it gets back. A request is valid when it arrives
// here (api/ refuses the rest), and its `done` runs exactly once on the loop that asked, or never
// if that loop ends first. A Status instead of a result means that it failed or is not known to
// have succeeded; every change may be repeated.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/unique_function.h"
#include "base/uuid.h"
#include "pg/params.h"
#include "pg/statement.h"
#include "state/maintenance.h"

namespace queen::admin {

template <typename T>
using Done = UniqueFunction<void(Result<T>)>;

// ---- queues

struct ConfigureRequest {
  std::string queue;
  std::optional<std::string> namespace_name;  // nullopt: as it is
  std::optional<std::string> task;
  std::string options = "{}";  // a JSON object by the names of the contract; missing: as it is
  bool replace = false;        // what is missing gets its default instead
};

struct ConfigureResult {
  QueueId queue_id;
  PartitionId partition_id;  // of "Default"
  std::string namespace_name;
  std::string task;
  std::string options;  // all of them, a JSON object
};

struct ClearRequest {
  std::string queue;
  std::optional<std::string> partition;  // nullopt: all
};

// ---- consumer groups

struct SeekRequest {
  enum class Mode { kEnd, kAfter, kOffset };
  std::string queue;
  std::string group;
  std::optional<std::string> partition;  // nullopt: all
  Mode mode = Mode::kEnd;
  int64_t time_micros = 0;  // kAfter
  int64_t offset = 0;       // kOffset
};

struct DeleteGroupRequest {
  std::string group;
  std::optional<std::string> queue;  // nullopt: all
  bool metadata = true;              // its start is forgotten too
};

// ---- lists

struct Page {
  int32_t limit = 100;
  int32_t offset = 0;
};

template <typename T>
struct Listed {
  std::vector<T> items;
  int64_t total = 0;  // of all pages
};

struct DeadLetterFilter {
  std::optional<std::string> queue;
  std::optional<std::string> group;
  std::optional<std::string> partition;
  std::optional<int64_t> from_micros;  // when it died
  std::optional<int64_t> to_micros;
  Page page;
};

struct DeadLetter {
  Uuid id;
  std::string txn;
  PartitionId partition_id;
  std::string queue;
  std::string partition;
  std::string group;
  std::optional<std::string> error;
  int32_t retry_count = 0;
  std::string payload;  // JSON
  std::string meta;     // as stored beside the message, or ""
  int64_t created_micros = 0;
  int64_t failed_micros = 0;
};

// How far a change of many dead letters has come.
struct DeadLetterProgress {
  int64_t changed = 0;           // by this request
  int64_t to_micros = 0;         // the filter's, or when the change began: for the next request
  std::set<std::string> queues;  // that were pushed to
  int64_t remaining = 0;         // by the filter, up to that time
};

// ---- messages

// A message as its consumers name it.
struct MessageName {
  PartitionId partition;
  std::string txn;
};

struct StoredMessage {
  std::string document;  // a JSON object: the reply without the payload
  std::string payload;   // JSON, perhaps encrypted
  std::string meta;      // as stored beside the message, or ""
};

// A dead letter that was pushed again.
struct Redriven {
  std::string queue;
  std::string group;
  Uuid id;  // of the new message
};

// ---- traces

struct TraceRequest {
  PartitionId partition;
  std::string txn;
  std::optional<std::string> group;
  std::string event_type;
  std::string data;  // JSON
  std::vector<std::string> names;
  std::string worker;
};

struct Trace {
  Uuid id;
  std::string event_type;
  std::string data;  // JSON
  std::optional<std::string> group;
  std::optional<std::string> worker;
  int64_t created_micros = 0;
  std::vector<std::string> names;  // of a message's traces
  // Of those found by name: the message they belong to.
  PartitionId partition_id;
  std::string txn;
  std::optional<std::string> queue;
  std::optional<std::string> partition;
};

struct TraceName {
  std::string name;
  int64_t traces = 0;
  int64_t messages = 0;
  int64_t last_seen_micros = 0;
};

// ---- streaming queries

// By its id or by its name.
struct StreamQueryName {
  std::optional<Uuid> id;
  std::optional<std::string> name;
};

struct StreamQueues {
  std::string source;
  std::string sink;  // "" for none
};

// ---- reports

// A question whose whole answer is one JSON document that SQL writes (storage/reports.h).
struct ReportRequest {
  const pg::Statement& statement;
  pg::Params params;
};

// ---- all of it, as the API sees it

class QueueManager {
 public:
  virtual ~QueueManager() = default;
  virtual void Configure(ConfigureRequest request, Done<ConfigureResult> done) = 0;
  // Whether it existed.
  virtual void DeleteQueue(std::string queue, Done<bool> done) = 0;
  virtual void DeletePartition(std::string queue, std::string partition, Done<bool> done) = 0;
  // How many messages were removed that some group had still to consume.
  virtual void ClearQueue(ClearRequest request, Done<int64_t> done) = 0;
  // How many partitions were moved.
  virtual void Seek(SeekRequest request, Done<int64_t> done) = 0;
  // On how many partitions it had begun to read.
  virtual void DeleteGroup(DeleteGroupRequest request, Done<int64_t> done) = 0;
  // The start of a group on every queue, where it has not begun to read; on how many it was set.
  virtual void SetSubscription(std::string group, int64_t micros, Done<int64_t> done) = 0;
  virtual void ListDeadLetters(DeadLetterFilter filter, Done<Listed<DeadLetter>> done) = 0;
  // At most `filter.page.limit` of them, in steps; those that died first are the first.
  virtual void RedriveDeadLetters(DeadLetterFilter filter, Done<DeadLetterProgress> done) = 0;
  virtual void PurgeDeadLetters(DeadLetterFilter filter, Done<DeadLetterProgress> done) = 0;
  // kNotFound when there is no such message.
  virtual void FindMessage(MessageName name, Done<StoredMessage> done) = 0;
  // The queue's name; kNotFound when there is no such message.
  virtual void DeleteMessage(MessageName name, Done<std::string> done) = 0;
  // Of `group` or of every group in which it died; none: it is no dead letter.
  virtual void RedriveMessage(MessageName name, std::optional<std::string> group,
                              Done<std::vector<Redriven>> done) = 0;
  // The queue's name; kNotFound when there is no such message, kConflict when the group is done
  // with it or has not come near it.
  virtual void DeadLetterMessage(MessageName name, std::string group, std::string error,
                                 Done<std::string> done) = 0;
  // The trace's id; kNotFound when the partition does not exist.
  virtual void RecordTrace(TraceRequest request, Done<Uuid> done) = 0;
  virtual void ListTraces(PartitionId partition, std::string txn,
                          Done<std::vector<Trace>> done) = 0;
  virtual void ListTracesByName(std::string name, Page page, Done<Listed<Trace>> done) = 0;
  virtual void ListTraceNames(Page page, Done<Listed<TraceName>> done) = 0;
  // The document as it stands in the reply; kNotFound where SQL answers NULL.
  virtual void Report(ReportRequest request, Done<std::string> done) = 0;
  // The names of the queues of these partitions, of those that exist, in any order. Remembered for
  // a while.
  virtual void FindQueues(std::vector<PartitionId> partitions,
                          Done<std::vector<std::string>> done) = 0;
  // What the query reads and writes; nullopt: there is none.
  virtual void FindStreamQueues(StreamQueryName query, Done<std::optional<StreamQueues>> done) = 0;
  // Measures all queues and groups; true when every number is newer than this call.
  virtual void RefreshStats(Done<bool> done) = 0;
  // For every broker; this one has carried it out when it answers.
  virtual void SetMaintenance(state::MaintenanceMode mode, bool enabled, Done<bool> done) = 0;
};

}  // namespace queen::admin
