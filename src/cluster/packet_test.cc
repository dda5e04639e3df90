// What a datagram may be, and what is made of it.
#include "cluster/packet.h"

#include <gtest/gtest.h>

#include "cluster/hint_batch.h"
#include "cluster/hmac.h"
#include "cluster/replay_window.h"

namespace queen::cluster {
namespace {

constexpr std::string_view kSecret = "the secret";

Packet Sample() {
  Packet packet;
  packet.header.session.fill('s');
  packet.header.ticket = 0x1122334455667788ULL;
  packet.header.sequence = 42;
  Heartbeat beat;
  beat.to.fill('t');
  beat.ticket = 7;
  beat.name = "broker-1";
  Presence presence;
  presence.parts = 3;
  presence.part = 2;
  presence.entries = {{1, 2}, {3, ~uint64_t{0}}};
  packet.records = {beat,
                    presence,
                    MessageAvailable{"orders", {{PartitionId{5}, "a"}, {PartitionId{6}, ""}}},
                    PartitionFree{"orders", "billing", {{PartitionId{5}, "a"}}},
                    QueueChanged{""},
                    MaintenanceChanged{},
                    PresenceAdded{{{8, 9}, {10, kAnyGroup}}}};
  return packet;
}

PacketFault FaultOf(std::string_view datagram, std::string_view secret = kSecret) {
  const Decoded decoded = DecodePacket(datagram, secret);
  EXPECT_TRUE(std::holds_alternative<PacketFault>(decoded));
  return std::get<PacketFault>(decoded);
}

// A packet with any bytes as its records, rightly signed.
std::string Signed(std::string_view records) {
  Packet packet = Sample();
  packet.records.clear();
  std::string bytes = EncodePacket(packet, kSecret);
  bytes.resize(bytes.size() - kMacBytes);
  bytes += records;
  const Mac mac = ComputeMac(kSecret, bytes);
  return bytes.append(mac.data(), mac.size());
}

TEST(PacketTest, EverythingComesBack) {
  const std::string bytes = EncodePacket(Sample(), kSecret);
  const Decoded decoded = DecodePacket(bytes, kSecret);
  ASSERT_TRUE(std::holds_alternative<Packet>(decoded));
  const Packet& packet = std::get<Packet>(decoded);
  EXPECT_EQ(packet.header.sequence, 42U);
  EXPECT_EQ(packet.header.ticket, 0x1122334455667788ULL);
  ASSERT_EQ(packet.records.size(), 7U);
  EXPECT_EQ(std::get<Heartbeat>(packet.records[0]).name, "broker-1");
  EXPECT_EQ(std::get<Presence>(packet.records[1]).entries[1].group, ~uint64_t{0});
  EXPECT_EQ(std::get<MessageAvailable>(packet.records[2]).partitions[1].id, PartitionId{6});
  EXPECT_EQ(std::get<PartitionFree>(packet.records[3]).group, "billing");
  EXPECT_EQ(std::get<PresenceAdded>(packet.records[6]).entries[0].group, 9U);
  EXPECT_EQ(EncodePacket(packet, kSecret), bytes);
  EXPECT_EQ(SizeOfPacket(packet.records), bytes.size());
}

TEST(PacketTest, ThePublishedHmacOfRfc4231) {
  const Mac mac = ComputeMac("Jefe", "what do ya want for nothing?");
  EXPECT_EQ(static_cast<unsigned char>(mac[0]), 0x5b);
  EXPECT_EQ(static_cast<unsigned char>(mac[31]), 0x43);
}

TEST(PacketTest, AnyChangedByteIsRefused) {
  const std::string bytes = EncodePacket(Sample(), kSecret);
  for (size_t place = 0; place < bytes.size(); ++place) {
    std::string changed = bytes;
    changed[place] = static_cast<char>(changed[place] ^ 1);
    const PacketFault expected = place < 3    ? PacketFault::kMalformed
                                 : place == 3 ? PacketFault::kOtherVersion
                                              : PacketFault::kForged;
    EXPECT_EQ(FaultOf(changed), expected) << place;
  }
}

TEST(PacketTest, AnyShorterOneIsRefused) {
  const std::string bytes = EncodePacket(Sample(), kSecret);
  for (size_t size = 0; size < bytes.size(); ++size) FaultOf(bytes.substr(0, size));
  EXPECT_EQ(FaultOf(bytes.substr(0, 20)), PacketFault::kTruncated);
  EXPECT_EQ(FaultOf(bytes.substr(0, bytes.size() - 1)), PacketFault::kForged);
}

TEST(PacketTest, AnotherSecretIsRefused) {
  EXPECT_EQ(FaultOf(EncodePacket(Sample(), "another")), PacketFault::kForged);
  EXPECT_EQ(FaultOf(EncodePacket(Sample(), "")), PacketFault::kForged);
}

TEST(PacketTest, LengthsThatLieAreRefused) {
  using namespace std::string_literals;
  EXPECT_EQ(FaultOf(Signed("\x06\x00\x01"s)), PacketFault::kMalformed);          // no body
  EXPECT_EQ(FaultOf(Signed("\x06\x00\x01x"s)), PacketFault::kMalformed);         // one too long
  EXPECT_EQ(FaultOf(Signed("\x05\x00\x02\x00\x05"s)), PacketFault::kMalformed);  // a name cut off
  EXPECT_EQ(FaultOf(Signed("\x06"s)), PacketFault::kMalformed);                  // half a head
  EXPECT_EQ(FaultOf(Signed("\x02\x00\x07\x00\x01\x00\x01\x00\x00\x00"s)),
            PacketFault::kMalformed);  // part 1 of 1
}

TEST(PacketTest, ARecordOfALaterBrokerIsPassedOver) {
  using namespace std::string_literals;
  const Decoded decoded = DecodePacket(Signed("\xC8\x00\x02hi\x06\x00\x00"s), kSecret);
  ASSERT_TRUE(std::holds_alternative<Packet>(decoded));
  ASSERT_EQ(std::get<Packet>(decoded).records.size(), 1U);
}

TEST(PacketTest, HintsAreCutToFit) {
  MessageAvailable hint{"orders", {}};
  for (int i = 1; i <= 1'000; ++i) {
    hint.partitions.push_back({PartitionId{i}, "partition-" + std::to_string(i)});
  }
  hint.partitions.push_back({PartitionId{1'001}, std::string(kPacketBytesMax, 'x')});
  size_t left_out = 0;
  const auto packets = SplitRecords({MaintenanceChanged{}, hint, QueueChanged{"q"}}, left_out);
  EXPECT_EQ(left_out, 1U);
  EXPECT_LT(packets.size(), 25U);
  int next = 1;
  for (const std::vector<Record>& records : packets) {
    Packet packet = Sample();
    packet.records = records;
    EXPECT_LE(EncodePacket(packet, kSecret).size(), kPacketBytesMax);
    for (const Record& record : records) {
      const auto* const piece = std::get_if<MessageAvailable>(&record);
      if (piece == nullptr) continue;
      for (const HintedPartition& partition : piece->partitions) {
        EXPECT_EQ(partition.id.value, next++);
      }
    }
  }
  EXPECT_EQ(next, 1'001);
}

TEST(HintBatchTest, EachPeerIsToldWhatConcernsIt) {
  HintBatch batch;
  batch.AddPushed(0b01, "q", PartitionId{1}, "a");
  batch.AddPushed(0b10, "q", PartitionId{2}, "b");
  batch.AddPushed(0b10, "q", PartitionId{1}, "a");
  batch.AddFreed(0b01, "q", "g", PartitionId{1}, "a");
  batch.AddQueueChanged("q");
  batch.AddQueueChanged("q");
  EXPECT_EQ(batch.hints(), 3U);
  const std::vector<Record> first = batch.RecordsFor(0);
  ASSERT_EQ(first.size(), 3U);
  EXPECT_EQ(std::get<MessageAvailable>(first[1]).partitions.size(), 1U);
  EXPECT_EQ(std::get<PartitionFree>(first[2]).group, "g");
  const std::vector<Record> second = batch.RecordsFor(1);
  ASSERT_EQ(second.size(), 2U);
  EXPECT_EQ(std::get<MessageAvailable>(second[1]).partitions.size(), 2U);
  EXPECT_EQ(batch.RecordsFor(2).size(), 1U);
}

TEST(ReplayWindowTest, EachNumberOnceWithinTheWindow) {
  ReplayWindow window;
  EXPECT_FALSE(window.Take(0));
  EXPECT_TRUE(window.Take(5));
  EXPECT_FALSE(window.Take(5));
  EXPECT_TRUE(window.Take(3));
  EXPECT_FALSE(window.Take(3));
  EXPECT_TRUE(window.Take(2'000));
  EXPECT_TRUE(window.Take(2'000 - ReplayWindow::kWidth + 1));
  EXPECT_FALSE(window.Take(2'000 - ReplayWindow::kWidth));
  EXPECT_FALSE(window.Take(5));
  EXPECT_TRUE(window.Take(1'999));
  EXPECT_TRUE(window.Take(~uint64_t{0}));
  EXPECT_FALSE(window.Take(2'001));
}

}  // namespace
}  // namespace queen::cluster
