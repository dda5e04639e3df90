#include "cluster/presence.h"

#include <algorithm>

namespace queen::cluster {

bool LocalPresence::Note(std::string_view queue, std::string_view group, int64_t now_ms) {
  const auto [entry, is_new] = entries_.try_emplace({HashOfName(queue), HashOfName(group)});
  if (is_new) {
    entry->second.queue = queue;
    entry->second.group = group;
  }
  entry->second.noted_ms = now_ms;
  return is_new;
}

bool LocalPresence::Expire(int64_t now_ms) {
  return std::erase_if(entries_, [now_ms](const auto& entry) {
           return now_ms - entry.second.noted_ms > kLingerMs;
         }) > 0;
}

std::vector<Presence> LocalPresence::Parts() const {
  const size_t count =
      std::max<size_t>(1, (entries_.size() + kEntriesPerPart - 1) / kEntriesPerPart);
  if (count > kPartsMax) {
    Presence all;
    all.everything = true;
    return {all};
  }
  std::vector<Presence> parts(count);
  size_t place = 0;
  for (const auto& [entry, waited] : entries_) {
    parts[place / kEntriesPerPart].entries.push_back(entry);
    ++place;
  }
  for (size_t part = 0; part < count; ++part) {
    parts[part].parts = static_cast<uint16_t>(count);
    parts[part].part = static_cast<uint16_t>(part);
  }
  return parts;
}

Interest Interest::Of(const std::map<std::string, Peer>& peers) {
  Interest interest;
  for (const auto& [address, peer] : peers) {
    if (peer.state != PeerState::kAlive) continue;
    const PeerSet bit = PeerSet{1} << peer.slot;
    if (peer.waits_for_everything) interest.everything_ |= bit;
    for (const auto& [part, entries] : peer.presence) {
      for (const Presence::Entry& entry : entries) {
        std::vector<Group>& groups = interest.by_queue_[entry.queue];
        const auto known = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
          return group.group == entry.group;
        });
        if (known == groups.end()) {
          groups.push_back({entry.group, bit});
        } else {
          known->peers |= bit;
        }
      }
    }
  }
  return interest;
}

PeerSet Interest::InPushed(std::string_view queue,
                           const std::vector<std::string_view>& served) const {
  PeerSet peers = everything_;
  const auto known = by_queue_.find(HashOfName(queue));
  if (known == by_queue_.end()) return peers;
  for (const Group& group : known->second) {
    const bool is_served = std::any_of(served.begin(), served.end(), [&](std::string_view name) {
      return HashOfName(name) == group.group;
    });
    if (!is_served) peers |= group.peers;
  }
  return peers;
}

PeerSet Interest::InFreed(std::string_view queue, std::string_view group) const {
  PeerSet peers = everything_;
  const auto known = by_queue_.find(HashOfName(queue));
  if (known == by_queue_.end()) return peers;
  const uint64_t hash = HashOfName(group);
  for (const Group& waited : known->second) {
    if (waited.group == hash) peers |= waited.peers;
  }
  return peers;
}

}  // namespace queen::cluster
