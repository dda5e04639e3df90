// PeerTable: the other brokers, by address: who they are, whether they live, what they wait for.
// A pure state machine; time and random tickets come in from outside.
//
// A packet has proved by its HMAC that a broker made it; the table decides whether it is new:
//
//   1. Each start of a process is a session with a random id. Each receiver gives each session it
//      hears of a random ticket, and acts only on packets that show it. A packet recorded before
//      the receiver started, or before it forgot the session, shows none or another one.
//   2. Within a session the sequence number decides (replay_window.h).
//   3. A ticket travels in the receiver's own heartbeats, and names the session it is for. So a
//      broker that has restarted is heard after one exchange, without clocks that agree:
//
//          A (new session)  --- ticket 0 --------------------------->  B  hello: acts on nothing
//          A                <-- "session A shows t" -----------------  B  answers
//          A                --- ticket t, "session B shows u" ------>  B  established
//          A  established   <-- ticket u ----------------------------  B
//
//   a peer is   unknown  an address that somebody named; never heard of, or hello only
//               alive    established, and heard of in the last kDeadAfterMs
//               dead     established once, and silent since then
//               self     this process answers there
//
// Addresses are those that the configured names resolve to, and those of brokers that know ours
// while we do not know theirs. The latter are forgotten some time after they have died, and before
// that when their place is needed.
//
// The address of a packet proves nothing: somebody who has recorded one sends it from any. So an
// address that is neither named nor alive is only answered, never spoken to unasked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/packet.h"
#include "cluster/replay_window.h"

namespace queen::cluster {

enum class PeerState { kUnknown, kAlive, kDead, kSelf };

struct Peer {
  // A session that has not shown its ticket yet.
  struct Candidate {
    SessionId session{};
    uint64_t ticket = 0;
  };

  std::string address;  // "host:port"
  size_t slot = 0;      // below kPeersMax, its own as long as it is in the table
  bool named = false;   // by the configuration
  PeerState state = PeerState::kUnknown;
  std::string name;  // what it calls itself

  std::optional<SessionId> session;  // the established one
  uint64_t ticket_given = 0;         // what it must show
  ReplayWindow window;
  std::vector<Candidate> candidates;
  SessionId last_session{};   // the last heard of, whatever became of it; zeros: none
  uint64_t ticket_shown = 0;  // what we show; 0: none yet

  int64_t heard_ms = 0;  // the last packet that was accepted; 0: never
  int64_t self_until_ms = 0;
  int64_t replies_ms = 0;  // when the present second of replies began
  int replies = 0;         // hellos answered in it

  // What its consumers wait for, by part.
  std::map<uint16_t, std::vector<Presence::Entry>> presence;
  uint16_t presence_parts = 0;
  bool waits_for_everything = false;
  // What came on top, and until when it counts if no part takes it up.
  std::map<Presence::Entry, int64_t> presence_added;

  // How many (queue, group)s it waits for.
  size_t PresenceSize() const;
  // Whether heartbeats go to it each second.
  bool IsSpokenTo() const {
    return state == PeerState::kAlive || (named && state != PeerState::kSelf);
  }
};

// What is to be done with a packet.
enum class Verdict {
  kAccepted,     // act on it
  kEstablished,  // the same, and answer it: it is the first of its session
  kHello,        // act on nothing, answer with a heartbeat
  kIgnored,      // as kHello, but it was answered often enough
  kSelf,         // this process sent it
  kReplayed,     // it was accepted before
  kTooMany,      // no room for another peer
};

class PeerTable {
 public:
  static constexpr int64_t kHeartbeatMs = 1'000;
  static constexpr int64_t kDeadAfterMs = 5'000;
  static constexpr int64_t kForgetAfterMs = 60'000;  // a dead one that is not named any more
  static constexpr int64_t kSelfMs = 30'000;         // then it is looked again
  static constexpr int64_t kAddedMs = 2'500;         // more than two heartbeats
  static constexpr int kHelloRepliesPerSecond = 10;
  static constexpr size_t kPeersMax = 64;
  static constexpr size_t kCandidatesMax = 4;

  PeerTable(const SessionId& self, std::function<uint64_t()> make_ticket)
      : self_(self), make_ticket_(std::move(make_ticket)) {}

  // The addresses that the configured names have now. Others stay while they live.
  void SetNamed(const std::vector<std::string>& addresses, int64_t now_ms);
  // A packet came whose HMAC is right. May change the state of its peer, not its presence.
  Verdict Receive(const std::string& from, const PacketHeader& header, int64_t now_ms);
  // The heartbeat in a packet that was kAccepted, kEstablished, kHello or kIgnored.
  void TakeHeartbeat(const std::string& from, Verdict verdict, const Heartbeat& beat);
  // Of a packet that was accepted; whether anything changed.
  bool TakePresence(const std::string& from, const Presence& presence);
  bool TakePresence(const std::string& from, const PresenceAdded& added, int64_t now_ms);
  // Time passes: the silent die, the forgotten leave. Whether any did.
  bool Tick(int64_t now_ms);

  // What to say to a peer about tickets in a heartbeat.
  Heartbeat HeartbeatFor(const Peer& peer) const;

  Peer* Find(const std::string& address);
  const std::map<std::string, Peer>& peers() const { return peers_; }
  size_t alive() const;

 private:
  Peer* FindOrAdd(const std::string& address);
  void MakeRoom();
  Verdict Hello(Peer& peer, const SessionId& session, int64_t now_ms);
  void Establish(Peer& peer, const Peer::Candidate& candidate);
  static void DropPresence(Peer& peer);

  const SessionId self_;
  const std::function<uint64_t()> make_ticket_;
  std::map<std::string, Peer> peers_;
};

}  // namespace queen::cluster
