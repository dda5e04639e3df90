// Who is heard: two tables that talk over a wire the test holds in its hands, with a clock of its
// own.
#include "cluster/peer_table.h"

#include <gtest/gtest.h>

#include "cluster/presence.h"

namespace queen::cluster {
namespace {

SessionId SessionOf(char letter) {
  SessionId session{};
  session.fill(letter);
  return session;
}

// A broker as far as the table is concerned.
class Node {
 public:
  Node(std::string address, char session) : address_(std::move(address)) { Restart(session); }

  void Restart(char session) {
    session_ = SessionOf(session);
    sequence_ = 0;
    table_ = std::make_unique<PeerTable>(session_, [] {
      static uint64_t ticket = 1'000;
      return ++ticket;
    });
  }

  Packet HeartbeatTo(const Node& other) {
    Packet packet;
    Peer* const peer = table_->Find(other.address_);
    packet.header = {session_, peer == nullptr ? 0 : peer->ticket_shown, ++sequence_};
    Heartbeat beat = peer == nullptr ? Heartbeat{} : table_->HeartbeatFor(*peer);
    beat.name = address_;
    packet.records = {beat};
    return packet;
  }

  Verdict Hear(const std::string& from, const Packet& packet, int64_t now_ms) {
    const Verdict verdict = table_->Receive(from, packet.header, now_ms);
    for (const Record& record : packet.records) {
      if (const auto* const beat = std::get_if<Heartbeat>(&record)) {
        table_->TakeHeartbeat(from, verdict, *beat);
      }
    }
    return verdict;
  }

  PeerTable& table() { return *table_; }
  const std::string& address() const { return address_; }
  PeerState StateOf(const Node& other) { return table_->Find(other.address_)->state; }

 private:
  const std::string address_;
  SessionId session_{};
  uint64_t sequence_ = 0;
  std::unique_ptr<PeerTable> table_;
};

class PeerTableTest : public testing::Test {
 protected:
  Verdict Send(Node& from, Node& to) {
    return to.Hear(from.address(), from.HeartbeatTo(to), now_ms_);
  }
  void Meet(Node& a, Node& b) {
    EXPECT_EQ(Send(a, b), Verdict::kHello);
    EXPECT_EQ(Send(b, a), Verdict::kHello);
    EXPECT_EQ(Send(a, b), Verdict::kEstablished);
    EXPECT_EQ(Send(b, a), Verdict::kEstablished);
    EXPECT_EQ(Send(a, b), Verdict::kAccepted);
  }

