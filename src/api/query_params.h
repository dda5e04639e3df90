// What several endpoints read and write alike: names and times in query strings, pages,
// bodies that may be missing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "admin/requests.h"
#include "base/json_value.h"
#include "base/json_writer.h"
#include "base/status.h"
#include "http/query.h"
#include "http/request.h"
#include "pg/params.h"

namespace queen::api {

inline constexpr int64_t kPageLimitDefault = 100;
inline constexpr int64_t kPageLimitMax = 1000;

// A query parameter that is a name; "" is as good as none.
Status TakeName(const http::Query& query, std::string_view name, std::optional<std::string>& out);
// A query parameter that is a point in time (timestamp.h); "" is as good as none.
Status TakeTime(const http::Query& query, std::string_view name, std::optional<int64_t>& micros);
// limit and offset. A limit out of range is moved into it; a negative offset is refused.
Result<admin::Page> ParsePage(const http::Query& query);
// The same where everything is meant unless `limit` is given: limit and offset as parameters of a
// report, NULL for everything.
Status AddPage(const http::Query& query, pg::Params& params);
// "pagination":{...}
void WritePagination(JsonWriter& writer, const admin::Page& page);

// The path segments ":queue" and so on, each a name. Refused: what no name can be.
Status CheckParams(const http::Request& request, std::initializer_list<std::string_view> names);

// A body whose every field is optional: absent for an empty one, null and [].
Result<JsonValue> ParseOptionalBody(std::string_view body);

// The string, or nullopt for absent and null.
Result<std::optional<std::string>> OptionalName(std::string_view field, const JsonValue& value);

void WriteOptional(JsonWriter& writer, std::string_view key,
                   const std::optional<std::string>& value);

}  // namespace queen::api
