#include "api/query_params.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/names.h"
#include "api/timestamp.h"
#include "base/json_range.h"
#include "base/json_reader.h"
#include "pg/oids.h"

namespace queen::api {

Status TakeName(const http::Query& query, std::string_view name, std::optional<std::string>& out) {
  const std::string_view value = query.GetOr(name, "");
  if (value.empty()) return Status::Ok();
  out = value;
  return CheckName(name, value);
}

Status TakeTime(const http::Query& query, std::string_view name, std::optional<int64_t>& micros) {
  const std::string_view value = query.GetOr(name, "");
  if (value.empty()) return Status::Ok();
  micros = ParseTimestamp(value);
  if (micros) return Status::Ok();
  return Status(Code::kInvalidRequest, fmt::format("{} must be an RFC 3339 time or a date", name));
}

Result<admin::Page> ParsePage(const http::Query& query) {
  const Result<int64_t> limit = query.Int("limit", kPageLimitDefault);
  if (!limit.ok()) return limit.status();
  const Result<int64_t> offset = query.Int("offset", 0, 0, INT32_MAX);
  if (!offset.ok()) return offset.status();
  admin::Page page;
  page.limit = static_cast<int32_t>(std::clamp<int64_t>(*limit, 1, kPageLimitMax));
  page.offset = static_cast<int32_t>(*offset);
  return page;
}

Status AddPage(const http::Query& query, pg::Params& params) {
  const Result<admin::Page> page = ParsePage(query);
  if (!page.ok()) return page.status();
  query.GetOr("limit", "").empty() ? params.Null(pg::oid::kInt4) : params.Int4(page->limit);
  params.Int4(page->offset);
  return Status::Ok();
}

void WritePagination(JsonWriter& writer, const admin::Page& page) {
  writer.Key("pagination");
  writer.BeginObject();
  writer.Field("limit", page.limit);
  writer.Field("offset", page.offset);
  writer.EndObject();
}

Status CheckParams(const http::Request& request, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    QUEEN_RETURN_IF_ERROR(CheckName(name == "group" ? "consumerGroup" : name, request.Param(name)));
  }
  return Status::Ok();
}

Result<JsonValue> ParseOptionalBody(std::string_view body) {
  if (body.find_first_not_of(" \t\r\n") == body.npos) return JsonValue();
  Result<JsonValue> value = ParseJson(body);
  if (!value.ok()) return value;
  if (value->is_array()) {
    for (const JsonValue element : JsonElements(*value)) {
      if (!element.absent()) return Status(Code::kInvalidRequest, "The body must be an object");
    }
    return JsonValue();
  }
  if (value->is_null()) return JsonValue();
  if (!value->is_object()) return Status(Code::kInvalidRequest, "The body must be an object");
  return value;
}

Result<std::optional<std::string>> OptionalName(std::string_view field, const JsonValue& value) {
  if (value.absent_or_null()) return std::optional<std::string>();
  if (!value.is_string()) {
    return Status(Code::kInvalidRequest, fmt::format("{} must be a string", field));
  }
  JsonScratch scratch;
  const JsonText text = value.Text(scratch);
  QUEEN_RETURN_IF_ERROR(CheckName(field, text));
  return std::optional<std::string>(text.text);
}

void WriteOptional(JsonWriter& writer, std::string_view key,
                   const std::optional<std::string>& value) {
  writer.Key(key);
  value ? writer.String(*value) : writer.Null();
}

}  // namespace queen::api
