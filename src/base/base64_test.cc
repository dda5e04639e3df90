#include "base/base64.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace queen {
namespace {

std::string Encode(std::string_view bytes) {
  std::string text;
  AppendBase64(text, bytes);
  return text;
}

TEST(Base64, TheVectorsOfTheRfc) {
  EXPECT_EQ(Encode(""), "");
  EXPECT_EQ(Encode("f"), "Zg==");
  EXPECT_EQ(Encode("fo"), "Zm8=");
  EXPECT_EQ(Encode("foo"), "Zm9v");
  EXPECT_EQ(Encode("foob"), "Zm9vYg==");
  EXPECT_EQ(Encode("fooba"), "Zm9vYmE=");
  EXPECT_EQ(Encode("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Encode(std::string_view("\xff\xff\xfe\0", 4)), "///+AA==");
}

TEST(Base64, RoundTrips) {
  for (size_t size = 0; size < 200; ++size) {
    std::string bytes(size, '\0');
    SecureRandomBytes(bytes.data(), size);
    EXPECT_EQ(DecodeBase64(Encode(bytes)), bytes) << size;
  }
}

TEST(Base64, OnlyTheOneTextIsRead) {
  for (const std::string_view text : {"Z", "Zg", "Zg=", "Zg===", "====", "Zh==", "Zm9=", "Zg==Zg==",
                                      "Zm9v\n", " Zm9", "Zm-_", "Z=g=", "=Zg="}) {
    EXPECT_EQ(DecodeBase64(text), std::nullopt) << text;
  }
}

TEST(Base64Url, HasDigitsForUrlsAndNoPadding) {
  const auto encode = [](std::string_view bytes) {
    std::string out;
    AppendBase64Url(out, bytes);
    return out;
  };
  EXPECT_EQ(encode(""), "");
  EXPECT_EQ(encode("f"), "Zg");
  EXPECT_EQ(encode("fo"), "Zm8");
  EXPECT_EQ(encode("foo"), "Zm9v");
  EXPECT_EQ(encode(std::string_view("\xff\xff\xfe\0", 4)), "___-AA");
  for (size_t size = 0; size < 100; ++size) {
    std::string bytes(size, '\0');
    SecureRandomBytes(bytes.data(), size);
    EXPECT_EQ(DecodeBase64Url(encode(bytes)), bytes) << size;
  }
  for (const std::string_view text :
       {"Z", "Zg==", "Zh", "Zm9", "Zm9v+A", "Zm9v/A", "Zm9v ", "=", "Zg="}) {
    EXPECT_EQ(DecodeBase64Url(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace queen
