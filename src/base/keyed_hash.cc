#include "base/keyed_hash.h"

#include <bit>
#include <cstring>

#include "base/random.h"

namespace queen {
namespace {

struct State {
  uint64_t v0, v1, v2, v3;

  void Rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  }

  void Take(uint64_t word) {
    v3 ^= word;
    Rounds(2);
    v0 ^= word;
  }
};

SipKey MakeKey() {
  SipKey key;
  SecureRandomBytes(key.data(), sizeof(key));
  return key;
}

}  // namespace

// Words are little-endian, as on every machine this is built for.
uint64_t SipHash24(const SipKey& key, std::string_view text) {
  static_assert(std::endian::native == std::endian::little);
  State state{key[0] ^ 0x736f6d6570736575U, key[1] ^ 0x646f72616e646f6dU,
              key[0] ^ 0x6c7967656e657261U, key[1] ^ 0x7465646279746573U};
  const char* at = text.data();
  size_t left = text.size();
  for (; left >= 8; left -= 8, at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, 8);
    state.Take(word);
  }
  uint64_t last = static_cast<uint64_t>(text.size()) << 56;
  if (left > 0) {
    uint64_t rest = 0;
    std::memcpy(&rest, at, left);
    last |= rest;
  }
  state.Take(last);
  state.v2 ^= 0xff;
  state.Rounds(4);
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

uint64_t KeyedHash(std::string_view text) {
  static const SipKey key = MakeKey();
  return SipHash24(key, text);
}

}  // namespace queen
