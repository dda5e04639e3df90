#include "cluster/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace queen::cluster {
namespace {

// The same clock on every thread.
int64_t NowMs() { return static_cast<int64_t>(uv_hrtime() / 1'000'000); }

SessionId MakeSession() {
  SessionId session{};
  SecureRandomBytes(session.data(), session.size());
  return session;
}

uint64_t MakeTicket() {
  uint64_t ticket = 0;
  while (ticket == 0) SecureRandomBytes(&ticket, sizeof ticket);
  return ticket;
}

void Count(std::atomic<int64_t>& counter, size_t by = 1) {
  counter.fetch_add(static_cast<int64_t>(by), std::memory_order_relaxed);
}

}  // namespace

Cluster::Cluster(ClusterOptions options)
    : options_(std::move(options)),
      session_(MakeSession()),
      table_(session_, MakeTicket),
      resolved_(options_.peers.size()) {}

Cluster::~Cluster() = default;

Result<std::unique_ptr<Cluster>> Cluster::Open(ClusterOptions options) {
  std::unique_ptr<Cluster> cluster(new Cluster(std::move(options)));
  auto socket = UdpSocket::Bind(cluster->loop_, cluster->options_.host, cluster->options_.port);
  if (!socket.ok()) return socket.status();
  cluster->socket_ = *std::move(socket);
  cluster->port_ = cluster->socket_->port();
  return cluster;
}

void Cluster::Start(const sidecar::Shards& shards, std::function<void()> look_at_settings) {
  shards_ = &shards;
  look_at_settings_ = std::move(look_at_settings);
  {
    const std::lock_guard lock(mutex_);
    running_ = true;
  }
  thread_ = std::thread([this] {
    loop_.Post([this] { Begin(); });
    loop_.Run();
  });
}

void Cluster::Begin() {
  alive_ = std::make_shared<const bool>(true);
  socket_->Start(
      [this](std::string_view datagram, const std::string& from) { OnDatagram(datagram, from); });
  tick_ = std::make_unique<Timer>(loop_, [this] { OnTick(); });
  tick_->Start(0, PeerTable::kHeartbeatMs);
}

void Cluster::Stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
  }
  loop_.Post([this] {
    alive_.reset();
    tick_.reset();
    socket_.reset();
    loop_.Stop();
  });
  thread_.join();
}

// ---- from the sidecars

void Cluster::Pushed(std::string_view queue, std::string_view partition, PartitionId id,
                     const std::vector<std::string_view>& served) {
  const std::lock_guard lock(mutex_);
  const PeerSet peers = interest_.InPushed(queue, served);
  if (peers == 0 || !running_) return;
  batch_.AddPushed(peers, queue, id, partition);
  FlushSoon();
}

void Cluster::Freed(std::string_view queue, std::string_view partition, PartitionId id,
                    std::string_view group) {
  const std::lock_guard lock(mutex_);
  const PeerSet peers = interest_.InFreed(queue, group);
  if (peers == 0 || !running_) return;
  batch_.AddFreed(peers, queue, group, id, partition);
  FlushSoon();
}

void Cluster::Parked(std::string_view queue, std::string_view group) {
  const std::lock_guard lock(mutex_);
  if (running_ && presence_.Note(queue, group, NowMs())) FlushSoon();
}

void Cluster::QueueChanged(std::string_view queue) {
  const std::lock_guard lock(mutex_);
  if (!running_) return;
  batch_.AddQueueChanged(queue);
  FlushSoon();
}

void Cluster::MaintenanceChanged() {
  const std::lock_guard lock(mutex_);
  if (!running_) return;
  batch_.AddMaintenanceChanged();
  FlushSoon();
}

void Cluster::FlushSoon() {
  if (flush_posted_) return;
  flush_posted_ = true;
  loop_.Post([this] { Flush(); });
}

// ---- sending

void Cluster::Flush() {
  HintBatch batch;
  std::vector<PresenceAdded> added;
  {
    const std::lock_guard lock(mutex_);
    flush_posted_ = false;
    std::swap(batch, batch_);
    added = presence_.TakeNew();
  }
  if (socket_ == nullptr) return;
  for (const auto& [address, peer] : table_.peers()) {
    if (peer.state != PeerState::kAlive) continue;
    std::vector<Record> records = batch.RecordsFor(peer.slot);
    records.insert(records.end(), added.begin(), added.end());
    Send(peer, std::move(records));
  }
}

// Only who has shown our ticket hears what is waited for: other addresses may be anybody's.
void Cluster::SendHeartbeat(const Peer& peer, const std::vector<Presence>& presence) {
  Heartbeat beat = table_.HeartbeatFor(peer);
  beat.name = options_.name;
  std::vector<Record> records = {std::move(beat)};
  if (peer.state == PeerState::kAlive) {
    records.insert(records.end(), presence.begin(), presence.end());
  }
  Send(peer, std::move(records));
}

