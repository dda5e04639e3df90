#include "base/keyed_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace queen {
namespace {

// The vectors of the paper: key 00..0f, texts of 0, 1, 2, .. bytes 00, 01, ..
TEST(KeyedHashTest, IsSipHash) {
  const SipKey key = {0x0706050403020100U, 0x0f0e0d0c0b0a0908U};
  std::string text;
  const std::array<uint64_t, 4> wanted = {0x726fdb47dd0e0e31U, 0x74f839c593dc67fdU,
                                          0x0d6c8009d9a94f5aU, 0x85676696d7fb7e2dU};
  for (const uint64_t hash : wanted) {
    EXPECT_EQ(SipHash24(key, text), hash) << text.size();
    text.push_back(static_cast<char>(text.size()));
  }
  while (text.size() < 15) text.push_back(static_cast<char>(text.size()));
  EXPECT_EQ(SipHash24(key, text), 0xa129ca6149be45e5U);
}

TEST(KeyedHashTest, TellsTextsApart) {
  std::set<uint64_t> hashes;
  for (int i = 0; i < 10'000; ++i) hashes.insert(KeyedHash("order-" + std::to_string(i)));
  EXPECT_EQ(hashes.size(), 10'000u);
  EXPECT_EQ(KeyedHash("order-1"), KeyedHash(std::string("order-") + "1"));
}

}  // namespace
}  // namespace queen
