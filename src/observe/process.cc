#include "observe/process.h"

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "metrics/process_stats.h"

namespace queen::observe {
namespace {

using metrics::Kind;

struct BufferRow {
  Kind kind;
  const char* name;
  const char* help;
  double (*read)(const buffer::FileBufferStats&);
};

constexpr auto kBufferRows = std::to_array<BufferRow>({
    {Kind::kGauge, "queen_buffer_messages", "Messages in the file buffer that are to be stored.",
     [](const buffer::FileBufferStats& s) { return static_cast<double>(s.pending_messages); }},
    {Kind::kGauge, "queen_buffer_partitions", "Partitions that have messages there.",
     [](const buffer::FileBufferStats& s) { return static_cast<double>(s.pending_partitions); }},
    {Kind::kGauge, "queen_buffer_bytes", "Bytes of the file buffer's directory.",
     [](const buffer::FileBufferStats& s) { return static_cast<double>(s.bytes); }},
    {Kind::kGauge, "queen_buffer_limit_bytes", "Most bytes it may take.",
     [](const buffer::FileBufferStats& s) { return static_cast<double>(s.bytes_max); }},
    {Kind::kGauge, "queen_buffer_oldest_age_seconds",
     "Age of the oldest file with messages to be stored, 0 for none.",
     [](const buffer::FileBufferStats& s) {
       if (s.oldest_micros == 0) return 0.0;
       return static_cast<double>(std::max<int64_t>(WallMicros() - s.oldest_micros, 0)) / 1e6;
     }},
    {Kind::kCounter, "queen_buffer_failed_messages_total",
     "Messages set aside because PostgreSQL refused them.",
     [](const buffer::FileBufferStats& s) { return static_cast<double>(s.failed_messages); }},
    {Kind::kCounter, "queen_buffer_damaged_ranges_total", "Damaged parts of files set aside.",
     [](const buffer::FileBufferStats& s) { return static_cast<double>(s.damaged_ranges); }},
    {Kind::kGauge, "queen_buffer_failed_files", "Files of what was set aside.",
     [](const buffer::FileBufferStats& s) { return static_cast<double>(s.failed_files); }},
    {Kind::kGauge, "queen_buffer_healthy", "1 while writing to its disk succeeds.",
     [](const buffer::FileBufferStats& s) { return s.healthy ? 1.0 : 0.0; }},
});

struct ClusterRow {
  const char* name;
  const char* help;
  const char* reason;  // "" = none
  std::atomic<int64_t> cluster::ClusterCounters::*count;
};

constexpr const char* kDropped = "queen_cluster_packets_dropped_total";
constexpr const char* kDroppedHelp = "Packets of other brokers that were not believed.";

const auto kClusterRows = std::to_array<ClusterRow>({
    {"queen_cluster_packets_sent_total", "Packets sent to other brokers.", "",
     &cluster::ClusterCounters::packets_sent},
    {"queen_cluster_packets_unsent_total", "Packets that the kernel did not take.", "",
     &cluster::ClusterCounters::packets_refused},
    {"queen_cluster_packets_received_total", "Packets received.", "",
     &cluster::ClusterCounters::packets_received},
    {kDropped, kDroppedHelp, "truncated", &cluster::ClusterCounters::dropped_truncated},
    {kDropped, kDroppedHelp, "malformed", &cluster::ClusterCounters::dropped_malformed},
    {kDropped, kDroppedHelp, "other_version", &cluster::ClusterCounters::dropped_other_version},
    {kDropped, kDroppedHelp, "forged", &cluster::ClusterCounters::dropped_forged},
    {kDropped, kDroppedHelp, "replayed", &cluster::ClusterCounters::dropped_replayed},
    {kDropped, kDroppedHelp, "not_acquainted", &cluster::ClusterCounters::dropped_not_acquainted},
    {"queen_cluster_hints_sent_total", "Partitions told to other brokers.", "",
     &cluster::ClusterCounters::hints_sent},
    {"queen_cluster_hints_received_total", "Partitions told by other brokers.", "",
     &cluster::ClusterCounters::hints_received},
});

double CountPeers(const cluster::Cluster& cluster, cluster::PeerState state) {
  const auto peers = cluster.peers();
  return static_cast<double>(
      std::count_if(peers.begin(), peers.end(),
                    [state](const cluster::PeerStatus& peer) { return peer.state == state; }));
}

}  // namespace

void RegisterProcess(metrics::Registry& registry, std::string_view version) {
  registry.AddComputed(Kind::kGauge, "queen_build_info", "Always 1; its label is the version.",
                       [] { return 1.0; }, {{"version", std::string(version)}});
  metrics::RegisterProcessMetrics(registry);
}

void RegisterBudgets(metrics::Registry& registry, const http::Budgets& budgets) {
  registry.AddComputed(
      Kind::kGauge, "queen_http_connections_limit", "Most open connections.",
      [&budgets] { return static_cast<double>(budgets.connections.connections_max()); });
  registry.AddComputed(Kind::kGauge, "queen_http_request_bytes",
                       "Bytes of requests in memory: arriving, or not answered.",
                       [&budgets] { return static_cast<double>(budgets.requests.taken()); });
  registry.AddComputed(Kind::kGauge, "queen_http_reply_bytes",
                       "Bytes of replies in memory: being made, or not taken by their clients.",
                       [&budgets] { return static_cast<double>(budgets.replies.held()); });
}

void RegisterTls(metrics::Registry& registry,
                 const std::shared_ptr<const tls::Certificates>& certificates) {
  constexpr const char* kReloads = "queen_tls_reloads_total";
  constexpr const char* kHelp = "Times that changed TLS files were read, by whether they are used.";
  registry.AddComputed(Kind::kGauge, "queen_tls_certificate_expires_seconds",
                       "When the broker's certificate ends, in seconds since 1970; 0 without TLS.",
                       [certificates] {
                         if (!certificates) return 0.0;
                         return static_cast<double>(certificates->current()->expires_at());
                       });
  registry.AddComputed(
      Kind::kCounter, kReloads, kHelp,
      [certificates] { return certificates ? static_cast<double>(certificates->reloads()) : 0.0; },
      {{"result", "used"}});
  registry.AddComputed(Kind::kCounter, kReloads, kHelp,
                       [certificates] {
                         return certificates ? static_cast<double>(certificates->failed_reloads())
                                             : 0.0;
                       },
                       {{"result", "failed"}});
}

void RegisterClientLimits(metrics::Registry& registry, const http::ClientLimits& limits) {
  constexpr const char* kRefused = "queen_http_client_refusals_total";
  constexpr const char* kHelp =
      "What was refused because its client is over a limit, by the limit.";
  registry.AddComputed(Kind::kCounter, kRefused, kHelp,
                       [&limits] { return static_cast<double>(limits.refused_requests()); },
                       {{"limit", "requests"}});
  registry.AddComputed(Kind::kCounter, kRefused, kHelp,
                       [&limits] { return static_cast<double>(limits.refused_bytes()); },
                       {{"limit", "bytes"}});
  registry.AddComputed(Kind::kCounter, kRefused, kHelp,
                       [&limits] { return static_cast<double>(limits.refused_connections()); },
                       {{"limit", "connections"}});
  registry.AddComputed(Kind::kGauge, "queen_http_clients_limited",
                       "Clients whose requests are counted against a limit.",
                       [&limits] { return static_cast<double>(limits.clients()); });
}

void RegisterAudit(metrics::Registry& registry, const admin::AuditTrail& audit) {
  constexpr const char* kEntries = "queen_audit_entries_total";
  constexpr const char* kHelp = "Entries of the audit trail, by whether they are in its table.";
  registry.AddComputed(Kind::kCounter, kEntries, kHelp,
                       [&audit] { return static_cast<double>(audit.stored()); },
                       {{"result", "stored"}});
  registry.AddComputed(Kind::kCounter, kEntries, kHelp,
                       [&audit] { return static_cast<double>(audit.dropped()); },
                       {{"result", "dropped"}});
  registry.AddComputed(Kind::kGauge, "queen_audit_entries_waiting",
                       "Entries of the audit trail that are not in its table yet.",
                       [&audit] { return static_cast<double>(audit.waiting()); });
}

void RegisterDelivered(metrics::Registry& registry, const state::DeliveredIndex& delivered) {
  constexpr const char* kLookups = "queen_delivered_lookups_total";
  constexpr const char* kHelp = "Acked messages looked for in the index of delivered ones.";
  registry.AddComputed(Kind::kCounter, kLookups, kHelp,
                       [&delivered] { return static_cast<double>(delivered.lookups().hits); },
                       {{"result", "hit"}});
  registry.AddComputed(Kind::kCounter, kLookups, kHelp,
                       [&delivered] { return static_cast<double>(delivered.lookups().misses); },
                       {{"result", "miss"}});
  registry.AddComputed(Kind::kGauge, "queen_delivered_messages",
                       "Messages in the index of delivered ones.",
                       [&delivered] { return static_cast<double>(delivered.size()); });
}

void RegisterMaintenance(metrics::Registry& registry, const state::Maintenance& maintenance) {
  constexpr const char* kPaused = "queen_maintenance_paused";
  constexpr const char* kHelp = "1 while maintenance pauses it.";
  registry.AddComputed(Kind::kGauge, kPaused, kHelp,
                       [&maintenance] { return maintenance.push() ? 1.0 : 0.0; },
                       {{"operation", "push"}});
  registry.AddComputed(Kind::kGauge, kPaused, kHelp,
                       [&maintenance] { return maintenance.pop() ? 1.0 : 0.0; },
                       {{"operation", "pop"}});
}

void RegisterBuffer(metrics::Registry& registry, const buffer::FileBuffer& buffer) {
  for (const BufferRow& row : kBufferRows) {
    registry.AddComputed(row.kind, row.name, row.help,
                         [&buffer, read = row.read] { return read(buffer.stats()); });
  }
}

void RegisterCluster(metrics::Registry& registry, const cluster::Cluster& cluster) {
  for (const ClusterRow& row : kClusterRows) {
    metrics::Labels labels;
    if (row.reason[0] != '\0') labels.emplace_back("reason", row.reason);
    registry.AddComputed(
        Kind::kCounter, row.name, row.help,
        [&cluster, count = row.count] {
          return static_cast<double>((cluster.counters().*count).load());
        },
        std::move(labels));
  }
  constexpr const char* kPeers = "queen_cluster_peers";
  constexpr const char* kHelp = "Other brokers by whether they are heard.";
  registry.AddComputed(Kind::kGauge, kPeers, kHelp,
                       [&cluster] { return CountPeers(cluster, cluster::PeerState::kAlive); },
                       {{"state", "alive"}});
  registry.AddComputed(Kind::kGauge, kPeers, kHelp,
                       [&cluster] { return CountPeers(cluster, cluster::PeerState::kDead); },
                       {{"state", "dead"}});
  registry.AddComputed(Kind::kGauge, kPeers, kHelp,
                       [&cluster] { return CountPeers(cluster, cluster::PeerState::kUnknown); },
                       {{"state", "unknown"}});
}

}  // namespace queen::observe
