#include "api/pop_reply.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>
#include <vector>

#include "api/append.h"
#include "api/message_meta.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/json_writer.h"
#include "base/log.h"

namespace queen::api {
namespace {

using sidecar::Delivery;
using sidecar::PopResult;
using storage::Segment;

// A message's keys, id, createdAt, numbers and nulls.
constexpr size_t kMessageBytes = 240;
constexpr size_t kEnvelopeBytes = 256;

// The lines of a column, front to back. An empty column is any number of empty lines.
class LineCursor {
 public:
  explicit LineCursor(std::string_view column) : rest_(column) {}

  std::string_view Next() {
    if (rest_.empty()) return {};
    const auto* const line_break =
        static_cast<const char*>(std::memchr(rest_.data(), '\n', rest_.size()));
    if (line_break == nullptr) return std::exchange(rest_, {});
    const auto length = static_cast<size_t>(line_break - rest_.data());
    const std::string_view line = rest_.substr(0, length);
    rest_.remove_prefix(length + 1);
    return line;
  }

 private:
  std::string_view rest_;
};

struct Message {
  int64_t seq = 0;
  int64_t created_micros = 0;
  std::string_view payload;
  std::string_view txn;
  std::string_view meta;

  size_t bytes() const { return kMessageBytes + payload.size() + txn.size() + meta.size(); }
};

// Appends what this segment holds of the delivery.
void CollectSegment(const Delivery& delivery, const Segment& segment,
                    std::vector<Message>& messages) {
  LineCursor payloads(segment.payloads);
  LineCursor txns(segment.txns);
  LineCursor metas(segment.meta);
  const int64_t end = std::min(segment.end_seq(), delivery.end);
  for (int64_t seq = segment.base_seq; seq < end; ++seq) {
    const Message message{.seq = seq,
                          .created_micros = segment.CreatedMicros(seq),
                          .payload = payloads.Next(),
                          .txn = txns.Next(),
                          .meta = metas.Next()};
    // An empty payload: deleted since it was leased.
    if (seq >= delivery.cursor && delivery.Delivers(seq) && !message.payload.empty()) {
      messages.push_back(message);
    }
  }
}

std::vector<Message> Collect(const Delivery& delivery) {
  std::vector<Message> messages;
  messages.reserve(static_cast<size_t>(std::max<int64_t>(delivery.end - delivery.cursor, 0)));
  for (const storage::SegmentPtr& segment : delivery.segments) {
    CollectSegment(delivery, *segment, messages);
  }
  return messages;
}

// createdAt of neighbours mostly differs in the microseconds alone.
class TimestampWriter {
 public:
  void Append(std::string& out, int64_t micros) {
    const int64_t second = micros / kMicrosPerSecond;
    if (second != second_) {
      text_ = FormatTimestamp(micros);
      second_ = second;
    } else {
      int64_t rest = micros % kMicrosPerSecond;
      for (size_t at = kLastDigit; at > kLastDigit - 6; --at, rest /= 10) {
        text_[at] = static_cast<char>('0' + rest % 10);
      }
    }
    out += text_;
  }

 private:
  static constexpr int64_t kMicrosPerSecond = 1'000'000;
  static constexpr size_t kLastDigit = 25;  // of "2026-01-31T23:59:59.123456Z"

  int64_t second_ = -1;
  std::string text_;
};

// How often messages have failed, asked in rising order of seq.
class FailureCounts {
 public:
  explicit FailureCounts(const Delivery& delivery) : counts_(delivery.failures) {
    if (!std::is_sorted(counts_.begin(), counts_.end())) std::sort(counts_.begin(), counts_.end());
  }

  int32_t At(int64_t seq) {
    while (next_ < counts_.size() && counts_[next_].first < seq) ++next_;
    return next_ < counts_.size() && counts_[next_].first == seq ? counts_[next_].second : 0;
  }

 private:
  std::vector<std::pair<int64_t, int32_t>> counts_;
  size_t next_ = 0;
};

void AppendQuotedUuid(std::string& out, const Uuid& uuid) {
  out += '"';
  AppendUuid(out, uuid);
  out += '"';
}

// "leaseId":..,"consumerGroup":.., the same for the reply and each of its messages.
std::string LeaseMembers(std::string_view group, const PopResult& result) {
  std::string members = ",\"leaseId\":\"";
  if (result.leased) AppendUuid(members, result.lease_id);
  members += "\",\"consumerGroup\":";
  AppendJsonString(members, group);
  return members;
}

// What stands between createdAt and retryCount in every message of a delivery.
std::string PartitionMembers(const Delivery& delivery, std::string_view lease_members) {
  std::string members = ",\"partitionId\":";
  AppendQuotedUuid(members, EncodePartitionId(delivery.partition));
  members += ",\"partition\":";
  AppendJsonString(members, delivery.partition_name);
  members += ",\"queue\":";
  AppendJsonString(members, delivery.queue_name);
  members += lease_members;
  return members;
}

class ReplyWriter {
 public:
  ReplyWriter(std::string& out, const storage::PayloadCipher& cipher)
      : out_(out), cipher_(cipher) {}

