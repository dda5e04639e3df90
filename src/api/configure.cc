#include "api/configure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/authorize.h"
#include "api/query_params.h"
#include "base/json_range.h"
#include "base/json_reader.h"
#include "base/json_writer.h"

namespace queen::api {
namespace {

using admin::ConfigureRequest;
using admin::ConfigureResult;

struct NumberOption {
  std::string_view name;
  int64_t max = INT32_MAX;
};

constexpr std::array kNumbers = {
    NumberOption{"leaseTime"},
    NumberOption{"retryLimit"},
    NumberOption{"retryDelay"},
    NumberOption{"maxDeliveries"},
    NumberOption{"delayedProcessing"},
    NumberOption{"windowBuffer"},
    NumberOption{"retentionSeconds"},
    NumberOption{"completedRetentionSeconds"},
    NumberOption{"maxWaitTimeSeconds"},
    NumberOption{"maxSize", INT64_MAX},
    NumberOption{"ttl"},
    NumberOption{"priority"},
};

constexpr std::array<std::string_view, 4> kSwitches = {"deadLetterQueue", "dlqAfterMaxRetries",
                                                       "retentionEnabled", "encryptionEnabled"};

constexpr std::array<std::string_view, 5> kFields = {"queue", "namespace", "task", "options",
                                                     "mode"};

Status Invalid(std::string message) { return Status(Code::kInvalidRequest, std::move(message)); }

Status CopyNumber(const NumberOption& option, const JsonValue& value, JsonWriter& writer) {
  const Result<int64_t> number = value.Int64();
  if (!number.ok()) return Invalid(fmt::format("{} {}", option.name, number.status().message()));
  if (*number < 0) return Invalid(fmt::format("{} must not be negative", option.name));
  if (*number > option.max) {
    return Invalid(fmt::format("{} must not be above {}", option.name, option.max));
  }
  writer.Field(option.name, *number);
  return Status::Ok();
}

Status CopySwitch(std::string_view name, const JsonValue& value, bool can_encrypt,
                  JsonWriter& writer) {
  const Result<bool> on = value.Bool();
  if (!on.ok()) return Invalid(fmt::format("{} {}", name, on.status().message()));
  if (name == "encryptionEnabled" && *on && !can_encrypt) {
    return Invalid(
        "encryptionEnabled needs an encryption key, and this broker has none "
        "(QUEEN_ENCRYPTION_KEY)");
  }
  writer.Field(name, *on);
  return Status::Ok();
}

bool IsOption(std::string_view name) {
  return std::find(kSwitches.begin(), kSwitches.end(), name) != kSwitches.end() ||
         std::any_of(kNumbers.begin(), kNumbers.end(),
                     [name](const NumberOption& option) { return option.name == name; });
}

bool IsField(std::string_view name) {
  return std::find(kFields.begin(), kFields.end(), name) != kFields.end();
}

// Appends the keys of `object` that nothing is known about, each once.
void AppendUnknown(const JsonValue& object, bool (*known)(std::string_view),
                   std::vector<std::string>& names) {
  for (const JsonField& field : JsonFields(object)) {
    if (names.size() == kIgnoredNamesMax) return;
    if (known(field.key) || std::find(names.begin(), names.end(), field.key) != names.end()) {
      continue;
    }
    names.emplace_back(field.key);
  }
}

// The known options of `value`, checked, as a new object.
Result<std::string> CopyOptions(const JsonValue& value, bool can_encrypt) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  if (!value.absent_or_null()) {
    if (!value.is_object()) return Invalid("options must be an object");
    for (const NumberOption& option : kNumbers) {
      const JsonValue found = value.Find(option.name);
      if (!found.absent_or_null()) QUEEN_RETURN_IF_ERROR(CopyNumber(option, found, writer));
    }
    for (const std::string_view name : kSwitches) {
      const JsonValue found = value.Find(name);
      if (!found.absent_or_null())
        QUEEN_RETURN_IF_ERROR(CopySwitch(name, found, can_encrypt, writer));
    }
  }
  writer.EndObject();
  return out;
}

}  // namespace

Result<ConfigureRequest> ParseConfigure(std::string_view body, std::string_view mode,
                                        bool can_encrypt) {
  const Result<JsonValue> value = ParseJson(body);
  if (!value.ok()) return value.status();
  if (!value->is_object()) return Invalid("The body must be an object");
  ConfigureRequest request;
  auto queue = OptionalName("queue", value->Find("queue"));
  if (!queue.ok()) return queue.status();
  if (!*queue) return Invalid("queue must be a string");
  request.queue = **std::move(queue);
  auto namespace_name = OptionalName("namespace", value->Find("namespace"));
  if (!namespace_name.ok()) return namespace_name.status();
  request.namespace_name = *std::move(namespace_name);
  auto task = OptionalName("task", value->Find("task"));
  if (!task.ok()) return task.status();
  request.task = *std::move(task);
  const auto body_mode = OptionalName("mode", value->Find("mode"));
  if (!body_mode.ok()) return body_mode.status();
  if (*body_mode) mode = **body_mode;
  if (!mode.empty() && mode != "merge" && mode != "replace") {
    return Invalid("mode must be merge or replace");
  }
  request.replace = mode == "replace";
  auto options = CopyOptions(value->Find("options"), can_encrypt);
  if (!options.ok()) return options.status();
  request.options = *std::move(options);
  return request;
}

std::vector<std::string> IgnoredNames(std::string_view body) {
  std::vector<std::string> names;
  const Result<JsonValue> value = ParseJson(body);
  if (!value.ok()) return names;
  AppendUnknown(*value, IsField, names);
  AppendUnknown(value->Find("options"), IsOption, names);
  return names;
}

std::string WriteConfigureReply(std::string_view queue, const ConfigureResult& result,
                                const std::vector<std::string>& ignored) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Field("configured", true);
  writer.Field("queueId", EncodeQueueId(result.queue_id).ToString());
  writer.Field("partitionId", EncodePartitionId(result.partition_id).ToString());
  writer.Field("queue", queue);
  writer.Field("namespace", result.namespace_name);
  writer.Field("task", result.task);
  writer.Key("options");
  writer.Raw(result.options);
  if (!ignored.empty()) {
    writer.Key("ignored");
    writer.BeginArray();
    for (const std::string& name : ignored) writer.String(name);
    writer.EndArray();
  }
  writer.EndObject();
  return out;
}

void HandleConfigure(const Context& context, const http::Request& request, http::Reply reply) {
  auto parsed = ParseConfigure(request.body(), request.query().GetOr("mode", ""),
                               context.cipher.can_encrypt());
  if (!parsed.ok()) return reply.SendError(parsed.status());
  const Status granted = CheckQueue(request.identity(), auth::Verb::kAdmin, parsed->queue);
  if (!granted.ok()) return reply.SendError(granted);
  std::string queue = parsed->queue;
  context.admin.Configure(
      *std::move(parsed),
      [&context, queue = std::move(queue), ignored = IgnoredNames(request.body()),
       reply = std::move(reply)](Result<ConfigureResult> result) mutable {
        if (!result.ok()) return reply.SendError(result.status());
        context.engine.QueueChanged(queue);
        reply.Send(http::Response::Json(200, WriteConfigureReply(queue, *result, ignored)));
      });
}

}  // namespace queen::api
