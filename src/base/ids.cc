#include "base/ids.h"

#include <cassert>

namespace queen {
namespace {

// 74 bits: the 12 after the version, then the 62 after the variant. The partition's upper 12 bits
// fill the first group; its lower 19 and the 43 of seq fill the second.
constexpr int kSeqBits = 43;
constexpr int kPartitionLowBits = 19;
constexpr uint64_t kPartitionLowMask = (uint64_t{1} << kPartitionLowBits) - 1;
constexpr uint64_t kVariant = 0x8000'0000'0000'0000;
constexpr uint64_t kVariantMask = 0xC000'0000'0000'0000;
constexpr uint64_t kVersionMask = 0xF000;

// "queen" in ASCII, version 8, and a letter for the kind.
constexpr uint64_t kTagHigh = 0x7175'6565'6e00'8000;
constexpr uint64_t kKindQueue = 'q';
constexpr uint64_t kKindPartition = 'p';

Uuid EncodeTagged(uint64_t kind, int32_t value) {
  assert(value > 0);
  return Uuid::FromHalves(kTagHigh | kind, kVariant | static_cast<uint64_t>(value));
}

std::optional<int32_t> DecodeTagged(uint64_t kind, const Uuid& uuid) {
  if (uuid.high() != (kTagHigh | kind)) return std::nullopt;
  const uint64_t value = uuid.low() ^ kVariant;
  if (value == 0 || value > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(value);
}

}  // namespace

Uuid EncodeMessageId(const MessageId& id) {
  assert(id.created_millis >= 0 && id.created_millis < int64_t{1} << 48);
  assert(id.partition.value > 0 && id.seq >= 0 && id.seq <= kSeqMax);
  const auto partition = static_cast<uint64_t>(id.partition.value);
  const uint64_t high =
      static_cast<uint64_t>(id.created_millis) << 16 | 0x7000 | partition >> kPartitionLowBits;
  const uint64_t low =
      kVariant | (partition & kPartitionLowMask) << kSeqBits | static_cast<uint64_t>(id.seq);
  return Uuid::FromHalves(high, low);
}

std::optional<MessageId> DecodeMessageId(const Uuid& uuid) {
  const uint64_t high = uuid.high();
  const uint64_t low = uuid.low();
  if ((high & kVersionMask) != 0x7000 || (low & kVariantMask) != kVariant) return std::nullopt;
  const uint64_t partition =
      (high & 0xFFF) << kPartitionLowBits | (low >> kSeqBits & kPartitionLowMask);
  if (partition == 0) return std::nullopt;
  return MessageId{.created_millis = static_cast<int64_t>(high >> 16),
                   .partition = {static_cast<int32_t>(partition)},
                   .seq = static_cast<int64_t>(low & static_cast<uint64_t>(kSeqMax))};
}

Uuid EncodeQueueId(QueueId id) { return EncodeTagged(kKindQueue, id.value); }
Uuid EncodePartitionId(PartitionId id) { return EncodeTagged(kKindPartition, id.value); }

std::optional<QueueId> DecodeQueueId(const Uuid& uuid) {
  const auto value = DecodeTagged(kKindQueue, uuid);
  if (!value) return std::nullopt;
  return QueueId{*value};
}

std::optional<PartitionId> DecodePartitionId(const Uuid& uuid) {
  const auto value = DecodeTagged(kKindPartition, uuid);
  if (!value) return std::nullopt;
  return PartitionId{*value};
}

}  // namespace queen