// An address that nobody named gets no more bytes than came from it: whoever sends there under
// another's address gains nothing by the answer.
void Cluster::AnswerHello(const Peer& peer, size_t bytes) {
  if (peer.named) return SendHeartbeat(peer, {});
  std::vector<Record> records = {table_.HeartbeatFor(peer)};
  if (SizeOfPacket(records) <= bytes) Send(peer, std::move(records));
}

void Cluster::Send(const Peer& peer, std::vector<Record> records) {
  size_t left_out = 0;
  for (std::vector<Record>& part : SplitRecords(std::move(records), left_out)) {
    for (const Record& record : part) {
      if (const auto* const pushed = std::get_if<MessageAvailable>(&record)) {
        Count(counters_.hints_sent, pushed->partitions.size());
      } else if (const auto* const freed = std::get_if<PartitionFree>(&record)) {
        Count(counters_.hints_sent, freed->partitions.size());
      }
    }
    const Packet packet{{session_, peer.ticket_shown, ++sequence_}, std::move(part)};
    const bool taken = socket_->Send(peer.address, EncodePacket(packet, options_.secret));
    Count(taken ? counters_.packets_sent : counters_.packets_refused);
  }
  Count(counters_.hints_left_out, left_out);
}

// ---- time

void Cluster::OnTick() {
  if (ticks_++ % kTicksPerResolve == 0) Resolve();
  if (table_.Tick(NowMs())) LearnInterest();
  AskWhoWaits();
  std::vector<Presence> presence;
  {
    const std::lock_guard lock(mutex_);
    presence_.Expire(NowMs());
    presence = presence_.TellAll();
  }
  for (const auto& [address, peer] : table_.peers()) {
    if (peer.IsSpokenTo()) SendHeartbeat(peer, presence);
  }
  Publish();
}

// Those who wait for long are noted again before they are forgotten.
void Cluster::AskWhoWaits() {
  for (const sidecar::Shards::Shard& shard : shards_->shards) {
    shard.loop->Post([this, sidecar = shard.sidecar] {
      sidecar->pop().ForEachAwaited([this](const std::string& queue, const std::string& group,
                                           size_t) { Parked(queue, group); });
    });
  }
}

void Cluster::Resolve() {
  for (size_t place = 0; place < options_.peers.size(); ++place) {
    ResolvePeer(loop_, options_.peers[place], socket_->family(), alive_,
                [this, place](std::vector<std::string> addresses) {
                  OnResolved(place, std::move(addresses));
                });
  }
}

// A name that does not resolve keeps the addresses it had.
void Cluster::OnResolved(size_t place, std::vector<std::string> addresses) {
  if (addresses.empty()) {
    log::Debug("a peer's name does not resolve", {{"host", options_.peers[place].host}});
    return;
  }
  std::sort(addresses.begin(), addresses.end());
  if (addresses == resolved_[place]) return;
  resolved_[place] = std::move(addresses);
  std::vector<std::string> all;
  for (const auto& some : resolved_) all.insert(all.end(), some.begin(), some.end());
  table_.SetNamed(all, NowMs());
  for (const std::string& address : resolved_[place]) {
    WarnIfOutOfReach(address);
    if (const Peer* const peer = table_.Find(address)) SendHeartbeat(*peer, {});
  }
  LearnInterest();
}

void Cluster::WarnIfOutOfReach(const std::string& address) {
  if (warned_of_reach_ || !socket_->is_loopback() || IsOnThisMachine(address)) return;
  warned_of_reach_ = true;
  log::Warn("a peer is on another machine, and HOST lets nobody but this one reach the broker",
            {{"peer", address}, {"host", options_.host}});
}

// ---- receiving

void Cluster::OnDatagram(std::string_view datagram, const std::string& from) {
  Count(counters_.packets_received);
  const Decoded decoded = DecodePacket(datagram, options_.secret);
  if (const auto* const fault = std::get_if<PacketFault>(&decoded)) {
    OnFault(*fault, from);
    return;
  }
  const Packet& packet = std::get<Packet>(decoded);
  const Verdict verdict = table_.Receive(from, packet.header, NowMs());
  switch (verdict) {
    case Verdict::kSelf:
      return;
    case Verdict::kReplayed:
      Count(counters_.dropped_replayed);
      return;
    case Verdict::kTooMany:
      Count(counters_.dropped_not_acquainted);
      return;
    case Verdict::kHello:
    case Verdict::kIgnored:
      Count(counters_.dropped_not_acquainted);
      break;
    case Verdict::kEstablished:
      log::Write(options_.course_level, "a broker is there", {{"address", from}});
      break;
    case Verdict::kAccepted:
      break;
  }
  for (const Record& record : packet.records) {
    if (const auto* const beat = std::get_if<Heartbeat>(&record)) {
      table_.TakeHeartbeat(from, verdict, *beat);
    }
  }
  const bool accepted = verdict == Verdict::kAccepted || verdict == Verdict::kEstablished;
  if (accepted) Act(from, packet);
  if (verdict == Verdict::kHello) AnswerHello(*table_.Find(from), datagram.size());
  if (verdict == Verdict::kEstablished) Welcome(*table_.Find(from));
}

