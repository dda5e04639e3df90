// MinuteBook: what this broker has done in each minute, until PostgreSQL has it. It is given the
// broker's totals now and then, adds what is new to the minute it is told, and writes the rows that
// have changed as the JSON of queen.flush_minutes: absolute numbers of a minute, so that writing
// them again does no harm.
//
//   Take ... Take --> rows of the minute change --Write--> JSON --Confirm--> known to be stored
//
// Bounded: `queues_max` queues have rows of their own in a minute, the others share one; and
// kMinutesMax minutes are kept while PostgreSQL does not take them, the newest.
//
// Belongs to one thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json_writer.h"
#include "state/queue_activity.h"

namespace queen::admin {

struct CallTotals {
  int64_t count = 0;
  int64_t items = 0;
  int64_t micros = 0;
};

// By the names of the columns of queen.broker_minutes.
enum class CallKind { kPush, kPop, kAck, kTransaction, kRenew };
inline constexpr size_t kCallKinds = 5;
enum class Gauge {
  kRssBytes,
  kSlotsBusy,
  kSlotsTotal,
  kWaitingPolls,
  kQueuedItems,
  kGroupsBackedOff,
  kBufferedMessages,
  kLoopLagMs,
};
inline constexpr size_t kGauges = 8;

// What the broker has come to, all workers together. Counters are totals since its start.
struct BrokerSample {
  std::vector<state::QueueActivityEntry> queues;        // a name may come several times
  std::unordered_map<std::string, int64_t> waiting_on;  // queue -> pops that wait
  std::array<CallTotals, kCallKinds> calls{};
  int64_t push_requests = 0;
  int64_t ack_requests = 0;
  int64_t transactions = 0;
  int64_t errors = 0;
  int64_t cpu_user_micros = 0;
  int64_t cpu_system_micros = 0;
  std::array<double, kGauges> gauges{};  // at this moment

  double& of(Gauge gauge) { return gauges[static_cast<size_t>(gauge)]; }
};

// Who writes: `broker` is new at each start, host and port are what people know.
struct BrokerName {
  int64_t broker = 0;
  std::string hostname;
  int port = 0;
  int workers = 0;
};

class MinuteBook {
 public:
  static constexpr size_t kQueuesPerMinuteMax = 1'000;
  static constexpr size_t kMinutesMax = 60;
  static constexpr int64_t kMinuteMicros = 60'000'000;

  explicit MinuteBook(BrokerName name, size_t queues_max = kQueuesPerMinuteMax)
      : name_(std::move(name)), queues_max_(queues_max) {}

  // At `now_micros` the totals are these: what they have risen since the last call belongs to the
  // minute of `minute_micros`. Returns how many old minutes had to be given up.
  size_t Take(int64_t minute_micros, int64_t now_micros, const BrokerSample& sample);

  struct Rows {
    std::string brokers;  // JSON arrays
    std::string queues;
    int64_t flush = 0;  // for Confirm
    bool empty() const { return brokers.size() <= 2 && queues.size() <= 2; }
  };
  // Every row that is not known to be stored.
  Rows Write() const;
  // PostgreSQL has the rows of that Write. Minutes before the newest that are stored are forgotten.
  void Confirm(int64_t flush);

  size_t minutes() const { return minutes_.size(); }

 private:
  struct GaugeSum {
    double sum = 0;
    double min = 0;
    double max = 0;
    double last = 0;
  };
  struct QueueRow {
    state::QueueTotals totals;
    int64_t parked_sum = 0;
    int64_t parked_max = 0;
    int64_t changed = 0;  // the Take that did it
  };
  struct Minute {
    state::QueueTotals totals;
    BrokerSample counters;  // its counters only
    std::array<GaugeSum, kGauges> gauges{};
    int64_t looks = 0;
    int64_t seen_micros = 0;
    int64_t changed = 0;
    std::map<std::string, QueueRow, std::less<>> queues;
  };

  void TakeQueues(Minute& minute, const BrokerSample& sample);
  QueueRow& RowOf(Minute& minute, const std::string& queue);
  static void TakeGauges(Minute& minute, const BrokerSample& sample);
  void WriteBroker(JsonWriter& writer, int64_t at, const Minute& minute) const;
  void WriteQueue(JsonWriter& writer, int64_t at, const std::string& queue,
                  const QueueRow& row) const;
  bool IsStored(const Minute& minute) const;

  const BrokerName name_;
  const size_t queues_max_;
  std::map<int64_t, Minute> minutes_;  // by their begin
  std::unordered_map<std::string, state::QueueTotals> last_queues_;
  BrokerSample last_;  // its counters only
  int64_t takes_ = 0;
  int64_t confirmed_ = 0;
};

}  // namespace queen::admin
