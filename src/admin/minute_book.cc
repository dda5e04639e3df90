#include "admin/minute_book.h"

#include <algorithm>

#include "base/clock.h"

namespace queen::admin {
namespace {

using state::QueueTotals;

constexpr std::array<std::string_view, kCallKinds> kCallColumns = {
    "push_calls", "pop_calls", "ack_calls", "transaction_calls", "renew_calls"};
constexpr std::array<std::string_view, kGauges> kGaugeColumns = {
    "rss_bytes",    "slots_busy",        "slots_total",       "waiting_polls",
    "queued_items", "groups_backed_off", "buffered_messages", "loop_lag_ms"};

// What `now` has risen over `before`; the largest age is that since it was last asked.
QueueTotals Risen(const QueueTotals& now, const QueueTotals& before) {
  QueueTotals risen;
  risen.pushed = now.pushed - before.pushed;
  risen.push_bytes = now.push_bytes - before.push_bytes;
  risen.duplicates = now.duplicates - before.duplicates;
  risen.buffered = now.buffered - before.buffered;
  risen.popped = now.popped - before.popped;
  risen.pops = now.pops - before.pops;
  risen.empty_pops = now.empty_pops - before.empty_pops;
  risen.acked = now.acked - before.acked;
  risen.failed = now.failed - before.failed;
  risen.dead_lettered = now.dead_lettered - before.dead_lettered;
  risen.retried = now.retried - before.retried;
  risen.age_count = now.age_count - before.age_count;
  risen.age_sum_ms = now.age_sum_ms - before.age_sum_ms;
  risen.age_max_ms = now.age_max_ms;
  return risen;
}

bool IsNothing(const QueueTotals& totals) {
  return totals.activity() == 0 && totals.failed + totals.dead_lettered + totals.retried == 0;
}

void WriteTotals(JsonWriter& writer, const QueueTotals& totals) {
  writer.Field("pushed", totals.pushed);
  writer.Field("push_bytes", totals.push_bytes);
  writer.Field("duplicates", totals.duplicates);
  writer.Field("buffered", totals.buffered);
  writer.Field("popped", totals.popped);
  writer.Field("pops", totals.pops);
  writer.Field("empty_pops", totals.empty_pops);
  writer.Field("acked", totals.acked);
  writer.Field("failed", totals.failed);
  writer.Field("dead_lettered", totals.dead_lettered);
  writer.Field("retried", totals.retried);
  writer.Field("age_count", totals.age_count);
  writer.Field("age_sum_ms", totals.age_sum_ms);
  writer.Field("age_max_ms", totals.age_max_ms);
}

// Adds what the counters of `now` have risen over those of `before`.
void AddCounters(BrokerSample& to, const BrokerSample& now, const BrokerSample& before) {
  for (size_t i = 0; i < kCallKinds; ++i) {
    to.calls[i].count += now.calls[i].count - before.calls[i].count;
    to.calls[i].items += now.calls[i].items - before.calls[i].items;
    to.calls[i].micros += now.calls[i].micros - before.calls[i].micros;
  }
  to.push_requests += now.push_requests - before.push_requests;
  to.ack_requests += now.ack_requests - before.ack_requests;
  to.transactions += now.transactions - before.transactions;
  to.errors += now.errors - before.errors;
  to.cpu_user_micros += now.cpu_user_micros - before.cpu_user_micros;
  to.cpu_system_micros += now.cpu_system_micros - before.cpu_system_micros;
}

}  // namespace

size_t MinuteBook::Take(int64_t minute_micros, int64_t now_micros, const BrokerSample& sample) {
  ++takes_;
  const int64_t begin = minute_micros - minute_micros % kMinuteMicros;
  Minute& minute = minutes_[begin];
  minute.changed = takes_;
  minute.seen_micros = std::max(minute.seen_micros, now_micros);
  TakeQueues(minute, sample);
  TakeGauges(minute, sample);
  AddCounters(minute.counters, sample, last_);
  BrokerSample counters;
  AddCounters(counters, sample, {});
  last_ = std::move(counters);
  size_t given_up = 0;
  for (; minutes_.size() > kMinutesMax; ++given_up) minutes_.erase(minutes_.begin());
  return given_up;
}

void MinuteBook::TakeQueues(Minute& minute, const BrokerSample& sample) {
  std::unordered_map<std::string, QueueTotals> queues;
  for (const state::QueueActivityEntry& entry : sample.queues) {
    queues[entry.queue].Add(entry.totals);
  }
  for (const auto& [queue, totals] : queues) {
    QueueTotals& before = last_queues_[queue];
    const QueueTotals risen = Risen(totals, before);
    before = totals;
    if (IsNothing(risen)) continue;
    minute.totals.Add(risen);
    QueueRow& row = RowOf(minute, queue);
    row.totals.Add(risen);
    row.changed = takes_;
  }
  for (const auto& [queue, waiting] : sample.waiting_on) {
    QueueRow& row = RowOf(minute, queue);
    row.parked_sum += waiting;
    row.parked_max = std::max(row.parked_max, waiting);
    row.changed = takes_;
  }
}

// A queue keeps its row for the minute, so that nothing of it is counted in two.
MinuteBook::QueueRow& MinuteBook::RowOf(Minute& minute, const std::string& queue) {
  const auto found = minute.queues.find(queue);
  if (found != minute.queues.end()) return found->second;
  const bool full = minute.queues.size() >= queues_max_;
  return minute.queues[full ? std::string(state::QueueActivity::kOtherQueues) : queue];
}

void MinuteBook::TakeGauges(Minute& minute, const BrokerSample& sample) {
  for (size_t i = 0; i < kGauges; ++i) {
    const double value = sample.gauges[i];
    GaugeSum& gauge = minute.gauges[i];
    gauge.sum += value;
    gauge.min = minute.looks == 0 ? value : std::min(gauge.min, value);
    gauge.max = minute.looks == 0 ? value : std::max(gauge.max, value);
    gauge.last = value;
  }
  ++minute.looks;
}

MinuteBook::Rows MinuteBook::Write() const {
  Rows rows;
  rows.flush = takes_;
  JsonWriter brokers(rows.brokers);
  JsonWriter queues(rows.queues);
  brokers.BeginArray();
  queues.BeginArray();
  for (const auto& [at, minute] : minutes_) {
    if (minute.changed > confirmed_) WriteBroker(brokers, at, minute);
    for (const auto& [queue, row] : minute.queues) {
      if (row.changed > confirmed_) WriteQueue(queues, at, queue, row);
    }
  }
  brokers.EndArray();
  queues.EndArray();
  return rows;
}

void MinuteBook::WriteBroker(JsonWriter& writer, int64_t at, const Minute& minute) const {
  writer.BeginObject();
  writer.Field("minute", FormatTimestamp(at));
  writer.Field("broker", name_.broker);
  writer.Field("flush", minute.changed);
  writer.Field("hostname", name_.hostname);
  writer.Field("port", name_.port);
  writer.Field("workers", name_.workers);
  writer.Field("looks", minute.looks);
  writer.Field("seen_at", FormatTimestamp(minute.seen_micros));
  WriteTotals(writer, minute.totals);
  writer.Field("push_requests", minute.counters.push_requests);
  writer.Field("ack_requests", minute.counters.ack_requests);
  writer.Field("transactions", minute.counters.transactions);
  writer.Field("errors", minute.counters.errors);
  writer.Field("cpu_user_micros", minute.counters.cpu_user_micros);
  writer.Field("cpu_system_micros", minute.counters.cpu_system_micros);
  for (size_t i = 0; i < kCallKinds; ++i) {
    writer.Key(kCallColumns[i]);
    writer.BeginObject();
    writer.Field("count", minute.counters.calls[i].count);
    writer.Field("items", minute.counters.calls[i].items);
    writer.Field("micros", minute.counters.calls[i].micros);
    writer.EndObject();
  }
  for (size_t i = 0; i < kGauges; ++i) {
    writer.Key(kGaugeColumns[i]);
    writer.BeginObject();
    writer.Field("sum", minute.gauges[i].sum);
    writer.Field("min", minute.gauges[i].min);
    writer.Field("max", minute.gauges[i].max);
    writer.Field("last", minute.gauges[i].last);
    writer.EndObject();
  }
  writer.EndObject();
}

void MinuteBook::WriteQueue(JsonWriter& writer, int64_t at, const std::string& queue,
                            const QueueRow& row) const {
  writer.BeginObject();
  writer.Field("minute", FormatTimestamp(at));
  writer.Field("queue", queue);
  writer.Field("broker", name_.broker);
  writer.Field("flush", row.changed);
  WriteTotals(writer, row.totals);
  writer.Field("parked_sum", row.parked_sum);
  writer.Field("parked_max", row.parked_max);
  writer.EndObject();
}

bool MinuteBook::IsStored(const Minute& minute) const {
  return minute.changed <= confirmed_ &&
         std::ranges::all_of(minute.queues,
                             [this](const auto& row) { return row.second.changed <= confirmed_; });
}

void MinuteBook::Confirm(int64_t flush) {
  confirmed_ = std::max(confirmed_, flush);
  for (auto at = minutes_.begin(); at != minutes_.end() && std::next(at) != minutes_.end();) {
    at = IsStored(at->second) ? minutes_.erase(at) : std::next(at);
  }
}

}  // namespace queen::admin
