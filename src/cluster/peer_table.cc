#include "cluster/peer_table.h"

#include <algorithm>
#include <array>
#include <set>

namespace queen::cluster {

namespace {

// When a peer last said anything.
int64_t LastMs(const Peer& peer) { return std::max(peer.heard_ms, peer.replies_ms); }

}  // namespace

size_t Peer::PresenceSize() const {
  std::set<Presence::Entry> all;
  for (const auto& [part, entries] : presence) all.insert(entries.begin(), entries.end());
  for (const auto& [entry, until_ms] : presence_added) all.insert(entry);
  return all.size();
}

Peer* PeerTable::Find(const std::string& address) {
  const auto known = peers_.find(address);
  return known == peers_.end() ? nullptr : &known->second;
}

// Whoever comes takes the place of one that is neither named nor alive: of the one that has been
// silent for longest, so that two who are about to meet are not parted by strangers.
void PeerTable::MakeRoom() {
  auto oldest = peers_.end();
  for (auto item = peers_.begin(); item != peers_.end(); ++item) {
    const Peer& peer = item->second;
    if (peer.named || peer.state == PeerState::kAlive) continue;
    if (oldest == peers_.end() || LastMs(peer) < LastMs(oldest->second)) oldest = item;
  }
  if (oldest != peers_.end()) peers_.erase(oldest);
}

Peer* PeerTable::FindOrAdd(const std::string& address) {
  if (Peer* const known = Find(address)) return known;
  if (peers_.size() == kPeersMax) MakeRoom();
  std::array<bool, kPeersMax> taken{};
  for (const auto& [other, peer] : peers_) taken[peer.slot] = true;
  const auto free = std::find(taken.begin(), taken.end(), false);
  if (free == taken.end()) return nullptr;
  Peer& peer = peers_[address];
  peer.address = address;
  peer.slot = static_cast<size_t>(free - taken.begin());
  return &peer;
}

void PeerTable::SetNamed(const std::vector<std::string>& addresses, int64_t now_ms) {
  for (auto& [address, peer] : peers_) {
    peer.named = std::find(addresses.begin(), addresses.end(), address) != addresses.end();
  }
  for (const std::string& address : addresses) {
    if (Peer* const peer = FindOrAdd(address)) peer->named = true;
  }
  Tick(now_ms);
}

Verdict PeerTable::Receive(const std::string& from, const PacketHeader& header, int64_t now_ms) {
  Peer* const peer = FindOrAdd(from);
  if (peer == nullptr) return Verdict::kTooMany;
  if (header.session == self_) {
    // A packet of ours that somebody sends back must not silence a peer that lives there.
    if (peer->state != PeerState::kAlive) {
      peer->state = PeerState::kSelf;
      peer->self_until_ms = now_ms + kSelfMs;
    }
    return Verdict::kSelf;
  }
  if (peer->session == header.session && header.ticket == peer->ticket_given) {
    if (!peer->window.Take(header.sequence)) return Verdict::kReplayed;
    peer->state = PeerState::kAlive;
    peer->heard_ms = now_ms;
    peer->last_session = header.session;
    return Verdict::kAccepted;
  }
  const auto candidate = std::find_if(
      peer->candidates.begin(), peer->candidates.end(), [&](const Peer::Candidate& known) {
        return known.session == header.session && known.ticket == header.ticket;
      });
  if (candidate == peer->candidates.end()) return Hello(*peer, header.session, now_ms);
  Establish(*peer, *candidate);
  peer->window.Take(header.sequence);
  peer->state = PeerState::kAlive;
  peer->heard_ms = now_ms;
  return Verdict::kEstablished;
}

// An established session that shows another ticket than its own has only to be told it again.
Verdict PeerTable::Hello(Peer& peer, const SessionId& session, int64_t now_ms) {
  peer.last_session = session;
  const bool known = peer.session == session ||
                     std::any_of(peer.candidates.begin(), peer.candidates.end(),
                                 [&](const Peer::Candidate& c) { return c.session == session; });
  if (!known) {
    if (peer.candidates.size() == kCandidatesMax) peer.candidates.erase(peer.candidates.begin());
    peer.candidates.push_back({session, make_ticket_()});
  }
  if (now_ms - peer.replies_ms >= 1'000) {
    peer.replies_ms = now_ms;
    peer.replies = 0;
  }
  return ++peer.replies <= kHelloRepliesPerSecond ? Verdict::kHello : Verdict::kIgnored;
}

void PeerTable::Establish(Peer& peer, const Peer::Candidate& candidate) {
  peer.session = candidate.session;
  peer.last_session = candidate.session;
  peer.ticket_given = candidate.ticket;
  peer.window = ReplayWindow();
  peer.candidates.clear();
  DropPresence(peer);
}

void PeerTable::TakeHeartbeat(const std::string& from, Verdict verdict, const Heartbeat& beat) {
  Peer* const peer = Find(from);
  if (peer == nullptr || beat.to != self_ || beat.ticket == 0) return;
  const bool accepted = verdict == Verdict::kAccepted || verdict == Verdict::kEstablished;
  // Whoever is established says it in packets that are accepted. A hello is the way to begin.
  if (!accepted && peer->state == PeerState::kAlive) return;
  peer->ticket_shown = beat.ticket;
  // Answers to strangers have none.
  if (accepted && !beat.name.empty()) peer->name = beat.name;
}

bool PeerTable::TakePresence(const std::string& from, const Presence& presence) {
  Peer* const peer = Find(from);
  if (peer == nullptr) return false;
  bool changed = peer->waits_for_everything != presence.everything;
  peer->waits_for_everything = presence.everything;
  if (peer->presence_parts != presence.parts) {
    peer->presence.clear();
    peer->presence_parts = presence.parts;
    changed = true;
  }
  for (const Presence::Entry& entry : presence.entries) peer->presence_added.erase(entry);
  std::vector<Presence::Entry>& entries = peer->presence[presence.part];
  if (entries == presence.entries) return changed;
  entries = presence.entries;
  return true;
}

bool PeerTable::TakePresence(const std::string& from, const PresenceAdded& added, int64_t now_ms) {
  Peer* const peer = Find(from);
  if (peer == nullptr) return false;
  for (const Presence::Entry& entry : added.entries) {
    peer->presence_added[entry] = now_ms + kAddedMs;
  }
  return !added.entries.empty();
}

bool PeerTable::Tick(int64_t now_ms) {
  bool changed = false;
  for (auto& [address, peer] : peers_) {
    if (peer.state == PeerState::kAlive && now_ms - peer.heard_ms >= kDeadAfterMs) {
      peer.state = PeerState::kDead;
      DropPresence(peer);
      changed = true;
    }
    if (peer.state == PeerState::kSelf && now_ms >= peer.self_until_ms) {
      peer.state = PeerState::kUnknown;
      changed = true;
    }
    changed |= std::erase_if(peer.presence_added,
                             [&](const auto& added) { return now_ms >= added.second; }) > 0;
  }
  changed |= std::erase_if(peers_, [&](const auto& item) {
               const Peer& peer = item.second;
               if (peer.named || peer.state == PeerState::kAlive) return false;
               return now_ms - LastMs(peer) >= kForgetAfterMs;
             }) > 0;
  return changed;
}

Heartbeat PeerTable::HeartbeatFor(const Peer& peer) const {
  Heartbeat beat;
  beat.to = peer.last_session;
  if (peer.session == peer.last_session) {
    beat.ticket = peer.ticket_given;
  } else {
    for (const Peer::Candidate& candidate : peer.candidates) {
      if (candidate.session == peer.last_session) beat.ticket = candidate.ticket;
    }
  }
  return beat;
}

size_t PeerTable::alive() const {
  return static_cast<size_t>(std::count_if(peers_.begin(), peers_.end(), [](const auto& item) {
    return item.second.state == PeerState::kAlive;
  }));
}

void PeerTable::DropPresence(Peer& peer) {
  peer.presence.clear();
  peer.presence_parts = 0;
  peer.waits_for_everything = false;
  peer.presence_added.clear();
}

}  // namespace queen::cluster
