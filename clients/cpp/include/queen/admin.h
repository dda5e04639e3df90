// Admin: what operators ask of a broker. Reports are answered as the JSON that the broker sends,
// since it is the contract of the HTTP interface.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "queen/client.h"

namespace queen::client {

// Builds a path: segments and values are percent-encoded, parameters with an empty value left out.
//   Path("/api/v1/resources/queues").Segment(name).Query("limit", 10).text()
class Path {
 public:
  explicit Path(std::string_view base) : text_(base) {}
  Path& Segment(std::string_view segment);
  Path& Query(std::string_view name, std::string_view value);
  Path& Query(std::string_view name, int64_t value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool has_query_ = false;
};

// What a list is about; empty fields do not restrict it. Times as RFC 3339.
struct Filter {
  std::string queue;
  std::string partition;
  std::string group;
  std::string name_space;
  std::string task;
  std::string status;
  std::string from;
  std::string to;
  std::optional<int64_t> limit;
  int64_t offset = 0;
};

// Which entries of the audit trail; "" lets all through.
struct AuditFilter {
  std::string actor;
  std::string action;  // or its beginning: "queue" for all of "queue.delete" and so on
  std::string queue;
  std::string from;
  std::string to;
  std::string before;  // the id of an entry: only what is older
  int64_t limit = 100;
};

// Where a seek goes: exactly one of the three.
struct SeekTarget {
  bool to_end = false;
  std::string timestamp;
  std::optional<int64_t> offset;
};

class Admin {
 public:
  using Json = Result<std::string>;

  // REQUIRES: `client` outlives it.
  explicit Admin(Client& client) : client_(client) {}

  Json Health();
  Json Queues(const Filter& filter = {});
  // With a page of its partitions, by `limit` and `offset`.
  Json Queue(const std::string& queue, const Filter& page = {});
  Json QueueStatus(const Filter& filter = {});
  // Measures depth and lag of every queue and group now; answers when it is done.
  Json RefreshStats();
  // `body` is the JSON of POST /api/v1/configure, the queue's name included.
  Json Configure(const std::string& body);
  Json DeleteQueue(const std::string& queue);
  Json DeletePartition(const std::string& queue, const std::string& partition);
  // Removes what is not consumed yet; "" = of every partition.
  Json ClearQueue(const std::string& queue, const std::string& partition);
  Json Explain(const std::string& queue, const std::string& partition, const std::string& group);

  Json Groups();
  // A page of its partitions, by `limit` and `offset`.
  Json Group(const std::string& group, const Filter& page = {});
  Json LaggingGroups(int64_t seconds_min);
  // "" = on every queue. Keeping the metadata keeps where the group started.
  Json DeleteGroup(const std::string& group, const std::string& queue, bool keep_metadata = false);
  // "" = every partition.
  Json Seek(const std::string& group, const std::string& queue, const std::string& partition,
            const SeekTarget& target);

  Json Messages(const Filter& filter);
  Json OneMessage(const std::string& partition_id, const std::string& transaction_id);
  Json DeleteMessage(const std::string& partition_id, const std::string& transaction_id);
  Json RetryMessage(const std::string& partition_id, const std::string& transaction_id);
  Json DeadLetterMessage(const std::string& partition_id, const std::string& transaction_id);

  Json DeadLetters(const Filter& filter);
  // Puts dead letters back into their queue, or deletes them: at most `filter.limit` in one call.
  Json Redrive(const Filter& filter);
  Json Purge(const Filter& filter);

  // `body` is the JSON of POST /api/v1/traces.
  Json RecordTrace(const std::string& body);
  Json Traces(const std::string& partition_id, const std::string& transaction_id);
  Json TracesByName(const std::string& name, const Filter& page);
  Json TraceNames(const Filter& page);

  // The newest first; `next` of the reply is the `before` of the next page.
  Json Audit(const AuditFilter& filter = {});
  Json Maintenance();
  Json Get(const std::string& path);

 private:
  Json Send(std::string method, const Path& path, std::string body = "", bool repeatable = true);

  Client& client_;
};

}  // namespace queen::client
