#include "api/message_meta.h"

#include <gtest/gtest.h>

namespace queen::api {
namespace {

constexpr std::string_view kTrace = "0190a6e2-5b1c-7abc-8def-0123456789ab";

TEST(MessageMeta, SaysOnlyWhatThereIs) {
  const auto trace = Uuid::Parse(kTrace);
  EXPECT_EQ(WriteMessageMeta({}, "", ""), "");
  EXPECT_EQ(WriteMessageMeta(trace, "", ""),
            R"({"traceId":"0190a6e2-5b1c-7abc-8def-0123456789ab"})");
  EXPECT_EQ(WriteMessageMeta({}, R"({"a":"b"})", ""), R"({"headers":{"a":"b"}})");
  EXPECT_EQ(WriteMessageMeta({}, "", "a\"b"), R"({"producerSub":"a\"b"})");
  EXPECT_EQ(
      WriteMessageMeta(trace, "{}", "me"),
      R"({"traceId":"0190a6e2-5b1c-7abc-8def-0123456789ab","headers":{},"producerSub":"me"})");
}

TEST(MessageMeta, ReadsWhatAnybodyWrote) {
  const MessageMeta meta =
      ReadMessageMeta(R"( {"producerSub": "x", "encrypted": true, "headers" : {"k": "v"} } )");
  EXPECT_EQ(meta.producer_sub, R"("x")");
  EXPECT_EQ(meta.headers, R"({"k": "v"})");
  EXPECT_EQ(meta.trace_id, "");
}

TEST(MessageMeta, NonsenseIsNothing) {
  for (const std::string_view line :
       {"", "null", "[]", R"({"traceId":1,"headers":"x","producerSub":null})", R"({"traceId":"a")",
        R"({"traceId":"a"} x)"}) {
    const MessageMeta meta = ReadMessageMeta(line);
    EXPECT_EQ(meta.trace_id, "") << line;
    EXPECT_EQ(meta.headers, "") << line;
    EXPECT_EQ(meta.producer_sub, "") << line;
  }
}

}  // namespace
}  // namespace queen::api
