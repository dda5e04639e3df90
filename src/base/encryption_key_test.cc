#include "base/encryption_key.h"

#include <gtest/gtest.h>

#include <string>

namespace queen {
namespace {

constexpr std::string_view kHex =
    "000102030405060708090A0B0C0D0E0F101112131415161718191a1b1c1d1e1f";
constexpr std::string_view kBase64 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

TEST(EncryptionKey, HexAndBase64SayTheSame) {
  EncryptionKey key;
  for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<uint8_t>(i);
  EXPECT_EQ(ParseEncryptionKeys(kHex), std::vector{key});
  EXPECT_EQ(ParseEncryptionKeys(kBase64), std::vector{key});
}

TEST(EncryptionKey, Lists) {
  EXPECT_EQ(ParseEncryptionKeys("")->size(), 0U);
  EXPECT_EQ(ParseEncryptionKeys("  ")->size(), 0U);
  const std::string other = std::string(64, 'f');
  const auto keys = ParseEncryptionKeys(std::string(kHex) + " , " + other + "," + other);
  ASSERT_TRUE(keys);
  ASSERT_EQ(keys->size(), 3U);
  EXPECT_EQ((*keys)[0][31], 31);
  EXPECT_EQ((*keys)[1][0], 255);
}

TEST(EncryptionKey, WhatIsNone) {
  const std::string hex(kHex);
  for (const std::string& text :
       {std::string("secret"), hex.substr(1), hex + "0", hex + ",", "," + hex,
        std::string(hex).append(",,").append(hex), std::string(64, 'g'), std::string(63, '0') + "-",
        "0x" + hex.substr(2), std::string("AAEC"), std::string(kBase64).substr(0, 43),
        hex + "," + std::string("no")}) {
    EXPECT_EQ(ParseEncryptionKeys(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace queen
