#include "cluster/peer_table.h"

#include <algorithm>
#include <array>

namespace queen::cluster {

size_t Peer::PresenceSize() const {
  size_t size = 0;
  for (const auto& [part, entries] : presence) size += entries.size();
  return size;
}

Peer* PeerTable::Find(const std::string& address) {
  const auto known = peers_.find(address);
  return known == peers_.end() ? nullptr : &known->second;
}

// Whoever the configuration names takes the place of one that it does not name.
Peer* PeerTable::FindOrAdd(const std::string& address, bool named) {
  if (Peer* const known = Find(address)) return known;
  if (named && peers_.size() == kPeersMax) {
    const auto other = std::find_if(peers_.begin(), peers_.end(), [](const auto& item) {
      return !item.second.named && item.second.state != PeerState::kAlive;
    });
    if (other != peers_.end()) peers_.erase(other);
  }
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
    if (Peer* const peer = FindOrAdd(address, true)) peer->named = true;
  }
  Tick(now_ms);
}

Verdict PeerTable::Receive(const std::string& from, const PacketHeader& header, int64_t now_ms) {
  Peer* const peer = FindOrAdd(from, false);
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
  if (accepted) peer->name = beat.name;
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
  std::vector<Presence::Entry>& entries = peer->presence[presence.part];
  if (entries == presence.entries) return changed;
  entries = presence.entries;
  return true;
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
  }
  changed |= std::erase_if(peers_, [&](const auto& item) {
               const Peer& peer = item.second;
               if (peer.named || peer.state == PeerState::kAlive) return false;
               const int64_t last_ms = std::max(peer.heard_ms, peer.replies_ms);
               return now_ms - last_ms >= kForgetAfterMs;
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
}

}  // namespace queen::cluster
