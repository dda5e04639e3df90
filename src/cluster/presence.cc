#include "cluster/presence.h"

#include <algorithm>

namespace queen::cluster {

bool LocalPresence::Note(std::string_view queue, std::string_view group, int64_t now_ms) {
  const Presence::Entry entry{HashOfName(queue), HashOfName(group)};
  const auto [noted, is_new] = entries_.insert_or_assign(entry, now_ms);
  return is_new && TellAtOnce(entry);
}

bool LocalPresence::TellAtOnce(const Presence::Entry& entry) {
  const Presence::Entry whole_queue{entry.queue, kAnyGroup};
  if (told_everything_ || told_.size() >= kToldMax || told_.contains(whole_queue)) return false;
  const Presence::Entry said = told_.size() < kEntriesMax ? entry : whole_queue;
  if (!told_.insert(said).second) return false;
  new_.push_back(said);
  return true;
}

bool LocalPresence::Expire(int64_t now_ms) {
  return std::erase_if(entries_, [now_ms](const auto& entry) {
           return now_ms - entry.second > kLingerMs;
         }) > 0;
}

std::optional<std::vector<Presence::Entry>> LocalPresence::Listed() const {
  std::vector<Presence::Entry> listed;
  if (entries_.size() <= kEntriesMax) {
    for (const auto& [entry, noted_ms] : entries_) listed.push_back(entry);
    return listed;
  }
  for (const auto& [entry, noted_ms] : entries_) {
    if (!listed.empty() && listed.back().queue == entry.queue) continue;
    if (listed.size() == kEntriesMax) return std::nullopt;
    listed.push_back({entry.queue, kAnyGroup});
  }
  return listed;
}

std::vector<Presence> LocalPresence::Parts() const {
  const std::optional<std::vector<Presence::Entry>> listed = Listed();
  if (!listed) {
    Presence all;
    all.everything = true;
    return {all};
  }
  const size_t count =
      std::max<size_t>(1, (listed->size() + kEntriesPerPart - 1) / kEntriesPerPart);
  std::vector<Presence> parts(count);
  for (size_t place = 0; place < listed->size(); ++place) {
    parts[place / kEntriesPerPart].entries.push_back((*listed)[place]);
  }
  for (size_t part = 0; part < count; ++part) {
    parts[part].parts = static_cast<uint16_t>(count);
    parts[part].part = static_cast<uint16_t>(part);
  }
  return parts;
}

std::vector<Presence> LocalPresence::TellAll() {
  std::vector<Presence> parts = Parts();
  told_everything_ = parts.front().everything;
  told_.clear();
  new_.clear();
  for (const Presence& part : parts) told_.insert(part.entries.begin(), part.entries.end());
  return parts;
}

std::vector<PresenceAdded> LocalPresence::TakeNew() {
  std::vector<PresenceAdded> added;
  for (const Presence::Entry& entry : new_) {
    if (added.empty() || added.back().entries.size() == kEntriesPerPart) added.emplace_back();
    added.back().entries.push_back(entry);
  }
  new_.clear();
  return added;
}

void Interest::Add(const Presence::Entry& entry, PeerSet peer) {
  Queue& queue = by_queue_[entry.queue];
  queue.peers |= peer;
  queue.by_group[entry.group] |= peer;
}

Interest Interest::Of(const std::map<std::string, Peer>& peers) {
  Interest interest;
  for (const auto& [address, peer] : peers) {
    if (peer.state != PeerState::kAlive) continue;
    const PeerSet bit = PeerSet{1} << peer.slot;
    if (peer.waits_for_everything) interest.everything_ |= bit;
    for (const auto& [part, entries] : peer.presence) {
      for (const Presence::Entry& entry : entries) interest.Add(entry, bit);
    }
    for (const auto& [entry, until_ms] : peer.presence_added) interest.Add(entry, bit);
  }
  return interest;
}

PeerSet Interest::InPushed(std::string_view queue,
                           const std::vector<std::string_view>& served) const {
  const auto known = by_queue_.find(HashOfName(queue));
  if (known == by_queue_.end()) return everything_;
  if (served.empty()) return everything_ | known->second.peers;
  std::vector<uint64_t> served_hashes;
  served_hashes.reserve(served.size());
  for (const std::string_view name : served) served_hashes.push_back(HashOfName(name));
  PeerSet peers = 0;
  for (const auto& [group, waiting] : known->second.by_group) {
    const bool is_served =
        std::find(served_hashes.begin(), served_hashes.end(), group) != served_hashes.end();
    if (!is_served) peers |= waiting;
    if (peers == known->second.peers) break;  // there are no others
  }
  return everything_ | peers;
}

PeerSet Interest::InFreed(std::string_view queue, std::string_view group) const {
  PeerSet peers = everything_;
  const auto known = by_queue_.find(HashOfName(queue));
  if (known == by_queue_.end()) return peers;
  for (const uint64_t waited : {HashOfName(group), kAnyGroup}) {
    const auto waiting = known->second.by_group.find(waited);
    if (waiting != known->second.by_group.end()) peers |= waiting->second;
  }
  return peers;
}

}  // namespace queen::cluster