  void Envelope(const Delivery& first, std::string_view lease_members) {
    out_ += "{\"success\":true,\"queue\":";
    AppendJsonString(out_, first.queue_name);
    out_ += ",\"partition\":";
    AppendJsonString(out_, first.partition_name);
    out_ += ",\"partitionId\":";
    AppendQuotedUuid(out_, EncodePartitionId(first.partition));
    out_.append(lease_members).append(",\"messages\":[");
  }

  void AddMessage(const Delivery& delivery, const Message& message,
                  std::string_view partition_members, int32_t retry_count) {
    const Uuid id = EncodeMessageId({.created_millis = message.created_micros / 1000,
                                     .partition = delivery.partition,
                                     .seq = message.seq});
    out_ += first_ ? "{\"id\":" : ",{\"id\":";
    first_ = false;
    AppendQuotedUuid(out_, id);
    out_ += ",\"transactionId\":";
    message.txn.empty() ? AppendQuotedUuid(out_, id) : AppendJsonString(out_, message.txn);
    const MessageMeta meta = ReadMessageMeta(message.meta);
    Member(",\"traceId\":", meta.trace_id);
    if (meta.encrypted) {
      DecryptedData(delivery, message);
    } else {
      Member(",\"data\":", message.payload);
    }
    if (!meta.headers.empty()) Member(",\"headers\":", meta.headers);
    Member(",\"producerSub\":", meta.producer_sub);
    out_ += ",\"createdAt\":\"";
    timestamps_.Append(out_, message.created_micros);
    out_.append("\"").append(partition_members).append(",\"retryCount\":");
    AppendInt(out_, retry_count);
    out_ += ",\"offset\":";
    AppendInt(out_, message.seq);
    out_ += '}';
  }

  void Close(size_t partitions_claimed) {
    out_ += "],\"partitionsClaimed\":";
    AppendInt(out_, static_cast<int64_t>(partitions_claimed));
    out_ += '}';
  }

 private:
  // `json` is a value as it is to be written; none is null.
  void Member(std::string_view key, std::string_view json) {
    out_.append(key).append(json.empty() ? "null" : json);
  }

  void DecryptedData(const Delivery& delivery, const Message& message) {
    const Result<std::string> payload = cipher_.Decrypt(message.payload, delivery.partition);
    Member(",\"data\":", payload.ok() ? *payload : message.payload);
    if (payload.ok()) return;
    out_ += ",\"error\":";
    AppendJsonString(out_, payload.status().message());
    if (std::exchange(warned_, true)) return;
    log::WarnRarely("a message cannot be decrypted", {{"queue", delivery.queue_name},
                                                      {"partition", delivery.partition_name},
                                                      {"offset", message.seq},
                                                      {"error", payload.status().message()}});
  }

  std::string& out_;
  const storage::PayloadCipher& cipher_;
  bool first_ = true;
  bool warned_ = false;  // once per reply
  TimestampWriter timestamps_;
};

}  // namespace

std::string WritePopReply(std::string_view group, const PopResult& result,
                          const storage::PayloadCipher& cipher) {
  assert(!result.deliveries.empty());
  const std::string lease_members = LeaseMembers(group, result);
  std::vector<std::vector<Message>> messages;
  std::vector<std::string> members;
  messages.reserve(result.deliveries.size());
  members.reserve(result.deliveries.size());
  size_t bytes = kEnvelopeBytes + lease_members.size();
  for (const Delivery& delivery : result.deliveries) {
    members.push_back(PartitionMembers(delivery, lease_members));
    messages.push_back(Collect(delivery));
    for (const Message& message : messages.back()) bytes += message.bytes() + members.back().size();
  }

  std::string out;
  out.reserve(bytes);
  ReplyWriter writer(out, cipher);
  writer.Envelope(result.deliveries.front(), lease_members);
  for (size_t i = 0; i < result.deliveries.size(); ++i) {
    const Delivery& delivery = result.deliveries[i];
    FailureCounts failures(delivery);
    for (const Message& message : messages[i]) {
      writer.AddMessage(delivery, message, members[i], failures.At(message.seq));
    }
  }
  writer.Close(result.deliveries.size());
  return out;
}

}  // namespace queen::api
