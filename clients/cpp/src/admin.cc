#include "queen/admin.h"

#include "codec.h"

namespace queen::client {
namespace {

constexpr std::string_view kQueuesPath = "/api/v1/resources/queues";
constexpr std::string_view kGroupsPath = "/api/v1/consumer-groups";
constexpr std::string_view kMessagesPath = "/api/v1/messages";

void AppendEncoded(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.' ||
                       byte == '~';
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
}

// Adds `limit` and `offset` only.
Path& AddPage(Path& path, const Filter& page) {
  if (page.limit) path.Query("limit", *page.limit);
  if (page.offset > 0) path.Query("offset", page.offset);
  return path;
}

Path WithFilter(std::string_view base, const Filter& filter) {
  Path path(base);
  path.Query("queue", filter.queue).Query("partition", filter.partition);
  path.Query("consumerGroup", filter.group);
  path.Query("ns", filter.name_space).Query("task", filter.task);
  path.Query("status", filter.status).Query("from", filter.from).Query("to", filter.to);
  return AddPage(path, filter);
}

Path OneMessagePath(const std::string& partition_id, const std::string& transaction_id) {
  return Path(kMessagesPath).Segment(partition_id).Segment(transaction_id);
}

std::string SeekBody(const SeekTarget& target) {
  if (target.to_end) return R"({"toEnd":true})";
  if (target.offset) return R"({"offset":)" + std::to_string(*target.offset) + "}";
  return R"({"timestamp":)" + JsonString(target.timestamp) + "}";
}

}  // namespace

Path& Path::Segment(std::string_view segment) {
  text_ += '/';
  AppendEncoded(text_, segment);
  return *this;
}

Path& Path::Query(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  text_ += has_query_ ? '&' : '?';
  has_query_ = true;
  text_ += name;
  text_ += '=';
  AppendEncoded(text_, value);
  return *this;
}

Path& Path::Query(std::string_view name, int64_t value) {
  return Query(name, std::string_view(std::to_string(value)));
}

Admin::Json Admin::Send(std::string method, const Path& path, std::string body, bool repeatable) {
  auto reply = client_.Send(
      {std::move(method), path.text(), std::move(body), std::chrono::milliseconds(0), repeatable});
  if (!reply.ok()) return reply.error();
  return std::move(reply->body);
}

Admin::Json Admin::Get(const std::string& path) { return Send("GET", Path(path)); }
Admin::Json Admin::Health() { return Get("/health"); }
Admin::Json Admin::Maintenance() { return Get("/api/v1/system/maintenance"); }
Admin::Json Admin::Queues(const Filter& filter) {
  Path path(kQueuesPath);
  path.Query("namespace", filter.name_space).Query("task", filter.task);
  return Send("GET", AddPage(path, filter));
}
Admin::Json Admin::Queue(const std::string& queue, const Filter& page) {
  Path path(kQueuesPath);
  return Send("GET", AddPage(path.Segment(queue), page));
}
Admin::Json Admin::RefreshStats() { return Send("POST", Path("/api/v1/stats/refresh")); }
Admin::Json Admin::QueueStatus(const Filter& filter) {
  return Send("GET", WithFilter("/api/v1/status/queues", filter));
}
Admin::Json Admin::Configure(const std::string& body) {
  return Send("POST", Path("/api/v1/configure"), body);
}
Admin::Json Admin::DeleteQueue(const std::string& queue) {
  return Send("DELETE", Path(kQueuesPath).Segment(queue));
}
Admin::Json Admin::DeletePartition(const std::string& queue, const std::string& partition) {
  return Send("DELETE", Path(kQueuesPath).Segment(queue).Segment("partitions").Segment(partition));
}
Admin::Json Admin::ClearQueue(const std::string& queue, const std::string& partition) {
  return Send("DELETE",
              Path("/api/v1/queues").Segment(queue).Segment("clear").Query("partition", partition));
}
Admin::Json Admin::Explain(const std::string& queue, const std::string& partition,
                           const std::string& group) {
  Path path(kQueuesPath);
  path.Segment(queue).Segment("partitions").Segment(partition).Segment("explain");
  return Send("GET", path.Query("consumerGroup", group));
}

Admin::Json Admin::Groups() { return Send("GET", Path(kGroupsPath)); }
Admin::Json Admin::Group(const std::string& group, const Filter& page) {
  Path path(kGroupsPath);
  return Send("GET", AddPage(path.Segment(group), page));
}
Admin::Json Admin::LaggingGroups(int64_t seconds_min) {
  return Send("GET", Path(kGroupsPath).Segment("lagging").Query("minLagSeconds", seconds_min));
}
Admin::Json Admin::DeleteGroup(const std::string& group, const std::string& queue,
                               bool keep_metadata) {
  Path path(kGroupsPath);
  path.Segment(group);
  if (!queue.empty()) path.Segment("queues").Segment(queue);
  return Send("DELETE", path.Query("deleteMetadata", keep_metadata ? "false" : "true"));
}
Admin::Json Admin::Seek(const std::string& group, const std::string& queue,
                        const std::string& partition, const SeekTarget& target) {
  Path path(kGroupsPath);
  path.Segment(group).Segment("queues").Segment(queue);
  if (!partition.empty()) path.Segment("partitions").Segment(partition);
  return Send("POST", path.Segment("seek"), SeekBody(target));
}

Admin::Json Admin::Messages(const Filter& filter) {
  return Send("GET", WithFilter(kMessagesPath, filter));
}
Admin::Json Admin::OneMessage(const std::string& partition_id, const std::string& transaction_id) {
  return Send("GET", OneMessagePath(partition_id, transaction_id));
}
Admin::Json Admin::DeleteMessage(const std::string& partition_id,
                                 const std::string& transaction_id) {
  return Send("DELETE", OneMessagePath(partition_id, transaction_id));
}
Admin::Json Admin::RetryMessage(const std::string& partition_id,
                                const std::string& transaction_id) {
  return Send("POST", OneMessagePath(partition_id, transaction_id).Segment("retry"), "{}");
}
Admin::Json Admin::DeadLetterMessage(const std::string& partition_id,
                                     const std::string& transaction_id) {
  return Send("POST", OneMessagePath(partition_id, transaction_id).Segment("dlq"), "{}");
}

Admin::Json Admin::DeadLetters(const Filter& filter) {
  return Send("GET", WithFilter("/api/v1/dlq", filter));
}
// A lost reply may have redriven up to `limit` already: asking again would go past it.
Admin::Json Admin::Redrive(const Filter& filter) {
  return Send("POST", WithFilter("/api/v1/dlq/redrive", filter), "{}", false);
}
Admin::Json Admin::Purge(const Filter& filter) {
  return Send("DELETE", WithFilter("/api/v1/dlq", filter), "", false);
}

Admin::Json Admin::Audit(const AuditFilter& filter) {
  Path path("/api/v1/audit");
  path.Query("actor", filter.actor).Query("action", filter.action).Query("queue", filter.queue);
  path.Query("from", filter.from).Query("to", filter.to).Query("before", filter.before);
  return Send("GET", path.Query("limit", filter.limit));
}

Admin::Json Admin::RecordTrace(const std::string& body) {
  return Send("POST", Path("/api/v1/traces"), body, false);
}
Admin::Json Admin::Traces(const std::string& partition_id, const std::string& transaction_id) {
  return Send("GET", Path("/api/v1/traces").Segment(partition_id).Segment(transaction_id));
}
Admin::Json Admin::TracesByName(const std::string& name, const Filter& page) {
  Path path("/api/v1/traces/by-name");
  return Send("GET", AddPage(path.Segment(name), page));
}
Admin::Json Admin::TraceNames(const Filter& page) {
  return Send("GET", WithFilter("/api/v1/traces/names", page));
}

}  // namespace queen::client
