#include "api/report_range.h"

#include <charconv>

#include "api/query_params.h"

namespace queen::api {
namespace {

constexpr int32_t kHour = 60;
constexpr int32_t kDay = 24 * kHour;
constexpr int32_t kNumberMax = 10'000;

}  // namespace

void ReportRange::AddTo(pg::Params& params) const {
  params.TimestampTzOrNull(from_micros).TimestampTzOrNull(to_micros);
  minutes ? params.Int4(*minutes) : params.Null(pg::oid::kInt4);
}

std::optional<int32_t> ParseInterval(std::string_view text) {
  if (text == "minute") return 1;
  if (text == "hour") return kHour;
  if (text == "day") return kDay;
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1 || number > kNumberMax) return std::nullopt;
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (unit.empty() || unit == "m") return number;
  if (unit == "h") return number * kHour;
  if (unit == "d") return number * kDay;
  return std::nullopt;
}

Result<ReportRange> ParseReportRange(const http::Query& query) {
  ReportRange range;
  QUEEN_RETURN_IF_ERROR(TakeTime(query, "from", range.from_micros));
  QUEEN_RETURN_IF_ERROR(TakeTime(query, "to", range.to_micros));
  if (range.from_micros && range.to_micros && *range.from_micros > *range.to_micros) {
    return Status(Code::kInvalidRequest, "from must not be after to");
  }
  const std::string_view interval = query.GetOr("interval", "");
  if (interval.empty()) return range;
  range.minutes = ParseInterval(interval);
  if (range.minutes) return range;
  return Status(Code::kInvalidRequest,
                "interval must be minute, hour, day, or a number of them such as 5m, 2h or 1d");
}

void QueueFilter::AddTo(pg::Params& params) const {
  params.TextOrNull(queue).TextOrNull(namespace_name).TextOrNull(task);
}

Result<QueueFilter> ParseQueueFilter(const http::Query& query) {
  QueueFilter filter;
  QUEEN_RETURN_IF_ERROR(TakeName(query, "queue", filter.queue));
  QUEEN_RETURN_IF_ERROR(TakeName(query, "namespace", filter.namespace_name));
  QUEEN_RETURN_IF_ERROR(TakeName(query, "task", filter.task));
  return filter;
}

}  // namespace queen::api
