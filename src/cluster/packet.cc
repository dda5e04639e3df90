#include "cluster/packet.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "cluster/hmac.h"

namespace queen::cluster {
namespace {

constexpr std::string_view kMagic = "QNP";
constexpr size_t kHeaderBytes = 3 + 1 + 16 + 8 + 8;
constexpr size_t kRecordHeadBytes = 3;
constexpr size_t kRoom = kPacketBytesMax - kHeaderBytes - kMacBytes;  // for records

enum class Type : uint8_t {
  kHeartbeat = 1,
  kPresence = 2,
  kMessageAvailable = 3,
  kPartitionFree = 4,
  kQueueChanged = 5,
  kMaintenanceChanged = 6,
  kPresenceAdded = 7,
};

// ---- writing

void PutInt(std::string& out, uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out += static_cast<char>(value >> shift & 0xff);
  }
}

void PutName(std::string& out, std::string_view name) {
  PutInt(out, name.size(), 2);
  out += name;
}

void PutPartitions(std::string& out, const std::vector<HintedPartition>& partitions) {
  PutInt(out, partitions.size(), 2);
  for (const HintedPartition& partition : partitions) {
    PutInt(out, static_cast<uint32_t>(partition.id.value), 4);
    PutName(out, partition.name);
  }
}

void PutEntries(std::string& out, const std::vector<Presence::Entry>& entries) {
  PutInt(out, entries.size(), 2);
  for (const Presence::Entry& entry : entries) {
    PutInt(out, entry.queue, 8);
    PutInt(out, entry.group, 8);
  }
}

struct WriteBody {
  std::string& out;

  Type operator()(const Heartbeat& beat) const {
    out.append(beat.to.data(), beat.to.size());
    PutInt(out, beat.ticket, 8);
    PutName(out, beat.name);
    return Type::kHeartbeat;
  }
  Type operator()(const Presence& presence) const {
    PutInt(out, presence.parts, 2);
    PutInt(out, presence.part, 2);
    PutInt(out, presence.everything ? 1 : 0, 1);
    PutEntries(out, presence.entries);
    return Type::kPresence;
  }
  Type operator()(const PresenceAdded& added) const {
    PutEntries(out, added.entries);
    return Type::kPresenceAdded;
  }
  Type operator()(const MessageAvailable& hint) const {
    PutName(out, hint.queue);
    PutPartitions(out, hint.partitions);
    return Type::kMessageAvailable;
  }
  Type operator()(const PartitionFree& hint) const {
    PutName(out, hint.queue);
    PutName(out, hint.group);
    PutPartitions(out, hint.partitions);
    return Type::kPartitionFree;
  }
  Type operator()(const QueueChanged& hint) const {
    PutName(out, hint.queue);
    return Type::kQueueChanged;
  }
  Type operator()(const MaintenanceChanged&) const { return Type::kMaintenanceChanged; }
};

size_t SizeOf(const Record& record) {
  std::string body;
  std::visit(WriteBody{body}, record);
  return kRecordHeadBytes + body.size();
}

// ---- reading

class Reader {
 public:
  explicit Reader(std::string_view data) : data_(data) {}

  uint64_t Int(size_t bytes) {
    uint64_t value = 0;
    for (const char byte : Bytes(bytes)) value = value << 8 | static_cast<uint8_t>(byte);
    return value;
  }
  std::string_view Bytes(size_t count) {
    if (data_.size() < count) {
      failed_ = true;
      data_ = {};
      return {};
    }
    const std::string_view bytes = data_.substr(0, count);
    data_.remove_prefix(count);
    return bytes;
  }
  std::string Name() { return std::string(Bytes(Int(2))); }
  SessionId Session() {
    SessionId session{};
    const std::string_view bytes = Bytes(session.size());
    std::copy(bytes.begin(), bytes.end(), session.begin());
    return session;
  }
  std::vector<HintedPartition> Partitions() {
    std::vector<HintedPartition> partitions;
    for (uint64_t left = Int(2); left > 0 && !failed_; --left) {
      HintedPartition partition;
      partition.id = PartitionId{static_cast<int32_t>(Int(4))};
      partition.name = Name();
      partitions.push_back(std::move(partition));
    }
    return partitions;
  }
  std::vector<Presence::Entry> Entries() {
    std::vector<Presence::Entry> entries;
    for (uint64_t left = Int(2); left > 0 && !failed_; --left) {
      Presence::Entry entry;
      entry.queue = Int(8);
      entry.group = Int(8);
      entries.push_back(entry);
    }
    return entries;
  }

  bool empty() const { return data_.empty(); }
  // Everything was there, and nothing is left.
  bool Ended() const { return !failed_ && data_.empty(); }
  bool failed() const { return failed_; }

