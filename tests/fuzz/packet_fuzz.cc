// Fuzzes what arrives on the UDP port: the input is the part of a packet that is signed, or a
// datagram as it is. Checked: nothing crashes; what is not signed is never read; what is read comes
// out again the same, and splits into packets that fit.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "cluster/hmac.h"
#include "cluster/packet.h"
#include "require.h"

namespace queen::cluster {
namespace {

constexpr std::string_view kSecret = "fuzz";

void TryRead(std::string_view datagram) {
  const Decoded decoded = DecodePacket(datagram, kSecret);
  const auto* const packet = std::get_if<Packet>(&decoded);
  if (packet == nullptr) return;
  const std::string written = EncodePacket(*packet, kSecret);
  Require(written.size() <= datagram.size(), "a packet does not grow");
  const Decoded again = DecodePacket(written, kSecret);
  Require(std::holds_alternative<Packet>(again), "what was written is read");
  Require(EncodePacket(std::get<Packet>(again), kSecret) == written, "and written the same");
  size_t left_out = 0;
  for (const auto& records : SplitRecords(packet->records, left_out)) {
    Require(EncodePacket({packet->header, records}, kSecret).size() <= kPacketBytesMax,
            "a part fits");
  }
  Require(left_out == 0, "what came in a packet fits in one");
  Require(std::holds_alternative<PacketFault>(DecodePacket(datagram, "another")),
          "another secret reads nothing");
}

}  // namespace
}  // namespace queen::cluster

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace queen::cluster;
  const std::string input(reinterpret_cast<const char*>(data), size);
  TryRead(input);
  const Mac mac = ComputeMac(kSecret, input);
  TryRead(input + std::string(mac.data(), mac.size()));
  return 0;
}
