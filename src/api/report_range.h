// The parameters that reports about a time share: from, to and interval; queue, namespace and task.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/query.h"
#include "pg/params.h"

namespace queen::api {

struct ReportRange {
  std::optional<int64_t> from_micros;  // none: an hour before the end
  std::optional<int64_t> to_micros;    // none: now
  std::optional<int32_t> minutes;  // width of a point; none: as the length of the range asks for

  void AddTo(pg::Params& params) const;
};

// Refused: times and intervals that cannot be read, and a range that ends before it begins.
Result<ReportRange> ParseReportRange(const http::Query& query);

// "minute", "hour", "day", or a number of them: "5m", "2h", "1d"; a bare number is minutes.
std::optional<int32_t> ParseInterval(std::string_view text);

struct QueueFilter {
  std::optional<std::string> queue;
  std::optional<std::string> namespace_name;
  std::optional<std::string> task;

  void AddTo(pg::Params& params) const;
};

Result<QueueFilter> ParseQueueFilter(const http::Query& query);

}  // namespace queen::api
