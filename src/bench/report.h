// Report: everything a run found out, and its two forms: a table for people and one JSON object for
// programs. Pure: nothing here measures or prints.
//
// A row is one kind of operation in one measurement; what broker and PostgreSQL spent belongs to a
// measurement as a whole and stands in the row that speaks for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/errors.h"
#include "bench/latency.h"
#include "bench/ledger.h"
#include "bench/resources.h"

namespace queen::bench {

struct ReportRow {
  std::string name;
  double seconds = 0;
  uint64_t messages = 0;
  uint64_t requests = 0;
  std::optional<LatencySummary> latency;
  std::optional<Spent> spent;
};

// One point of the series: an interval that ends `seconds` after the measurement began.
struct SeriesPoint {
  double seconds = 0;
  double pushed_per_second = 0;
  double received_per_second = 0;
  uint64_t backlog = 0;
  LatencySummary push;
  LatencySummary cycle;  // pop and ack; the pop of a consumer that keeps up is mostly waiting
  LatencySummary ack;
  LatencySummary delivery;  // intended send to receipt
  std::optional<double> broker_cpu_seconds;
  std::optional<double> postgres_cpu_seconds;
};

struct Report {
  std::string scenario;
  std::string url;
  std::string version;
  std::string started_at;
  int processors = 0;
  std::vector<std::pair<std::string, std::string>> options;  // name, value as JSON
  std::vector<ReportRow> rows;
  std::vector<SeriesPoint> series;
  bool show_series = false;  // in the table as well
  uint64_t pushed = 0;
  uint64_t received = 0;
  bool verified = true;  // false: nobody looked whether everything is there
  Verdict verdict;
  Errors errors;

  bool ok() const { return verdict.clean() && errors.count() == 0; }
};

std::string ReportTable(const Report& report);
// One line, with its line break.
std::string ReportJson(const Report& report);

}  // namespace queen::bench