void Cluster::Welcome(const Peer& peer) {
  std::vector<Presence> presence;
  {
    const std::lock_guard lock(mutex_);
    presence = presence_.Parts();
  }
  SendHeartbeat(peer, presence);
  LearnInterestSoon();
}

void Cluster::OnFault(PacketFault fault, const std::string& from) {
  switch (fault) {
    case PacketFault::kTruncated:
      return Count(counters_.dropped_truncated);
    case PacketFault::kMalformed:
      return Count(counters_.dropped_malformed);
    case PacketFault::kOtherVersion:
      return Count(counters_.dropped_other_version);
    case PacketFault::kForged:
      log::WarnRarely("a packet's signature is wrong: brokers need the same QUEEN_SYNC_SECRET",
                      {{"from", from}});
      return Count(counters_.dropped_forged);
  }
}

void Cluster::Act(const std::string& from, const Packet& packet) {
  bool presence_changed = false;
  for (const Record& record : packet.records) {
    if (const auto* const presence = std::get_if<Presence>(&record)) {
      presence_changed |= table_.TakePresence(from, *presence);
    } else if (const auto* const added = std::get_if<PresenceAdded>(&record)) {
      presence_changed |= table_.TakePresence(from, *added, NowMs());
    } else if (const auto* const pushed = std::get_if<MessageAvailable>(&record)) {
      Look(*pushed);
    } else if (const auto* const freed = std::get_if<PartitionFree>(&record)) {
      Look(*freed);
    } else if (std::holds_alternative<cluster::QueueChanged>(record)) {
      LookAtQueues();
    } else if (std::holds_alternative<cluster::MaintenanceChanged>(record)) {
      look_at_settings_();
    }
  }
  if (presence_changed) LearnInterestSoon();
}

void Cluster::Look(const MessageAvailable& hint) {
  Count(counters_.hints_received, hint.partitions.size());
  const sidecar::Shards::Shard& owner = shards_->shards[shards_->OwnerOfQueue(hint.queue)];
  owner.loop->Post([sidecar = owner.sidecar, hint] {
    for (const HintedPartition& partition : hint.partitions) {
      sidecar->pop().OnPushed(hint.queue, partition.name, partition.id, {}, true);
    }
  });
}

void Cluster::Look(const PartitionFree& hint) {
  Count(counters_.hints_received, hint.partitions.size());
  const sidecar::Shards::Shard& owner = shards_->shards[shards_->OwnerOfQueue(hint.queue)];
  owner.loop->Post([sidecar = owner.sidecar, hint] {
    for (const HintedPartition& partition : hint.partitions) {
      sidecar->pop().OnFreed(hint.queue, partition.name, partition.id, hint.group, {}, true);
    }
  });
}

// What has changed stands in the ledger: the next read of its tail tells the rings and families.
void Cluster::LookAtQueues() {
  look_at_settings_();
  for (const sidecar::Shards::Shard& shard : shards_->shards) {
    shard.loop->Post([sidecar = shard.sidecar] { sidecar->pop().AskNews(); });
  }
}

// ---- what others may ask

void Cluster::LearnInterest() {
  Interest interest = Interest::Of(table_.peers());
  {
    const std::lock_guard lock(mutex_);
    interest_ = std::move(interest);
    anyone_waits_ = !interest_.empty();
  }
  anyone_there_ = table_.alive() > 0;
  Publish();
}

void Cluster::LearnInterestSoon() {
  if (std::exchange(learn_posted_, true)) return;
  loop_.Post([this] {
    learn_posted_ = false;
    LearnInterest();
  });
}

void Cluster::Publish() {
  const int64_t now_ms = NowMs();
  std::vector<PeerStatus> peers;
  for (const auto& [address, peer] : table_.peers()) {
    PeerStatus status;
    status.address = address;
    status.name = peer.name;
    status.state = peer.state;
    status.named = peer.named;
    if (peer.heard_ms > 0) status.heard_ms_ago = now_ms - peer.heard_ms;
    status.waits_for = static_cast<int64_t>(peer.PresenceSize());
    peers.push_back(std::move(status));
  }
  const std::lock_guard lock(mutex_);
  published_ = std::move(peers);
}

std::vector<PeerStatus> Cluster::peers() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

std::string Cluster::session() const {
  std::string text;
  for (const char byte : session_) text += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return text;
}

}  // namespace queen::cluster
