// The JSON form of a report. Keys are stable: scripts make tables and plots from them. A figure
// that could not be measured is null.
#include "base/json_writer.h"
#include "bench/report.h"

namespace queen::bench {
namespace {

void NumberOrNull(JsonWriter& w, std::string_view key, const std::optional<double>& value) {
  w.Key(key);
  if (value) {
    w.Number(*value);
  } else {
    w.Null();
  }
}

int64_t Int(uint64_t value) { return static_cast<int64_t>(value); }

double Per(double amount, double of) { return of > 0 ? amount / of : 0; }

void WriteLatency(JsonWriter& w, std::string_view key, const LatencySummary& latency) {
  w.Key(key);
  w.BeginObject();
  w.Field("count", Int(latency.count));
  w.Field("mean", latency.mean_us);
  w.Field("p50", latency.p50_us);
  w.Field("p90", latency.p90_us);
  w.Field("p99", latency.p99_us);
  w.Field("p999", latency.p999_us);
  w.Field("max", latency.max_us);
  w.EndObject();
}

// An amount and the same per `messages` * `scale`.
void WriteAmount(JsonWriter& w, std::string_view key, std::string_view per_key,
                 const std::optional<double>& amount, uint64_t messages, double scale) {
  NumberOrNull(w, key, amount);
  const bool known = amount && messages > 0;
  NumberOrNull(
      w, per_key,
      known ? std::optional(*amount * scale / static_cast<double>(messages)) : std::nullopt);
}

void WriteSpent(JsonWriter& w, const ReportRow& row) {
  w.Key("spent");
  if (!row.spent) {
    w.Null();
    return;
  }
  const Spent& spent = *row.spent;
  w.BeginObject();
  WriteAmount(w, "broker_cpu_seconds", "broker_cpu_seconds_per_million", spent.broker_cpu_seconds,
              row.messages, 1e6);
  WriteAmount(w, "postgres_cpu_seconds", "postgres_cpu_seconds_per_million",
              spent.postgres_cpu_seconds, row.messages, 1e6);
  WriteAmount(w, "generator_cpu_seconds", "generator_cpu_seconds_per_million",
              spent.generator_cpu_seconds, row.messages, 1e6);
  WriteAmount(w, "wal_bytes", "wal_bytes_per_message", spent.wal_bytes, row.messages, 1);
  NumberOrNull(w, "broker_peak_rss_bytes",
               spent.broker_peak_bytes
                   ? std::optional(static_cast<double>(*spent.broker_peak_bytes))
                   : std::nullopt);
  w.EndObject();
}

void WriteRow(JsonWriter& w, const ReportRow& row) {
  w.BeginObject();
  w.Field("name", row.name);
  w.Field("seconds", row.seconds);
  w.Field("messages", Int(row.messages));
  w.Field("requests", Int(row.requests));
  w.Field("messages_per_second", Per(static_cast<double>(row.messages), row.seconds));
  w.Field("requests_per_second", Per(static_cast<double>(row.requests), row.seconds));
  if (row.latency) {
    WriteLatency(w, "latency_us", *row.latency);
  } else {
    w.Key("latency_us");
    w.Null();
  }
  WriteSpent(w, row);
  w.EndObject();
}

void WritePoint(JsonWriter& w, const SeriesPoint& point) {
  w.BeginObject();
  w.Field("seconds", point.seconds);
  w.Field("pushed_per_second", point.pushed_per_second);
  w.Field("received_per_second", point.received_per_second);
  w.Field("backlog", Int(point.backlog));
  WriteLatency(w, "push_us", point.push);
  WriteLatency(w, "pop_ack_us", point.cycle);
  WriteLatency(w, "ack_us", point.ack);
  WriteLatency(w, "delivery_us", point.delivery);
  NumberOrNull(w, "broker_cpu_seconds", point.broker_cpu_seconds);
  NumberOrNull(w, "postgres_cpu_seconds", point.postgres_cpu_seconds);
  w.EndObject();
}

void WriteCheck(JsonWriter& w, const Report& report) {
  w.Key("check");
  w.BeginObject();
  w.Field("verified", report.verified);
  w.Field("pushed", Int(report.pushed));
  w.Field("received", Int(report.received));
  w.Field("lost", Int(report.verdict.lost));
  w.Field("duplicated", Int(report.verdict.duplicated));
  w.Field("reordered", Int(report.verdict.reordered));
  w.Field("unexpected", Int(report.verdict.unexpected));
  w.EndObject();
}

void WriteErrors(JsonWriter& w, const Errors& errors) {
  w.Key("errors");
  w.BeginObject();
  w.Field("count", Int(errors.count()));
  w.Key("kinds");
  w.BeginArray();
  for (const auto& [text, count] : errors.kinds()) {
    w.BeginObject();
    w.Field("text", text);
    w.Field("count", Int(count));
    w.EndObject();
  }
  w.EndArray();
  w.EndObject();
}

}  // namespace

std::string ReportJson(const Report& report) {
  std::string out;
  JsonWriter w(out);
  w.BeginObject();
  w.Field("scenario", report.scenario);
  w.Field("ok", report.ok());
  w.Field("url", report.url);
  w.Field("version", report.version);
  w.Field("started_at", report.started_at);
  w.Field("processors", report.processors);
  w.Key("options");
  w.BeginObject();
  for (const auto& [name, value] : report.options) {
    w.Key(name);
    w.Raw(value);
  }
  w.EndObject();
  w.Key("rows");
  w.BeginArray();
  for (const ReportRow& row : report.rows) WriteRow(w, row);
  w.EndArray();
  w.Key("series");
  w.BeginArray();
  for (const SeriesPoint& point : report.series) WritePoint(w, point);
  w.EndArray();
  WriteCheck(w, report);
  WriteErrors(w, report.errors);
  w.EndObject();
  return out + "\n";
}

}  // namespace queen::bench
