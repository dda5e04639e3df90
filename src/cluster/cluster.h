// Cluster: this broker among the others of its database. It tells them by UDP what their consumers
// may want to know, and lets the sidecars look when the others tell something. PostgreSQL is the
// truth; nothing that is heard is believed, it only makes somebody look there. If every packet is
// lost, consumers are served by their own checks of the database (sidecar/pop_wait.cc).
//
//   told                     to whom                                    the receiver
//   MESSAGE_AVAILABLE        peers with consumers that wait for the     tries to lease it
//                            queue, in a group nobody serves here
//   PARTITION_FREE           peers with consumers of that group         tries to lease it
//   QUEUE_CHANGED            all                                        reads the tail and the
//   limits MAINTENANCE_CHANGED      all                                        reads the flags
//   heartbeat                named or alive, each second                -
//   presence                 alive, each second; what is new, at once   -
//
// One thread with a loop of its own, which has the socket and the table of peers. The sidecars call
// it from their threads: what they tell is gathered under a mutex and sent in the thread's next
// turn, all of it together.
//
//   Open --> bound --Start--> running --Stop--> over
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "cluster/hint_batch.h"
#include "cluster/peer_table.h"
#include "cluster/presence.h"
#include "cluster/udp_socket.h"
#include "config/peer_list.h"
#include "loop/timer.h"
#include "sidecar/engine_router.h"
#include "sidecar/peer_hints.h"

namespace queen::cluster {

struct ClusterOptions {
  std::string host;  // numeric
  int port = 0;
  std::vector<config::PeerName> peers;
  std::string secret;
  std::string name;                             // of this broker, for people
  log::Level course_level = log::Level::kInfo;  // of lines about the course of things
};

// Written by the thread, read by any.
struct ClusterCounters {
  std::atomic<int64_t> packets_sent{0};
  std::atomic<int64_t> packets_refused{0};  // by the kernel
  std::atomic<int64_t> packets_received{0};
  std::atomic<int64_t> dropped_truncated{0};
  std::atomic<int64_t> dropped_malformed{0};
  std::atomic<int64_t> dropped_other_version{0};
  std::atomic<int64_t> dropped_forged{0};
  std::atomic<int64_t> dropped_replayed{0};
  std::atomic<int64_t> dropped_not_acquainted{0};  // no ticket yet, or one of another life
  std::atomic<int64_t> hints_sent{0};              // partitions, for each peer
  std::atomic<int64_t> hints_received{0};          // partitions
  std::atomic<int64_t> hints_left_out{0};          // names too long for a packet
};

struct PeerStatus {
  std::string address;
  std::string name;
  PeerState state = PeerState::kUnknown;
  bool named = false;
  int64_t heard_ms_ago = -1;  // -1: never
  int64_t waits_for = 0;      // (queue, group)s
};

class Cluster final : public sidecar::PeerHints {
 public:
  // Binds the socket.
  static Result<std::unique_ptr<Cluster>> Open(ClusterOptions options);
  ~Cluster();  // REQUIRES: never started, or stopped

  // `look_at_settings` has limits and maintenance read again; any thread. The sidecars are those
  // of this process and are running; they outlive Stop.
  void Start(const sidecar::Shards& shards, std::function<void()> look_at_settings);
  // Ends the thread. Afterwards nothing is told any more.
  void Stop();

  // Any thread:
  bool AnyoneThere() const override { return anyone_there_.load(std::memory_order_relaxed); }
  bool AnyoneWaits() const override { return anyone_waits_.load(std::memory_order_relaxed); }
  void Pushed(std::string_view queue, std::string_view partition, PartitionId id,
              const std::vector<std::string_view>& served) override;
  void Freed(std::string_view queue, std::string_view partition, PartitionId id,
             std::string_view group) override;
  void Parked(std::string_view queue, std::string_view group) override;
  void QueueChanged(std::string_view queue) override;
  void MaintenanceChanged();

  const ClusterCounters& counters() const { return counters_; }
  std::vector<PeerStatus> peers() const;
  std::string session() const;  // in hexadecimal digits
  int port() const { return port_; }

 private:
  static constexpr int kTicksPerResolve = 5;

  explicit Cluster(ClusterOptions options);

  void Begin();
  void OnTick();
  void AskWhoWaits();
  void Resolve();
  void OnResolved(size_t place, std::vector<std::string> addresses);
  void WarnIfOutOfReach(const std::string& address);
  void OnDatagram(std::string_view datagram, const std::string& from);
  void OnFault(PacketFault fault, const std::string& from);
  // The first answer to a peer that has shown its ticket.
  void Welcome(const Peer& peer);
  void Act(const std::string& from, const Packet& packet);
  void Look(const MessageAvailable& hint);
  void Look(const PartitionFree& hint);
  void LookAtQueues();
  void Flush();
  void SendHeartbeat(const Peer& peer, const std::vector<Presence>& presence);
  // `bytes` is the size of what is answered.
  void AnswerHello(const Peer& peer, size_t bytes);
  void Send(const Peer& peer, std::vector<Record> records);
  // Has what was gathered sent in the next turn of the loop. REQUIRES: mutex_ is held
  void FlushSoon();
  void LearnInterest();
  // The same, once for all that is heard in this turn of the loop.
  void LearnInterestSoon();
  void Publish();

  const ClusterOptions options_;
  const SessionId session_;
  int port_ = 0;
  Loop loop_{"cluster"};
  std::thread thread_;
  const sidecar::Shards* shards_ = nullptr;
  std::function<void()> look_at_settings_;
  ClusterCounters counters_;

  // On the loop:
  std::unique_ptr<UdpSocket> socket_;
  std::unique_ptr<Timer> tick_;
  PeerTable table_;
  std::vector<std::vector<std::string>> resolved_;  // by place in options_.peers
  std::shared_ptr<const bool> alive_;               // names asked for after it are of no use
  int64_t ticks_ = 0;
  uint64_t sequence_ = 0;
  bool learn_posted_ = false;
  bool warned_of_reach_ = false;

  std::atomic<bool> anyone_there_{false};
  std::atomic<bool> anyone_waits_{false};
  mutable std::mutex mutex_;
  // Guarded by it:
  bool running_ = false;
  Interest interest_;
  HintBatch batch_;
  LocalPresence presence_;
  bool flush_posted_ = false;
  std::vector<PeerStatus> published_;
};

}  // namespace queen::cluster
