#include "api/ack_item.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "api/names.h"

namespace queen::api {
namespace {

using sidecar::AckItem;
using sidecar::Verdict;

constexpr size_t kStatusInErrorBytesMax = 255;

JsonValue* FieldNamed(std::string_view key, AckFields& fields) {
  if (key == "transactionId") return &fields.transaction_id;
  if (key == "partitionId") return &fields.partition_id;
  if (key == "status") return &fields.status;
  if (key == "consumerGroup") return &fields.group;
  if (key == "leaseId") return &fields.lease_id;
  if (key == "error") return &fields.error;
  if (key == "cumulative") return &fields.cumulative;
  return nullptr;
}

std::optional<Verdict> VerdictNamed(std::string_view status) {
  if (status == "completed" || status == "success") return Verdict::kCompleted;
  if (status == "failed") return Verdict::kFailed;
  if (status == "dlq") return Verdict::kDeadLetter;
  if (status == "retry") return Verdict::kRetry;
  return std::nullopt;
}

// Whether a message of that id can exist at all. An empty one must not be asked for: it is how the
// log says that a message has none.
bool TakeTransactionId(const JsonValue& value, JsonScratch& scratch, AckItem& item) {
  if (!value.is_string()) return false;
  const JsonText id = value.Text(scratch);
  item.txn = id.text;
  return !item.txn.empty() && CheckTransactionId(id).ok();
}

bool TakePartitionId(const JsonValue& value, JsonScratch& scratch, AckItem& item) {
  if (!value.is_string()) return false;
  if (const auto uuid = Uuid::Parse(value.Text(scratch).text)) {
    item.partition = DecodePartitionId(*uuid);
  }
  return item.partition.has_value();
}

bool TakeLeaseId(const JsonValue& value, JsonScratch& scratch, AckItem& item) {
  if (value.absent_or_null()) return true;
  if (!value.is_string()) return false;
  const std::string_view text = value.Text(scratch).text;
  if (text.empty()) return true;
  item.lease_id = Uuid::Parse(text);
  return item.lease_id.has_value();
}

bool TakeGroup(const JsonValue& value, JsonScratch& scratch, AckItem& item) {
  if (value.absent_or_null()) return true;
  if (!value.is_string()) return false;
  const JsonText group = value.Text(scratch);
  if (!group.text.empty()) item.group = group.text;
  return CheckName("consumerGroup", group).ok();
}

// Sets item.error unless the status is known.
void TakeStatus(const JsonValue& value, JsonScratch& scratch, AckItem& item) {
  if (value.absent_or_null()) return;
  std::string_view status = value.is_string() ? value.Text(scratch).text : value.raw();
  if (value.is_string()) {
    if (const auto verdict = VerdictNamed(status)) {
      item.verdict = *verdict;
      return;
    }
  }
  item.error = fmt::format("Unknown status: {}", status.substr(0, kStatusInErrorBytesMax));
}

// An error is for people: what is no string is kept as the JSON it came as, and what PostgreSQL
// cannot store is replaced.
std::string ErrorText(const JsonValue& value, JsonScratch& scratch) {
  if (value.absent_or_null()) return {};
  if (!value.is_string()) return std::string(value.raw());
  const JsonText decoded = value.Text(scratch);
  if (!decoded.has_nul) return std::string(decoded.text);
  std::string text;
  text.reserve(decoded.text.size());
  for (const char c : decoded.text) {
    if (c == '\0') {
      text += "\xEF\xBF\xBD";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

void TakeAckField(JsonReader& reader, AckFields& fields) {
  if (JsonValue* field = FieldNamed(reader.key(), fields)) *field = reader.Value();
}

Status CheckAckFields(const AckFields& fields, JsonScratch& scratch) {
  const auto invalid = [](std::string_view text) {
    return Status(Code::kInvalidRequest, std::string(text));
  };
  if (fields.transaction_id.absent_or_null()) return invalid("transactionId is required");
  if (!fields.transaction_id.is_string()) return invalid("transactionId must be a string");
  if (fields.partition_id.absent_or_null()) {
    return invalid("partitionId is required to ensure message uniqueness");
  }
  if (!fields.cumulative.absent_or_null() && !fields.cumulative.is_bool()) {
    return invalid("cumulative must be a boolean");
  }
  if (fields.group.absent_or_null()) return Status::Ok();
  if (!fields.group.is_string()) return invalid("consumerGroup must be a string");
  return CheckName("consumerGroup", fields.group.Text(scratch));
}

AckItem MakeAckItem(const AckFields& fields, JsonScratch& scratch) {
  AckItem item;
  const bool possible_message = TakeTransactionId(fields.transaction_id, scratch, item);
  const bool possible_partition = TakePartitionId(fields.partition_id, scratch, item);
  const bool possible_lease = TakeLeaseId(fields.lease_id, scratch, item);
  const bool possible_group = TakeGroup(fields.group, scratch, item);
  TakeStatus(fields.status, scratch, item);
  item.cumulative = fields.cumulative.is_bool() && fields.cumulative.raw() == "true";
  if (!fields.cumulative.absent_or_null() && !fields.cumulative.is_bool()) {
    item.error = "cumulative must be a boolean";
  }
  item.message = ErrorText(fields.error, scratch);
  if (!item.error.empty()) return item;
  if (!possible_message || !possible_partition) {
    item.error = kMessageNotFound;
  } else if (!possible_lease || !possible_group) {
    item.error = kInvalidLease;
  }
  return item;
}

}  // namespace queen::api
