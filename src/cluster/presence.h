// Who waits for what. LocalPresence: the (queue, group)s that consumers of this process wait for,
// or did a moment ago, as the peers are told. Interest: the same of the peers, turned round: who is
// to hear of a push or of a lease that has ended.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cluster/hint_batch.h"
#include "cluster/packet.h"
#include "cluster/peer_table.h"

namespace queen::cluster {

// What is new is told at once, everything each second. The amount is bounded, however many wait:
// more than kEntriesMax are told as their queues, with any group, and more queues than that as
// everything.
class LocalPresence {
 public:
  // A consumer that was served comes back; it is believed to wait meanwhile.
  static constexpr int64_t kLingerMs = 2'500;
  static constexpr size_t kEntriesPerPart = 60;
  static constexpr size_t kPartsMax = 16;
  static constexpr size_t kEntriesMax = kEntriesPerPart * kPartsMax;

  // A consumer waits. True when the peers are to hear of it at once: TakeNew has it.
  bool Note(std::string_view queue, std::string_view group, int64_t now_ms);
  // Forgets those that nobody has waited for of late; whether there were any.
  bool Expire(int64_t now_ms);
  // As the peers are told: always at least one part, so that they hear of the last one's end.
  std::vector<Presence> Parts() const;
  // As Parts, for all peers: what they are told after it is what is new since then.
  std::vector<Presence> TellAll();
  // What Note has found since the last TellAll and TakeNew.
  std::vector<PresenceAdded> TakeNew();

 private:
  // More than this between two TellAll wait for the second one.
  static constexpr size_t kToldMax = 2 * kEntriesMax;

  bool TellAtOnce(const Presence::Entry& entry);
  // Nothing: there are too many.
  std::optional<std::vector<Presence::Entry>> Listed() const;

  std::map<Presence::Entry, int64_t> entries_;  // and when each was noted
  // What the peers were told by the last TellAll and since.
  bool told_everything_ = false;
  std::set<Presence::Entry> told_;
  std::vector<Presence::Entry> new_;
};

class Interest {
 public:
  // Of all peers that live.
  static Interest Of(const std::map<std::string, Peer>& peers);

  bool empty() const { return everything_ == 0 && by_queue_.empty(); }
  // Those with consumers of `queue` in a group that is not among `served`.
  PeerSet InPushed(std::string_view queue, const std::vector<std::string_view>& served) const;
  // Those with consumers of `queue` in `group`.
  PeerSet InFreed(std::string_view queue, std::string_view group) const;

 private:
  struct Queue {
    PeerSet peers = 0;  // with consumers of any group
    std::unordered_map<uint64_t, PeerSet> by_group;
  };

  void Add(const Presence::Entry& entry, PeerSet peer);

  PeerSet everything_ = 0;
  std::unordered_map<uint64_t, Queue> by_queue_;
};

}  // namespace queen::cluster
