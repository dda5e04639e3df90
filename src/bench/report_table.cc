// The form of a report for people: a table of rows, a series where the scenario is about time, and
// the verdict.
#include <fmt/format.h>

#include <algorithm>

#include "bench/numbers.h"
#include "bench/report.h"

namespace queen::bench {
namespace {

using Table = std::vector<std::vector<std::string>>;

constexpr const char* kUnknown = "-";
// A generator above this share of one processor may be what was measured.
constexpr double kBusyGenerator = 0.8;

// Columns as wide as their widest cell; the first to the left, the others to the right.
std::string Layout(const Table& table) {
  std::vector<size_t> widths(table.front().size());
  for (const auto& row : table) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : table) {
    out += fmt::format("{:<{}}", row[0], widths[0]);
    for (size_t i = 1; i < row.size(); ++i) out += fmt::format("  {:>{}}", row[i], widths[i]);
    out.resize(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

std::string PerMessage(const std::optional<double>& amount, uint64_t messages, double scale) {
  if (!amount || messages == 0) return kUnknown;
  return Short(*amount * scale / static_cast<double>(messages));
}

std::string Rate(uint64_t count, double seconds) {
  return count == 0 || seconds <= 0 ? kUnknown : Round(static_cast<double>(count) / seconds);
}

std::vector<std::string> Cells(const ReportRow& row) {
  std::vector<std::string> cells = {row.name, Rate(row.messages, row.seconds),
                                    Rate(row.requests, row.seconds)};
  if (row.latency && row.latency->count > 0) {
    const LatencySummary& latency = *row.latency;
    for (const int64_t micros : {latency.p50_us, latency.p99_us, latency.p999_us, latency.max_us}) {
      cells.push_back(Millis(micros));
    }
  } else {
    cells.insert(cells.end(), 4, kUnknown);
  }
  if (!row.spent) {
    cells.insert(cells.end(), 4, "");
    return cells;
  }
  cells.push_back(PerMessage(row.spent->broker_cpu_seconds, row.messages, 1e6));
  cells.push_back(PerMessage(row.spent->postgres_cpu_seconds, row.messages, 1e6));
  cells.push_back(row.spent->broker_peak_bytes
                      ? Round(static_cast<double>(*row.spent->broker_peak_bytes) / (1 << 20))
                      : kUnknown);
  cells.push_back(PerMessage(row.spent->wal_bytes, row.messages, 1));
  return cells;
}

std::string Rows(const Report& report) {
  Table table = {{report.scenario, "msg/s", "requests/s", "p50 ms", "p99 ms", "p99.9 ms", "max ms",
                  "broker s/M", "postgres s/M", "RSS MiB", "WAL B/msg"}};
  for (const ReportRow& row : report.rows) table.push_back(Cells(row));
  return Layout(table);
}

std::string Series(const Report& report) {
  Table table = {{"second", "pushed/s", "received/s", "backlog", "push p50 ms", "p99", "ack p50",
                  "p99", "delivery p50", "p99"}};
  for (const SeriesPoint& point : report.series) {
    table.push_back({Round(point.seconds), Round(point.pushed_per_second),
                     Round(point.received_per_second), WithCommas(point.backlog),
                     Millis(point.push.p50_us), Millis(point.push.p99_us), Millis(point.ack.p50_us),
                     Millis(point.ack.p99_us), Millis(point.delivery.p50_us),
                     Millis(point.delivery.p99_us)});
  }
  return "\n" + Layout(table);
}

std::string Warnings(const Report& report) {
  std::string out;
  for (const ReportRow& row : report.rows) {
    if (!row.spent || row.seconds <= 0) continue;
    const double share = row.spent->generator_cpu_seconds / row.seconds;
    if (share < kBusyGenerator) continue;
    out += fmt::format("warning: {}: the load generator used {:.0f} % of a processor\n", row.name,
                       share * 100);
  }
  return out;
}

std::string Checks(const Report& report) {
  std::string out = fmt::format("\npushed {}, received {}", WithCommas(report.pushed),
                                WithCommas(report.received));
  if (!report.verified) out += " (not verified)";
  out += fmt::format(": lost {}, duplicated {}, reordered {}, unexpected {}; errors {}\n",
                     WithCommas(report.verdict.lost), WithCommas(report.verdict.duplicated),
                     WithCommas(report.verdict.reordered), WithCommas(report.verdict.unexpected),
                     WithCommas(report.errors.count()));
  for (const auto& [text, count] : report.errors.kinds()) {
    out += fmt::format("  {} x {}\n", WithCommas(count), text);
  }
  if (report.errors.others() > 0) {
    out += fmt::format("  {} x others\n", WithCommas(report.errors.others()));
  }
  return out;
}

}  // namespace

std::string ReportTable(const Report& report) {
  std::string out = Rows(report);
  if (report.show_series) out += Series(report);
  return out + Warnings(report) + Checks(report);
}

}  // namespace queen::bench
