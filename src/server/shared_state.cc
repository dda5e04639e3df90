#include "server/shared_state.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/json_writer.h"
#include "server/worker.h"

namespace queen::server {
namespace {

using cluster::ClusterCounters;
using cluster::PeerState;
using cluster::PeerStatus;

// Groups with pops that wait, by queue and name. Of these the first are listed and all are counted:
// the answer stays small however many there are.
struct WaitingGroups {
  static constexpr size_t kListedMax = 100;

  std::map<std::pair<std::string, std::string>, size_t> listed;
  size_t groups = 0;
  size_t pops = 0;

  void Add(const std::string& queue, const std::string& group, size_t waiting) {
    ++groups;
    pops += waiting;
    List({queue, group}, waiting);
  }
  // REQUIRES: `other` is of another sidecar, and so of other queues
  void Add(const WaitingGroups& other) {
    groups += other.groups;
    pops += other.pops;
    for (const auto& [names, waiting] : other.listed) List(names, waiting);
  }

 private:
  void List(const std::pair<std::string, std::string>& names, size_t waiting) {
    listed[names] += waiting;
    if (listed.size() > kListedMax) listed.erase(std::prev(listed.end()));
  }
};

// What one sidecar says of itself.
struct SidecarReport {
  state::BackoffStats backoff;
  WaitingGroups waiting;
  int64_t partitions_cached = 0;
  int64_t segment_bytes_cached = 0;
  bool database_up = false;
};

SidecarReport ReportOf(sidecar::Sidecar& sidecar) {
  SidecarReport report;
  report.backoff = sidecar.pop().backoff();
  sidecar.pop().ForEachAwaited(
      [&report](const std::string& queue, const std::string& group, size_t waiting) {
        report.waiting.Add(queue, group, waiting);
      });
  report.partitions_cached = static_cast<int64_t>(sidecar.push().partitions_known());
  report.segment_bytes_cached = static_cast<int64_t>(sidecar.cache().bytes());
  report.database_up = sidecar.database_up();
  return report;
}

void WriteSidecars(JsonWriter& writer, const std::vector<SidecarReport>& reports) {
  state::BackoffStats backoff;
  int64_t partitions = 0;
  int64_t segment_bytes = 0;
  WaitingGroups waiting_groups;
  for (const SidecarReport& report : reports) {
    backoff.groups_tracked += report.backoff.groups_tracked;
    backoff.groups_in_flight += report.backoff.groups_in_flight;
    backoff.groups_backed_off += report.backoff.groups_backed_off;
    partitions += report.partitions_cached;
    segment_bytes += report.segment_bytes_cached;
    waiting_groups.Add(report.waiting);
  }
  writer.Field("local_sidecars", static_cast<int64_t>(reports.size()));
  writer.Key("group_backoff");
  writer.BeginObject();
  writer.Field("groups_tracked", backoff.groups_tracked);
  writer.Field("groups_in_flight", backoff.groups_in_flight);
  writer.Field("groups_backed_off", backoff.groups_backed_off);
  writer.EndObject();
  writer.Key("caches");
  writer.BeginObject();
  writer.Field("partition_ids", partitions);
  writer.Field("segment_bytes", segment_bytes);
  writer.EndObject();
  writer.Key("consumer_presence");
  writer.BeginArray();
  for (const auto& [names, waiting] : waiting_groups.listed) {
    writer.BeginObject();
    writer.Field("queue", names.first);
    writer.Field("consumerGroup", names.second);
    writer.Field("waiting", static_cast<int64_t>(waiting));
    writer.EndObject();
  }
  writer.EndArray();
  writer.Field("waiting_groups", static_cast<int64_t>(waiting_groups.groups));
  writer.Field("waiting_pops", static_cast<int64_t>(waiting_groups.pops));
}

const char* NameOf(PeerState state) {
  switch (state) {
    case PeerState::kUnknown:
      return "unknown";
    case PeerState::kAlive:
      return "alive";
    case PeerState::kDead:
      return "dead";
    case PeerState::kSelf:
      return "self";
  }
  return "unknown";
}

int64_t CountPeers(const std::vector<PeerStatus>& peers, PeerState state) {
  return std::count_if(peers.begin(), peers.end(),
                       [state](const PeerStatus& peer) { return peer.state == state; });
}

void WritePeers(JsonWriter& writer, const std::vector<PeerStatus>& peers) {
  writer.Key("peers");
  writer.BeginArray();
  for (const PeerStatus& peer : peers) {
    writer.BeginObject();
    writer.Field("address", peer.address);
    writer.Field("name", peer.name);
    writer.Field("state", NameOf(peer.state));
    writer.Field("configured", peer.named);
    writer.Key("last_heard_ms_ago");
    if (peer.heard_ms_ago < 0) {
      writer.Null();
    } else {
      writer.Int(peer.heard_ms_ago);
    }
    writer.Field("waits_for", peer.waits_for);
    writer.EndObject();
  }
  writer.EndArray();
}

void WriteCounters(JsonWriter& writer, const ClusterCounters& counters) {
  writer.Key("udp");
  writer.BeginObject();
  writer.Field("packets_sent", counters.packets_sent.load());
  writer.Field("packets_refused", counters.packets_refused.load());
  writer.Field("packets_received", counters.packets_received.load());
  writer.Key("packets_dropped");
  writer.BeginObject();
  writer.Field("truncated", counters.dropped_truncated.load());
  writer.Field("malformed", counters.dropped_malformed.load());
  writer.Field("other_version", counters.dropped_other_version.load());
  writer.Field("forged", counters.dropped_forged.load());
  writer.Field("replayed", counters.dropped_replayed.load());
  writer.Field("not_acquainted", counters.dropped_not_acquainted.load());
  writer.EndObject();
  writer.EndObject();
  writer.Key("hints");
  writer.BeginObject();
  writer.Field("sent", counters.hints_sent.load());
  writer.Field("received", counters.hints_received.load());
  writer.Field("left_out", counters.hints_left_out.load());
  writer.EndObject();
}

std::string Write(const Shared& shared, const std::vector<SidecarReport>& reports) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Field("enabled", shared.cluster != nullptr);
  WriteSidecars(writer, reports);
  writer.Key("maintenance");
  writer.BeginObject();
  writer.Field("push", shared.maintenance.push());
  writer.Field("pop", shared.maintenance.pop());
  writer.EndObject();
  if (shared.cluster != nullptr) {
    writer.Field("server_id", shared.cluster->session());
    writer.Field("udp_port", shared.cluster->port());
    WritePeers(writer, shared.cluster->peers());
    WriteCounters(writer, shared.cluster->counters());
  } else {
    WritePeers(writer, {});
  }
  writer.EndObject();
  return out;
}

}  // namespace

