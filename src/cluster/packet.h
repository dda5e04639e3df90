// Packet: what brokers tell each other, and its form in a datagram.
//
//   bytes  3   "QNP"
//          1   version; a packet of another version is not read
//         16   session of the sender: random, one for each start of a process
//          8   ticket that the receiver gave this session; 0: none yet (peer_table.h)
//          8   sequence number in the session, from 1
//          ..  records: 1 type, 2 length, body; a type that is not known is passed over
//         32   HMAC-SHA256 of all before it, by the secret that the brokers share
//
// Numbers are big endian; a name is 2 bytes of length and its bytes. A packet has at most
// kPacketBytesMax bytes, so that it fits in one frame of any network: what does not fit goes into
// another packet. Everything here is a hint: who reads it looks at the database.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"

namespace queen::cluster {

constexpr uint8_t kPacketVersion = 1;
constexpr size_t kPacketBytesMax = 1'200;
// In the place of a group's hash in Presence: any group of the queue.
constexpr uint64_t kAnyGroup = 0;

using SessionId = std::array<char, 16>;

struct PacketHeader {
  SessionId session{};
  uint64_t ticket = 0;
  uint64_t sequence = 0;
};

// "I am here", in every packet of the heartbeat.
struct Heartbeat {
  SessionId to{};       // the session that `ticket` is for; zeros: none is known
  uint64_t ticket = 0;  // what that session must show in its packets
  std::string name;     // of the sender, for people
};

// Whom consumers of the sender wait for: (queue, group)s by the hashes of their names. They are
// spread over `parts`; this one replaces what was said of its part before.
struct Presence {
  struct Entry {
    uint64_t queue = 0;
    uint64_t group = 0;

    friend bool operator==(const Entry&, const Entry&) = default;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  uint16_t parts = 1;
  uint16_t part = 0;
  bool everything = false;  // too many to tell: all queues count as waited for
  std::vector<Entry> entries;
};

// These are waited for too: what began since the last Presence. A broker that does not know this
// record hears of them in the next Presence.
struct PresenceAdded {
  std::vector<Presence::Entry> entries;
};

struct HintedPartition {
  PartitionId id;
  std::string name;
};

// Messages were pushed to these partitions.
struct MessageAvailable {
  std::string queue;
  std::vector<HintedPartition> partitions;
};

// Leases of `group` on these partitions have ended with something left.
struct PartitionFree {
  std::string queue;
  std::string group;
  std::vector<HintedPartition> partitions;
};

// Options, groups or the existence of a queue have changed; "" stands for any queue.
struct QueueChanged {
  std::string queue;
};

struct MaintenanceChanged {};

using Record = std::variant<Heartbeat, Presence, MessageAvailable, PartitionFree, QueueChanged,
                            MaintenanceChanged, PresenceAdded>;

struct Packet {
  PacketHeader header;
  std::vector<Record> records;
};

// Why a datagram is not read.
enum class PacketFault { kTruncated, kMalformed, kOtherVersion, kForged };

// What became of a datagram: a packet, or why not.
using Decoded = std::variant<Packet, PacketFault>;

Decoded DecodePacket(std::string_view datagram, std::string_view secret);
// REQUIRES: the records came from SplitRecords, or fit
std::string EncodePacket(const Packet& packet, std::string_view secret);

// How long a packet with these records is.
size_t SizeOfPacket(const std::vector<Record>& records);

// The records divided into lists that fit in one packet each, in order; long lists of partitions
// are cut. What fits in no packet is left out and counted in `left_out`.
std::vector<std::vector<Record>> SplitRecords(std::vector<Record> records, size_t& left_out);

// Of a name in Presence.
uint64_t HashOfName(std::string_view name);

}  // namespace queen::cluster
