#include "api/payload_cut.h"

#include <gtest/gtest.h>

#include <string>

namespace queen::api {
namespace {

TEST(PayloadCut, EndsBetweenCharacters) {
  const std::string text = "a\xc3\xa9z";  // a, e with an acute accent, z
  EXPECT_EQ(BeginningOf(text, 4), text);
  EXPECT_EQ(BeginningOf(text, 9), text);
  EXPECT_EQ(BeginningOf(text, 3), "a\xc3\xa9");
  EXPECT_EQ(BeginningOf(text, 2), "a");
  EXPECT_EQ(BeginningOf(text, 1), "a");
  EXPECT_EQ(BeginningOf(text, 0), "");
}

std::string Written(std::string_view payload, std::optional<int64_t> bytes_max) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  WritePayload(writer, "payload", payload, bytes_max);
  writer.EndObject();
  return out;
}

TEST(PayloadCut, OnlyWhatIsTooLongIsCut) {
  EXPECT_EQ(Written(R"({"a":1.0})", std::nullopt), R"({"payload":{"a":1.0}})");
  EXPECT_EQ(Written(R"({"a":1.0})", 9), R"({"payload":{"a":1.0}})");
  EXPECT_EQ(Written(R"({"a":1.0})", 5),
            R"({"payload":null,"payloadBeginning":"{\"a\":","payloadBytes":9})");
}

}  // namespace
}  // namespace queen::api