std::string SummarizeSharedState(const Shared& shared) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Field("enabled", shared.cluster != nullptr);
  writer.Field("local_sidecars", static_cast<int64_t>(shared.shards.shards.size()));
  if (shared.cluster != nullptr) {
    const std::vector<PeerStatus> peers = shared.cluster->peers();
    writer.Field("peers_alive", CountPeers(peers, PeerState::kAlive));
    writer.Field("peers_dead", CountPeers(peers, PeerState::kDead));
  }
  writer.EndObject();
  return out;
}

void DescribeSharedState(const Shared& shared, Loop& here, api::SharedStateDone done) {
  struct Gathering {
    std::vector<SidecarReport> reports;
    size_t left = 0;
    api::SharedStateDone done;
  };
  auto gathering = std::make_shared<Gathering>();
  const auto& shards = shared.shards.shards;
  gathering->reports.resize(shards.size());
  gathering->left = shards.size();
  gathering->done = std::move(done);
  for (size_t place = 0; place < shards.size(); ++place) {
    shards[place].loop->Post(
        [&shared, &here, gathering, place, sidecar = shards[place].sidecar]() mutable {
          here.Post([&shared, gathering = std::move(gathering), place,
                     report = ReportOf(*sidecar)]() mutable {
            gathering->reports[place] = std::move(report);
            if (--gathering->left == 0) gathering->done(Write(shared, gathering->reports));
          });
        });
  }
}

}  // namespace queen::server