  int64_t now_ms_ = 1'000'000;
  Node a_{"10.0.0.1:6633", 'a'};
  Node b_{"10.0.0.2:6633", 'b'};
};

TEST_F(PeerTableTest, TwoMeetInOneExchange) {
  Meet(a_, b_);
  EXPECT_EQ(a_.StateOf(b_), PeerState::kAlive);
  EXPECT_EQ(b_.StateOf(a_), PeerState::kAlive);
  EXPECT_EQ(a_.table().Find(b_.address())->name, b_.address());
}

TEST_F(PeerTableTest, APacketIsAcceptedOnce) {
  Meet(a_, b_);
  const Packet packet = a_.HeartbeatTo(b_);
  EXPECT_EQ(b_.Hear(a_.address(), packet, now_ms_), Verdict::kAccepted);
  EXPECT_EQ(b_.Hear(a_.address(), packet, now_ms_), Verdict::kReplayed);
}

TEST_F(PeerTableTest, WhatWasRecordedBeforeTheReceiverRestartedIsNotActedOn) {
  Meet(a_, b_);
  const Packet recorded = a_.HeartbeatTo(b_);
  b_.Restart('B');
  EXPECT_EQ(b_.Hear(a_.address(), recorded, now_ms_), Verdict::kHello);
  EXPECT_EQ(b_.Hear(a_.address(), recorded, now_ms_), Verdict::kHello);
  EXPECT_NE(b_.StateOf(a_), PeerState::kAlive);
}

TEST_F(PeerTableTest, NorAfterTheTwoHaveMetAgain) {
  Meet(a_, b_);
  const Packet recorded = a_.HeartbeatTo(b_);
  b_.Restart('B');
  EXPECT_EQ(Send(b_, a_), Verdict::kHello);
  EXPECT_EQ(Send(a_, b_), Verdict::kHello);
  EXPECT_EQ(Send(b_, a_), Verdict::kEstablished);
  EXPECT_EQ(Send(a_, b_), Verdict::kEstablished);
  EXPECT_EQ(b_.Hear(a_.address(), recorded, now_ms_), Verdict::kHello);
  EXPECT_EQ(Send(a_, b_), Verdict::kAccepted);
}

TEST_F(PeerTableTest, WhatWasRecordedBeforeTheSenderRestartedIsNotActedOn) {
  Meet(a_, b_);
  const Packet recorded = a_.HeartbeatTo(b_);
  a_.Restart('A');
  EXPECT_EQ(Send(a_, b_), Verdict::kHello);
  EXPECT_EQ(Send(b_, a_), Verdict::kHello);
  EXPECT_EQ(Send(a_, b_), Verdict::kEstablished);
  EXPECT_EQ(b_.Hear(a_.address(), recorded, now_ms_), Verdict::kHello);
  EXPECT_EQ(Send(a_, b_), Verdict::kAccepted) << "the replay has not displaced the living session";
}

TEST_F(PeerTableTest, ARestartedOneIsHeardAgainAtOnce) {
  Meet(a_, b_);
  b_.Restart('B');
  EXPECT_EQ(Send(b_, a_), Verdict::kHello);
  EXPECT_EQ(Send(a_, b_), Verdict::kHello);
  EXPECT_EQ(Send(b_, a_), Verdict::kEstablished);
  EXPECT_EQ(Send(a_, b_), Verdict::kEstablished);
  EXPECT_EQ(Send(b_, a_), Verdict::kAccepted);
}

TEST_F(PeerTableTest, ASilentOneDiesAndComesBackWithoutAnExchange) {
  Meet(a_, b_);
  now_ms_ += PeerTable::kDeadAfterMs - 1;
  EXPECT_FALSE(a_.table().Tick(now_ms_));
  now_ms_ += 1;
  EXPECT_TRUE(a_.table().Tick(now_ms_));
  EXPECT_EQ(a_.StateOf(b_), PeerState::kDead);
  EXPECT_EQ(Send(b_, a_), Verdict::kAccepted);
  EXPECT_EQ(a_.StateOf(b_), PeerState::kAlive);
}

TEST_F(PeerTableTest, ADeadOneThatNobodyNamesIsForgottenAndItsTicketWithIt) {
  Meet(a_, b_);
  const Packet recorded = b_.HeartbeatTo(a_);
  now_ms_ += PeerTable::kForgetAfterMs;
  EXPECT_TRUE(a_.table().Tick(now_ms_));
  EXPECT_EQ(a_.table().Find(b_.address()), nullptr);
  EXPECT_EQ(a_.Hear(b_.address(), recorded, now_ms_), Verdict::kHello);
  EXPECT_EQ(Send(a_, b_), Verdict::kAccepted) << "which tells the new ticket";
  EXPECT_EQ(Send(b_, a_), Verdict::kEstablished);
}

TEST_F(PeerTableTest, ANamedOneStays) {
  a_.table().SetNamed({b_.address()}, now_ms_);
  Meet(a_, b_);
  now_ms_ += PeerTable::kForgetAfterMs;
  a_.table().Tick(now_ms_);
  EXPECT_EQ(a_.StateOf(b_), PeerState::kDead);
  a_.table().SetNamed({}, now_ms_);
  EXPECT_EQ(a_.table().Find(b_.address()), nullptr);
}

TEST_F(PeerTableTest, ItKnowsItself) {
  a_.table().SetNamed({a_.address(), b_.address()}, now_ms_);
  EXPECT_EQ(Send(a_, a_), Verdict::kSelf);
  EXPECT_EQ(a_.StateOf(a_), PeerState::kSelf);
  now_ms_ += PeerTable::kSelfMs;
  a_.table().Tick(now_ms_);
  EXPECT_EQ(a_.StateOf(a_), PeerState::kUnknown) << "another broker may have the address by now";
}

TEST_F(PeerTableTest, OurOwnPacketsSentBackSilenceNobody) {
  Meet(a_, b_);
  EXPECT_EQ(a_.Hear(b_.address(), a_.HeartbeatTo(b_), now_ms_), Verdict::kSelf);
  EXPECT_EQ(a_.StateOf(b_), PeerState::kAlive);
}

TEST_F(PeerTableTest, HellosAreAnsweredABoundedNumberOfTimes) {
  int answered = 0;
  for (int i = 0; i < 100; ++i) {
    a_.Restart('c');
    answered += Send(a_, b_) == Verdict::kHello ? 1 : 0;
  }
  EXPECT_EQ(answered, PeerTable::kHelloRepliesPerSecond);
}

TEST_F(PeerTableTest, ThereIsRoomForTheNamedHoweverManyCome) {
  for (size_t i = 0; i < PeerTable::kPeersMax; ++i) {
    Node stranger("10.1.0." + std::to_string(i) + ":1", 'x');
    EXPECT_EQ(Send(stranger, b_), Verdict::kHello);
  }
  b_.table().SetNamed({a_.address()}, now_ms_);
  ASSERT_NE(b_.table().Find(a_.address()), nullptr);
  Meet(a_, b_);
}

TEST_F(PeerTableTest, ANewBrokerTakesThePlaceOfAStrangerAndOfNobodyElse) {
  b_.table().SetNamed({a_.address()}, now_ms_);
  Node known("10.3.0.1:1", 'k');
  Meet(known, b_);
  for (size_t i = 2; i < PeerTable::kPeersMax; ++i) {
    now_ms_ += 1;
    Node stranger("10.1.0." + std::to_string(i) + ":1", 'x');
    EXPECT_EQ(Send(stranger, b_), Verdict::kHello);
  }
  Node late("10.2.0.1:1", 'y');
  EXPECT_EQ(Send(late, b_), Verdict::kHello);
  EXPECT_EQ(b_.table().Find("10.1.0.2:1"), nullptr) << "the one that was silent for longest";
  EXPECT_NE(b_.table().Find("10.1.0.3:1"), nullptr);
  EXPECT_NE(b_.table().Find(a_.address()), nullptr);
  EXPECT_EQ(b_.StateOf(known), PeerState::kAlive);
  EXPECT_EQ(b_.table().peers().size(), PeerTable::kPeersMax);
}

TEST_F(PeerTableTest, ThereIsNoRoomWhereAllAreAlive) {
  for (size_t i = 0; i < PeerTable::kPeersMax; ++i) {
    Node other("10.1.0." + std::to_string(i) + ":1", 'x');
    Meet(other, b_);
  }
  EXPECT_EQ(Send(a_, b_), Verdict::kTooMany);
  EXPECT_EQ(b_.table().alive(), PeerTable::kPeersMax);
}

TEST_F(PeerTableTest, OnlyTheNamedAndTheLivingAreSpokenToUnasked) {
  a_.table().SetNamed({b_.address()}, now_ms_);
  EXPECT_TRUE(a_.table().Find(b_.address())->IsSpokenTo());
  EXPECT_EQ(Send(a_, b_), Verdict::kHello);
  EXPECT_FALSE(b_.table().Find(a_.address())->IsSpokenTo());
  EXPECT_EQ(Send(b_, a_), Verdict::kHello);
  EXPECT_EQ(Send(a_, b_), Verdict::kEstablished);
  EXPECT_TRUE(b_.table().Find(a_.address())->IsSpokenTo());

  const Packet recorded = a_.HeartbeatTo(b_);
  EXPECT_EQ(b_.Hear("10.9.0.1:1", recorded, now_ms_), Verdict::kHello);
  EXPECT_FALSE(b_.table().Find("10.9.0.1:1")->IsSpokenTo());

  now_ms_ += PeerTable::kDeadAfterMs;
  b_.table().Tick(now_ms_);
  EXPECT_FALSE(b_.table().Find(a_.address())->IsSpokenTo()) << "it names us and will be heard";
}

// ---- who waits for what

TEST_F(PeerTableTest, PresenceDecidesWhoIsTold) {
  Meet(a_, b_);
  LocalPresence waiting;
  EXPECT_TRUE(waiting.Note("orders", "billing", now_ms_));
  EXPECT_FALSE(waiting.Note("orders", "billing", now_ms_));
  for (const Presence& part : waiting.Parts()) b_.table().TakePresence(a_.address(), part);
  Interest interest = Interest::Of(b_.table().peers());
  const PeerSet a = PeerSet{1} << b_.table().Find(a_.address())->slot;
  EXPECT_EQ(interest.InPushed("orders", {}), a);
  EXPECT_EQ(interest.InPushed("orders", {"shipping"}), a);
  EXPECT_EQ(interest.InPushed("orders", {"shipping", "billing"}), 0U) << "a consumer here has it";
  EXPECT_EQ(interest.InPushed("others", {}), 0U);
  EXPECT_EQ(interest.InFreed("orders", "billing"), a);
  EXPECT_EQ(interest.InFreed("orders", "shipping"), 0U);

  now_ms_ += LocalPresence::kLingerMs + 1;
  EXPECT_TRUE(waiting.Expire(now_ms_));
  for (const Presence& part : waiting.Parts()) b_.table().TakePresence(a_.address(), part);
  EXPECT_TRUE(Interest::Of(b_.table().peers()).empty());
}

TEST_F(PeerTableTest, PresenceInPartsSurvivesTheLossOfOne) {
  Meet(a_, b_);
  LocalPresence waiting;
  for (int i = 0; i < 200; ++i) waiting.Note("q" + std::to_string(i), "g", now_ms_);
  const std::vector<Presence> parts = waiting.Parts();
  ASSERT_EQ(parts.size(), 4U);
  for (const Presence& part : parts) {
    if (part.part != 1) b_.table().TakePresence(a_.address(), part);
  }
  EXPECT_EQ(b_.table().Find(a_.address())->PresenceSize(), 140U);
  EXPECT_TRUE(b_.table().TakePresence(a_.address(), parts[1]));
  EXPECT_FALSE(b_.table().TakePresence(a_.address(), parts[1]));
  EXPECT_EQ(b_.table().Find(a_.address())->PresenceSize(), 200U);
}

TEST_F(PeerTableTest, WhatIsNewIsToldAloneAndTakenUpByTheNextWhole) {
  Meet(a_, b_);
  LocalPresence waiting;
  for (int i = 0; i < 200; ++i) waiting.Note("q" + std::to_string(i), "g", now_ms_);
  for (const Presence& part : waiting.TellAll()) b_.table().TakePresence(a_.address(), part);
  EXPECT_TRUE(waiting.TakeNew().empty());

  EXPECT_TRUE(waiting.Note("orders", "billing", now_ms_));
  EXPECT_FALSE(waiting.Note("orders", "billing", now_ms_));
  const std::vector<PresenceAdded> added = waiting.TakeNew();
  ASSERT_EQ(added.size(), 1U);
  ASSERT_EQ(added[0].entries.size(), 1U);
  EXPECT_TRUE(waiting.TakeNew().empty());
  EXPECT_TRUE(b_.table().TakePresence(a_.address(), added[0], now_ms_));
  EXPECT_EQ(b_.table().Find(a_.address())->PresenceSize(), 201U);
  EXPECT_NE(Interest::Of(b_.table().peers()).InFreed("orders", "billing"), 0U);

  for (const Presence& part : waiting.TellAll()) b_.table().TakePresence(a_.address(), part);
  EXPECT_EQ(b_.table().Find(a_.address())->PresenceSize(), 201U);
  EXPECT_TRUE(b_.table().Find(a_.address())->presence_added.empty());
}

TEST_F(PeerTableTest, WhatIsNewCountsForAMomentIfTheNextWholeIsLost) {
  Meet(a_, b_);
  LocalPresence waiting;
  waiting.Note("orders", "billing", now_ms_);
  b_.table().TakePresence(a_.address(), waiting.TakeNew().front(), now_ms_);
  now_ms_ += PeerTable::kAddedMs - 1;
  EXPECT_FALSE(b_.table().Tick(now_ms_));
  EXPECT_FALSE(Interest::Of(b_.table().peers()).empty());
  now_ms_ += 1;
  EXPECT_TRUE(b_.table().Tick(now_ms_));
  EXPECT_TRUE(Interest::Of(b_.table().peers()).empty());
}

TEST_F(PeerTableTest, TooManyGroupsAreToldAsTheirQueue) {
  Meet(a_, b_);
  LocalPresence waiting;
  waiting.TellAll();
  for (int i = 0; i < 10'000; ++i) waiting.Note("q", "g" + std::to_string(i), now_ms_);
  size_t told = 0;
  for (const PresenceAdded& added : waiting.TakeNew()) told += added.entries.size();
  EXPECT_EQ(told, LocalPresence::kEntriesMax + 1) << "each of the first, then the queue";

  const std::vector<Presence> parts = waiting.TellAll();
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].entries.size(), 1U);
  b_.table().TakePresence(a_.address(), parts[0]);
  const Interest interest = Interest::Of(b_.table().peers());
  EXPECT_NE(interest.InPushed("q", {}), 0U);
  EXPECT_NE(interest.InPushed("q", {"g0"}), 0U) << "others may wait";
  EXPECT_NE(interest.InFreed("q", "g9999"), 0U);
  EXPECT_EQ(interest.InPushed("another", {}), 0U);
  EXPECT_FALSE(waiting.Note("q", "one more", now_ms_)) << "it was told of any group";
  EXPECT_TRUE(waiting.Note("another", "g", now_ms_));
}

TEST_F(PeerTableTest, WhatIsToldAtOnceIsBounded) {
  LocalPresence waiting;
  for (int i = 0; i < 10'000; ++i) waiting.Note("q" + std::to_string(i), "g", now_ms_);
  EXPECT_EQ(waiting.TakeNew().size(), 2 * LocalPresence::kPartsMax);
  EXPECT_TRUE(waiting.TellAll().front().everything);
  EXPECT_FALSE(waiting.Note("another", "g", now_ms_));
}

TEST_F(PeerTableTest, TooManyToTellIsEverything) {
  Meet(a_, b_);
  LocalPresence waiting;
  for (int i = 0; i < 10'000; ++i) waiting.Note("q" + std::to_string(i), "g", now_ms_);
  for (const Presence& part : waiting.Parts()) b_.table().TakePresence(a_.address(), part);
  EXPECT_NE(Interest::Of(b_.table().peers()).InPushed("another", {}), 0U);
  now_ms_ += PeerTable::kDeadAfterMs;
  b_.table().Tick(now_ms_);
  EXPECT_TRUE(Interest::Of(b_.table().peers()).empty()) << "the dead wait for nothing";
}

}  // namespace
}  // namespace queen::cluster
