#include "observe/workers.h"

#include <string>

namespace queen::observe {
namespace {

using metrics::Kind;

// One series: what of a snapshot it shows. Those of one name stand together.
struct Row {
  Kind kind;
  const char* name;
  const char* help;
  const char* label;  // "" = none
  const char* value;
  int64_t (*read)(const WorkerSnapshot&);
};

template <size_t kClass>
int64_t Replies(const WorkerSnapshot& s) {
  return static_cast<int64_t>(s.http.replies_by_class[kClass]);
}

constexpr const char* kReplies = "queen_http_replies_total";
constexpr const char* kRepliesHelp = "Replies by the first digit of their status.";
constexpr const char* kConnections = "queen_http_connections_total";
constexpr const char* kConnectionsHelp =
    "Connections by what became of them when they came: accepted, refused over the limit, or "
    "closed to make room for another.";
constexpr const char* kTimeouts = "queen_http_timeouts_total";
constexpr const char* kTimeoutsHelp =
    "Times a client was too slow: handshaking, idle between requests, sending a request, uploading "
    "a body, "
    "taking a reply.";
constexpr const char* kItemsWaiting = "queen_engine_items_waiting";
constexpr const char* kItemsWaitingHelp = "Messages and acks on their way to PostgreSQL.";
constexpr const char* kChecks = "queen_pop_checks_total";
constexpr const char* kChecksHelp =
    "Times the database was asked whether a partition has something, by the answer.";
constexpr const char* kHandshakes = "queen_tls_handshakes_total";
constexpr const char* kHandshakesHelp = "TLS handshakes of clients, by how they ended.";
constexpr const char* kLanes = "queen_lane_lookups_total";
constexpr const char* kLanesHelp =
    "Leases and acks that asked for a lane in memory, and whether it was there.";
constexpr const char* kCache = "queen_segment_cache_lookups_total";
constexpr const char* kCacheHelp = "Segments looked for in the cache of recent ones.";

constexpr auto kRows = std::to_array<Row>({
    {Kind::kCounter, "queen_http_requests_total", "Requests that arrived whole.", "", "",
     [](const WorkerSnapshot& s) { return static_cast<int64_t>(s.http.requests); }},
    {Kind::kCounter, kReplies, kRepliesHelp, "class", "1xx", Replies<1>},
    {Kind::kCounter, kReplies, kRepliesHelp, "class", "2xx", Replies<2>},
    {Kind::kCounter, kReplies, kRepliesHelp, "class", "3xx", Replies<3>},
    {Kind::kCounter, kReplies, kRepliesHelp, "class", "4xx", Replies<4>},
    {Kind::kCounter, kReplies, kRepliesHelp, "class", "5xx", Replies<5>},
    {Kind::kCounter, "queen_http_received_bytes_total", "Bytes received from clients.", "", "",
     [](const WorkerSnapshot& s) { return static_cast<int64_t>(s.http.bytes_in); }},
    {Kind::kCounter, "queen_http_sent_bytes_total", "Bytes sent to clients.", "", "",
     [](const WorkerSnapshot& s) { return static_cast<int64_t>(s.http.bytes_out); }},
    {Kind::kGauge, "queen_http_connections_open", "Open connections of clients.", "", "",
     [](const WorkerSnapshot& s) { return static_cast<int64_t>(s.http.open); }},
    {Kind::kCounter, kConnections, kConnectionsHelp, "result", "accepted",
     [](const WorkerSnapshot& s) { return static_cast<int64_t>(s.http.accepted); }},
    {Kind::kCounter, kConnections, kConnectionsHelp, "result", "refused",
     [](const WorkerSnapshot& s) { return static_cast<int64_t>(s.http.refused); }},
    {Kind::kCounter, kConnections, kConnectionsHelp, "result", "gave_way",
     [](const WorkerSnapshot& s) { return static_cast<int64_t>(s.http.given_way); }},
    {Kind::kCounter, kHandshakes, kHandshakesHelp, "result", "full",
     [](const WorkerSnapshot& s) {
       return static_cast<int64_t>(s.http.handshakes - s.http.handshakes_resumed);
     }},
    {Kind::kCounter, kHandshakes, kHandshakesHelp, "result", "resumed",
     [](const WorkerSnapshot& s) { return static_cast<int64_t>(s.http.handshakes_resumed); }},
    {Kind::kCounter, kHandshakes, kHandshakesHelp, "result", "failed",
     [](const WorkerSnapshot& s) { return static_cast<int64_t>(s.http.handshake_failures); }},
    {Kind::kCounter, kTimeouts, kTimeoutsHelp, "kind", "handshake",
     [](const WorkerSnapshot& s) { return static_cast<int64_t>(s.http.handshake_timeouts); }},
    {Kind::kCounter, kTimeouts, kTimeoutsHelp, "kind", "idle",
     [](const WorkerSnapshot& s) { return static_cast<int64_t>(s.http.idle_timeouts); }},
    {Kind::kCounter, kTimeouts, kTimeoutsHelp, "kind", "request",
     [](const WorkerSnapshot& s) { return static_cast<int64_t>(s.http.request_timeouts); }},
    {Kind::kCounter, kTimeouts, kTimeoutsHelp, "kind", "upload",
     [](const WorkerSnapshot& s) { return static_cast<int64_t>(s.http.slow_uploads); }},
    {Kind::kCounter, kTimeouts, kTimeoutsHelp, "kind", "write",
     [](const WorkerSnapshot& s) { return static_cast<int64_t>(s.http.write_timeouts); }},
    {Kind::kCounter, "queen_http_bodies_gave_way_total",
     "Bodies refused while they arrived, for smaller ones.", "", "",
     [](const WorkerSnapshot& s) { return static_cast<int64_t>(s.http.bodies_given_way); }},
    {Kind::kCounter, "queen_http_parse_errors_total", "Requests that are no HTTP of ours.", "", "",
     [](const WorkerSnapshot& s) { return static_cast<int64_t>(s.http.parse_errors); }},
    {Kind::kCounter, "queen_http_disconnects_total", "Clients that left while a reply was owed.",
     "", "", [](const WorkerSnapshot& s) { return static_cast<int64_t>(s.http.disconnects); }},
    {Kind::kGauge, kItemsWaiting, kItemsWaitingHelp, "operation", "push",
     [](const WorkerSnapshot& s) { return s.push_items_waiting; }},
    {Kind::kGauge, kItemsWaiting, kItemsWaitingHelp, "operation", "ack",
     [](const WorkerSnapshot& s) { return s.ack_items_waiting; }},
    {Kind::kGauge, kItemsWaiting, kItemsWaitingHelp, "operation", "transaction",
     [](const WorkerSnapshot& s) { return s.transaction_items_waiting; }},
    {Kind::kGauge, "queen_pops_open", "Pops that are not answered yet, waiting ones included.", "",
     "", [](const WorkerSnapshot& s) { return s.pops_open; }},
    {Kind::kGauge, "queen_pops_waiting", "Pops parked until a message is ready.", "", "",
     [](const WorkerSnapshot& s) { return s.pops_waiting; }},
    {Kind::kCounter, kChecks, kChecksHelp, "result", "hit",
     [](const WorkerSnapshot& s) { return s.has_pending.hits; }},
    {Kind::kCounter, kChecks, kChecksHelp, "result", "miss",
     [](const WorkerSnapshot& s) { return s.has_pending.misses; }},
    {Kind::kCounter, kCache, kCacheHelp, "result", "hit",
     [](const WorkerSnapshot& s) { return s.segment_cache_hits; }},
    {Kind::kCounter, kCache, kCacheHelp, "result", "miss",
     [](const WorkerSnapshot& s) { return s.segment_cache_misses; }},
    {Kind::kCounter, kLanes, kLanesHelp, "result", "hit",
     [](const WorkerSnapshot& s) { return s.lane_hits; }},
    {Kind::kCounter, kLanes, kLanesHelp, "result", "miss",
     [](const WorkerSnapshot& s) { return s.lane_misses; }},
    {Kind::kCounter, "queen_leases_handed_over_total",
     "Leases that an ack or a push carried to a pop that waited.", "", "",
     [](const WorkerSnapshot& s) { return s.leases_handed_over; }},
    {Kind::kGauge, "queen_lanes", "Lanes (a group on a partition) in memory.", "", "",
     [](const WorkerSnapshot& s) { return s.lanes; }},
    {Kind::kGauge, "queen_segment_cache_bytes", "Bytes of segments in the cache.", "", "",
     [](const WorkerSnapshot& s) { return s.segment_cache_bytes; }},
    {Kind::kGauge, "queen_partitions_known", "Partitions whose ids are remembered for pushes.", "",
     "", [](const WorkerSnapshot& s) { return s.partitions_known; }},
});

struct BatchRow {
  Kind kind;
  const char* name;
  const char* help;
  double (*read)(const sidecar::OperationStats&);
};

constexpr auto kBatchRows = std::to_array<BatchRow>({
    {Kind::kCounter, "queen_batches_total", "Batches answered by PostgreSQL.",
     [](const sidecar::OperationStats& s) { return static_cast<double>(s.count); }},
    {Kind::kCounter, "queen_batch_items_total",
     "Items in them: messages, pops, acks or leases; divided by the batches, their mean size.",
     [](const sidecar::OperationStats& s) { return static_cast<double>(s.items); }},
    {Kind::kCounter, "queen_batch_seconds_total", "Time PostgreSQL took to answer them.",
     [](const sidecar::OperationStats& s) { return static_cast<double>(s.total_micros) / 1e6; }},
});

constexpr const char* kSlots = "queen_database_slots";
constexpr const char* kSlotsHelp =
    "Connections of a worker to PostgreSQL: all of them, those that are up, and those with a "
    "batch on its way.";

}  // namespace

WorkerSnapshot TakeSnapshot(sidecar::Sidecar& sidecar, const http::Counters& counters) {
  WorkerSnapshot snapshot;
  snapshot.http = counters;
  snapshot.slots = sidecar.scheduler().slots();
  for (size_t i = 0; i < sidecar::kOperationCount; ++i) {
    snapshot.batches[i] = sidecar.scheduler().stats(static_cast<sidecar::Operation>(i));
  }
  snapshot.database_up = sidecar.database_up();
  snapshot.push_items_waiting = sidecar.push().items_waiting();
  snapshot.ack_items_waiting = sidecar.ack().items_waiting();
  snapshot.transaction_items_waiting = sidecar.transaction().items_waiting();
  snapshot.pops_open = static_cast<int64_t>(sidecar.pop().open());
  snapshot.pops_waiting = static_cast<int64_t>(sidecar.pop().waiting());
  snapshot.has_pending = sidecar.pop().has_pending();
  snapshot.lanes = static_cast<int64_t>(sidecar.lanes().size());
  snapshot.lane_hits = sidecar.lanes().hits();
  snapshot.lane_misses = sidecar.lanes().misses();
  snapshot.leases_handed_over = sidecar.pop().handed_over();
  snapshot.segment_cache_hits = sidecar.cache().hits();
  snapshot.segment_cache_misses = sidecar.cache().misses();
  snapshot.segment_cache_bytes = static_cast<int64_t>(sidecar.cache().bytes());
  snapshot.partitions_known = static_cast<int64_t>(sidecar.push().partitions_known());
  return snapshot;
}

Workers::Workers(metrics::Registry& registry) {
  for (size_t i = 0; i < registry.writers(); ++i) places_.push_back(std::make_unique<Place>());
  for (const Row& row : kRows) {
    metrics::Labels labels;
    if (row.label[0] != '\0') labels.emplace_back(row.label, row.value);
    registry.AddComputed(
        row.kind, row.name, row.help,
        [this, read = row.read] { return static_cast<double>(Sum(read)); }, std::move(labels));
  }
  for (const BatchRow& row : kBatchRows) {
    for (size_t i = 0; i < sidecar::kOperationCount; ++i) {
      registry.AddComputed(
          row.kind, row.name, row.help,
          [this, read = row.read, i] {
            double sum = 0;
            for (size_t worker = 0; worker < size(); ++worker) sum += read(Get(worker).batches[i]);
            return sum;
          },
          {{"operation", std::string(NameOf(static_cast<sidecar::Operation>(i)))}});
    }
  }
  registry.AddCollected(Kind::kGauge, kSlots, kSlotsHelp, [this](const metrics::Emit& emit) {
    for (size_t worker = 0; worker < size(); ++worker) {
      const pg::Storage::Counts slots = Get(worker).slots;
      const std::string name = std::to_string(worker);
      emit({{"worker", name}, {"state", "total"}}, slots.total);
      emit({{"worker", name}, {"state", "up"}}, slots.up);
      emit({{"worker", name}, {"state", "busy"}}, slots.busy);
    }
  });
}

void Workers::Publish(size_t worker, const WorkerSnapshot& snapshot) {
  Place& place = *places_[worker];
  const std::lock_guard lock(place.mutex);
  place.snapshot = snapshot;
}

WorkerSnapshot Workers::Get(size_t worker) const {
  const Place& place = *places_[worker];
  const std::lock_guard lock(place.mutex);
  return place.snapshot;
}

}  // namespace queen::observe