 private:
  std::string_view data_;
  bool failed_ = false;
};

Presence ReadPresence(Reader& reader) {
  Presence presence;
  presence.parts = static_cast<uint16_t>(reader.Int(2));
  presence.part = static_cast<uint16_t>(reader.Int(2));
  presence.everything = reader.Int(1) != 0;
  presence.entries = reader.Entries();
  return presence;
}

// Nothing: the type is not known.
std::optional<Record> ReadBody(Type type, Reader& reader) {
  switch (type) {
    case Type::kHeartbeat: {
      Heartbeat beat;
      beat.to = reader.Session();
      beat.ticket = reader.Int(8);
      beat.name = reader.Name();
      return beat;
    }
    case Type::kPresence:
      return ReadPresence(reader);
    case Type::kMessageAvailable: {
      MessageAvailable hint;
      hint.queue = reader.Name();
      hint.partitions = reader.Partitions();
      return hint;
    }
    case Type::kPartitionFree: {
      PartitionFree hint;
      hint.queue = reader.Name();
      hint.group = reader.Name();
      hint.partitions = reader.Partitions();
      return hint;
    }
    case Type::kQueueChanged:
      return QueueChanged{reader.Name()};
    case Type::kMaintenanceChanged:
      return MaintenanceChanged{};
    case Type::kPresenceAdded:
      return PresenceAdded{reader.Entries()};
  }
  return std::nullopt;
}

bool IsSane(const Record& record) {
  const auto* const presence = std::get_if<Presence>(&record);
  return presence == nullptr || presence->part < presence->parts;
}

// ---- splitting

template <typename Hint>
void SplitHint(const Hint& hint, std::vector<Record>& out, size_t& left_out) {
  Hint empty = hint;
  empty.partitions.clear();
  const size_t head = SizeOf(empty);
  Hint piece = empty;
  size_t size = head;
  const auto flush = [&] {
    if (!piece.partitions.empty()) out.emplace_back(std::exchange(piece, empty));
    size = head;
  };
  for (const HintedPartition& partition : hint.partitions) {
    const size_t bytes = 4 + 2 + partition.name.size();
    if (head + bytes > kRoom) {
      ++left_out;
      continue;
    }
    if (size + bytes > kRoom) flush();
    piece.partitions.push_back(partition);
    size += bytes;
  }
  flush();
}

}  // namespace

std::string EncodePacket(const Packet& packet, std::string_view secret) {
  std::string out;
  out.reserve(kPacketBytesMax);
  out += kMagic;
  out += static_cast<char>(kPacketVersion);
  out.append(packet.header.session.data(), packet.header.session.size());
  PutInt(out, packet.header.ticket, 8);
  PutInt(out, packet.header.sequence, 8);
  for (const Record& record : packet.records) {
    std::string body;
    const Type type = std::visit(WriteBody{body}, record);
    out += static_cast<char>(type);
    PutInt(out, body.size(), 2);
    out += body;
  }
  const Mac mac = ComputeMac(secret, out);
  out.append(mac.data(), mac.size());
  assert(out.size() <= kPacketBytesMax);
  return out;
}

Decoded DecodePacket(std::string_view datagram, std::string_view secret) {
  if (!datagram.starts_with(kMagic)) return PacketFault::kMalformed;
  if (datagram.size() < kMagic.size() + 1) return PacketFault::kTruncated;
  if (static_cast<uint8_t>(datagram[kMagic.size()]) != kPacketVersion) {
    return PacketFault::kOtherVersion;
  }
  if (datagram.size() < kHeaderBytes + kMacBytes) return PacketFault::kTruncated;
  if (datagram.size() > kPacketBytesMax) return PacketFault::kMalformed;
  const std::string_view signed_part = datagram.substr(0, datagram.size() - kMacBytes);
  if (!SameMac(ComputeMac(secret, signed_part), datagram.substr(signed_part.size()))) {
    return PacketFault::kForged;
  }
  Reader reader(signed_part.substr(kMagic.size() + 1));
  Packet packet;
  packet.header.session = reader.Session();
  packet.header.ticket = reader.Int(8);
  packet.header.sequence = reader.Int(8);
  while (!reader.empty()) {
    const auto type = static_cast<Type>(reader.Int(1));
    Reader body(reader.Bytes(reader.Int(2)));
    if (reader.failed()) return PacketFault::kMalformed;
    std::optional<Record> record = ReadBody(type, body);
    if (!record) continue;
    if (!body.Ended() || !IsSane(*record)) return PacketFault::kMalformed;
    packet.records.push_back(*std::move(record));
  }
  if (reader.failed()) return PacketFault::kMalformed;
  return packet;
}

size_t SizeOfPacket(const std::vector<Record>& records) {
  size_t size = kHeaderBytes + kMacBytes;
  for (const Record& record : records) size += SizeOf(record);
  return size;
}

std::vector<std::vector<Record>> SplitRecords(std::vector<Record> records, size_t& left_out) {
  std::vector<Record> pieces;
  for (Record& record : records) {
    if (const auto* const pushed = std::get_if<MessageAvailable>(&record)) {
      SplitHint(*pushed, pieces, left_out);
    } else if (const auto* const freed = std::get_if<PartitionFree>(&record)) {
      SplitHint(*freed, pieces, left_out);
    } else if (SizeOf(record) > kRoom) {
      ++left_out;
    } else {
      pieces.push_back(std::move(record));
    }
  }
  std::vector<std::vector<Record>> packets;
  size_t room = 0;
  for (Record& piece : pieces) {
    const size_t size = SizeOf(piece);
    if (packets.empty() || size > room) {
      packets.emplace_back();
      room = kRoom;
    }
    room -= size;
    packets.back().push_back(std::move(piece));
  }
  return packets;
}

// FNV-1a: the same in every build, which std::hash is not.
uint64_t HashOfName(std::string_view name) {
  uint64_t hash = 14695981039346656037ULL;
  for (const char byte : name) {
    hash ^= static_cast<uint8_t>(byte);
    hash *= 1099511628211ULL;
  }
  return hash;
}

}  // namespace queen::cluster
