#include "http/response_parser.h"

#include <gtest/gtest.h>

#include <vector>

namespace queen::http {
namespace {

using Event = ResponseParser::Event;

struct Seen {
  int status;
  std::string body;
  bool keep_alive;
  bool operator==(const Seen&) const = default;
};

// Every reply of `bytes`, read in pieces of `piece` bytes.
std::vector<Seen> Read(std::string_view bytes, size_t piece) {
  ResponseParser parser;
  std::vector<Seen> seen;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    std::string_view input = bytes.substr(at, piece);
    while (!input.empty()) {
      const Event event = parser.Next(input);
      EXPECT_NE(event, Event::kBroken) << parser.problem();
      if (event == Event::kBroken) return seen;
      if (event == Event::kResponse) {
        seen.push_back({parser.status(), std::string(parser.body()), parser.keep_alive()});
      }
    }
  }
  return seen;
}

TEST(ResponseParserTest, WhereTheReadsAreCutChangesNothing) {
  const std::string bytes =
      "HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\n[1,2]"
      "HTTP/1.1 204 No Content\r\nQueen-Paused: pop\r\n\r\n"
      "HTTP/1.1 100 Continue\r\n\r\n"
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"
      "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
  const std::vector<Seen> expected = {
      {201, "[1,2]", true}, {204, "", true}, {200, "abcdefg", true}, {503, "{}", false}};
  for (size_t piece = 1; piece <= bytes.size(); ++piece) EXPECT_EQ(Read(bytes, piece), expected);
}

TEST(ResponseParserTest, ABodyMayEndWithTheConnection) {
  ResponseParser parser;
  std::string_view input = "HTTP/1.1 200 OK\r\n\r\nhello";
  EXPECT_EQ(parser.Next(input), Event::kNeedMore);
  ASSERT_EQ(parser.Finish(), Event::kResponse);
  EXPECT_EQ(parser.body(), "hello");
  EXPECT_FALSE(parser.keep_alive());
}

TEST(ResponseParserTest, AReplyCutShortIsBroken) {
  ResponseParser parser;
  std::string_view input = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello";
  EXPECT_EQ(parser.Next(input), Event::kNeedMore);
  EXPECT_EQ(parser.Finish(), Event::kBroken);
  parser.Reset();
  EXPECT_EQ(parser.Finish(), Event::kBroken) << "nothing is no reply";
}

TEST(ResponseParserTest, NonsenseAndGiantsAreRefusedAndResetForgetsThem) {
  ResponseParser parser;
  std::string_view input = "FTP 220 hello\r\n\r\n";
  EXPECT_EQ(parser.Next(input), Event::kBroken);
  EXPECT_NE(parser.problem(), "");
  parser.Reset();
  input = "HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n";
  EXPECT_EQ(parser.Next(input), Event::kBroken);
  EXPECT_EQ(parser.problem(), "the body of the reply is too large");
  parser.Reset();
  input = "HTTP/1.1 204 No Content\r\n\r\n";
  EXPECT_EQ(parser.Next(input), Event::kResponse);
}

}  // namespace
}  // namespace queen::http
