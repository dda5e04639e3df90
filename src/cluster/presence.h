// Who waits for what. LocalPresence: the (queue, group)s that consumers of this process wait for,
// or did a moment ago, as the peers are told. Interest: the same of the peers, turned round: who is
// to hear of a push or of a lease that has ended.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cluster/hint_batch.h"
#include "cluster/packet.h"
#include "cluster/peer_table.h"

namespace queen::cluster {

class LocalPresence {
 public:
  // A consumer that was served comes back; it is believed to wait meanwhile.
  static constexpr int64_t kLingerMs = 2'500;
  static constexpr size_t kEntriesPerPart = 60;
  static constexpr size_t kPartsMax = 64;

  // A consumer waits. True when none did before.
  bool Note(std::string_view queue, std::string_view group, int64_t now_ms);
  // Forgets those that nobody has waited for of late; whether there were any.
  bool Expire(int64_t now_ms);
  // As the peers are told: always at least one part, so that they hear of the last one's end.
  std::vector<Presence> Parts() const;

  struct Waited {
    std::string queue;
    std::string group;
    int64_t noted_ms = 0;
  };
  const std::map<Presence::Entry, Waited>& entries() const { return entries_; }

 private:
  std::map<Presence::Entry, Waited> entries_;
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
  struct Group {
    uint64_t group = 0;
    PeerSet peers = 0;
  };
  PeerSet everything_ = 0;
  std::unordered_map<uint64_t, std::vector<Group>> by_queue_;
};

}  // namespace queen::cluster
