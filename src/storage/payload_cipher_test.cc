#include "storage/payload_cipher.h"

#include <gtest/gtest.h>

#include <set>

#include "base/json_reader.h"

namespace queen::storage {
namespace {

constexpr PartitionId kHere{5};

EncryptionKey KeyOf(uint8_t byte) {
  EncryptionKey key;
  key.fill(byte);
  return key;
}

std::string Why(const Result<std::string>& result) {
  return result.ok() ? "decrypted: " + *result : result.status().message();
}

constexpr std::string_view kChanged = "The encrypted payload was changed after it was stored";
constexpr std::string_view kNoKey =
    "The payload is encrypted with a key that this broker does not have";
constexpr std::string_view kNotOurs = "The payload is marked as encrypted and is not";

TEST(PayloadCipher, RoundTrips) {
  const PayloadCipher cipher({KeyOf(1)});
  for (const std::string& payload :
       {std::string("null"), std::string(R"({"a" : 1.10,"a":"\u0000"})"),
        std::string("[\n 1 ]\r\n"), std::string("\"\xc3\xbc\""), std::string(3'000'000, '1'),
        std::string()}) {
    const std::string line = cipher.Encrypt(payload, kHere);
    EXPECT_EQ(line.find_first_of("\n\r"), std::string::npos);
    EXPECT_TRUE(ParseJson(line).ok());
    if (payload.size() > 8) {
      EXPECT_EQ(line.find(payload), std::string::npos);
    }
    const Result<std::string> back = cipher.Decrypt(line, kHere);
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(*back, payload);
  }
}

TEST(PayloadCipher, ReadsWhatWasWrittenBefore) {
  const PayloadCipher cipher({KeyOf(1)});
  EXPECT_EQ(Why(cipher.Decrypt(R"({"key":"72cd6e84","nonce":"AAECAwQFBgcICQoL",)"
                               R"("tag":"oIDTWtOkYcsilJYIl4R2AA==","data":"wIThSVSfalvEW9W5"})",
                               kHere)),
            R"(decrypted: {"total":12})");
}

TEST(PayloadCipher, EveryLineHasANonceOfItsOwn) {
  const PayloadCipher cipher({KeyOf(1)});
  std::set<std::string> lines;
  for (int i = 0; i < 1000; ++i) lines.insert(cipher.Encrypt("1", kHere));
  EXPECT_EQ(lines.size(), 1000U);
}

TEST(PayloadCipher, AnyChangeIsNoticed) {
  const PayloadCipher cipher({KeyOf(1)});
  const std::string line = cipher.Encrypt(R"({"total":12})", kHere);
  for (size_t i = 0; i < line.size(); ++i) {
    std::string changed = line;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    const Result<std::string> result = cipher.Decrypt(changed, kHere);
    EXPECT_FALSE(result.ok()) << changed;
    EXPECT_EQ(result.status().code(), Code::kUndecryptable);
  }
  EXPECT_EQ(Why(cipher.Decrypt(line, PartitionId{6})), kChanged);
}

TEST(PayloadCipher, PartsOfTwoLinesDoNotFit) {
  const PayloadCipher cipher({KeyOf(1)});
  const std::string one = cipher.Encrypt("1", kHere);
  const std::string two = cipher.Encrypt("2", kHere);
  const size_t data = one.find("\"data\"");
  EXPECT_EQ(Why(cipher.Decrypt(one.substr(0, data) + two.substr(data), kHere)), kChanged);
}

TEST(PayloadCipher, KeysAreChangedByPuttingANewOneInFront) {
  const PayloadCipher before({KeyOf(1)});
  const PayloadCipher both({KeyOf(2), KeyOf(1)});
  const PayloadCipher after({KeyOf(2)});
  const std::string old_line = before.Encrypt("1", kHere);
  const std::string new_line = both.Encrypt("2", kHere);
  EXPECT_EQ(Why(both.Decrypt(old_line, kHere)), "decrypted: 1");
  EXPECT_EQ(Why(both.Decrypt(new_line, kHere)), "decrypted: 2");
  EXPECT_EQ(Why(after.Decrypt(new_line, kHere)), "decrypted: 2");
  EXPECT_EQ(Why(after.Decrypt(old_line, kHere)), kNoKey);
  EXPECT_EQ(Why(before.Decrypt(new_line, kHere)), kNoKey);
}

TEST(PayloadCipher, WithoutAKey) {
  const PayloadCipher none({});
  EXPECT_FALSE(none.can_encrypt());
  EXPECT_EQ(Why(none.Decrypt(PayloadCipher({KeyOf(1)}).Encrypt("1", kHere), kHere)), kNoKey);
}

TEST(PayloadCipher, WhatIsNoEnvelope) {
  const PayloadCipher cipher({KeyOf(1)});
  for (
      const std::string_view line :
      {"", "null", "{}", "\"text\"", "{\"key\":1}", "{", "[]",
       R"({"key":"72cd6e84","nonce":"AAAA","tag":"AAAA","data":""})",
       R"({"key":"72cd6e84","nonce":"AAECAwQFBgcICQoL","tag":"AAECAwQFBgcICQoLDA0ODw==","data":"?"})"}) {
    EXPECT_EQ(Why(cipher.Decrypt(line, kHere)), kNotOurs) << line;
  }
}

TEST(PayloadCipher, InTheFileBufferTheNamesAreBound) {
  const PayloadCipher cipher({KeyOf(1)});
  const std::string line = cipher.EncryptBuffered("1", "q", "p");
  EXPECT_EQ(Why(cipher.DecryptBuffered(line, "q", "p")), "decrypted: 1");
  EXPECT_EQ(Why(cipher.DecryptBuffered(line, "q", "x")), kChanged);
  EXPECT_EQ(Why(cipher.DecryptBuffered(line, "qp", "")), kChanged);
  EXPECT_EQ(Why(cipher.Decrypt(line, kHere)), kChanged);
}

TEST(EncryptedMeta, KeepsWhatIsThere) {
  EXPECT_EQ(EncryptedMeta(""), R"({"encrypted":true})");
  EXPECT_EQ(EncryptedMeta(R"({"traceId":"t"})"), R"({"encrypted":true,"traceId":"t"})");
  for (const std::string_view meta : {"", R"({"traceId":"t","headers":{"encrypted":"true"}})"}) {
    EXPECT_FALSE(IsEncryptedMeta(meta));
    EXPECT_TRUE(IsEncryptedMeta(EncryptedMeta(meta)));
    EXPECT_EQ(PlainMeta(EncryptedMeta(meta)), meta);
  }
}

}  // namespace
}  // namespace queen::storage
