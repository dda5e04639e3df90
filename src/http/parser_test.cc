#include "http/parser.h"

#include <gtest/gtest.h>

namespace queen::http {
namespace {

constexpr std::string_view kHost = "Host: x\r\n";

std::string Get(std::string_view target, std::string_view fields = {}) {
  return std::string("GET ").append(target).append(" HTTP/1.1\r\n").append(kHost).append(fields) +
         "\r\n";
}

Code CodeOf(std::string_view bytes, const Limits& limits = {}) {
  const auto request = ParseRequest(bytes, limits);
  return request.ok() ? Code::kOk : request.status().code();
}

Request Parsed(std::string_view bytes) {
  auto request = ParseRequest(bytes);
  EXPECT_TRUE(request.ok()) << bytes << ": " << request.status().message();
  return request.ok() ? *std::move(request) : Request();
}

TEST(Parser, AGetInOnePiece) {
  const Request request =
      Parsed("GET /a%20b?c=d HTTP/1.1\r\nHost: h\r\nX-Empty:\r\nx-NAME:  spaced out \t\r\n\r\n");
  EXPECT_EQ(request.method(), Method::kGet);
  EXPECT_EQ(request.target(), "/a%20b?c=d");
  EXPECT_EQ(request.raw_path(), "/a%20b");
  EXPECT_EQ(request.path(), "/a b");
  EXPECT_EQ(request.raw_query(), "c=d");
  EXPECT_EQ(request.Header("host"), "h");
  EXPECT_EQ(request.Header("X-Name"), "spaced out");
  EXPECT_EQ(request.Header("x-empty"), "");
  EXPECT_EQ(request.Header("missing"), std::nullopt);
  EXPECT_TRUE(request.keep_alive());
  EXPECT_EQ(request.version_minor(), 1);
  EXPECT_EQ(request.body(), "");
}

TEST(Parser, ARequestCanBeMoved) {
  Request request = Parsed("GET / HTTP/1.0\r\n\r\n");
  const Request moved = std::move(request);
  EXPECT_EQ(moved.target(), "/");
  EXPECT_FALSE(moved.keep_alive());
}

TEST(Parser, BodiesByLengthAndInChunks) {
  EXPECT_EQ(Parsed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello").body(), "hello");
  EXPECT_EQ(Parsed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n").body(), "");
  EXPECT_EQ(Parsed("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: CHUNKED\r\n\r\n"
                   "5;ext=1;q=\"a b\"\r\nhello\r\n0A\r\n, 10 bytes\r\n0\r\nTrailer: 1\r\n\r\n")
                .body(),
            "hello, 10 bytes");
  EXPECT_EQ(
      Parsed("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").body(),
      "");
  EXPECT_EQ(Parsed("DELETE / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}").body(), "{}");
}

TEST(Parser, Targets) {
  EXPECT_EQ(Parsed(Get("http://h:80/p?q")).raw_path(), "/p");
  EXPECT_EQ(Parsed(Get("http://h?q=/x")).raw_path(), "/");
  EXPECT_EQ(Parsed(Get("http://h")).raw_path(), "/");
  EXPECT_EQ(Parsed(Get("/p?http://x/y")).raw_path(), "/p");
  EXPECT_EQ(Parsed(Get("/p?http://x/y")).raw_query(), "http://x/y");
  EXPECT_EQ(Parsed(Get("/p?")).raw_query(), "");
  EXPECT_EQ(Parsed(Get("/\xc3\xa9?\xe2\x82\xac")).target(), "/\xc3\xa9?\xe2\x82\xac");
  EXPECT_EQ(Parsed("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").raw_path(), "");
  EXPECT_EQ(Parsed("CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n").method(), Method::kOther);
}

TEST(Parser, KeepAliveByVersionAndHeader) {
  EXPECT_TRUE(Parsed(Get("/")).keep_alive());
  EXPECT_FALSE(Parsed(Get("/", "Connection: close\r\n")).keep_alive());
  EXPECT_FALSE(Parsed(Get("/", "Connection: foo, Close\r\n")).keep_alive());
  EXPECT_FALSE(Parsed("GET / HTTP/1.0\r\n\r\n").keep_alive());
  EXPECT_TRUE(Parsed("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keep_alive());
}

TEST(Parser, AnOfferedUpgradeIsIgnored) {
  EXPECT_EQ(Parsed(Get("/",
                       "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                       "HTTP2-Settings: AA\r\n"))
                .target(),
            "/");
}

TEST(Parser, EmptyLinesBeforeARequestAreSkipped) {
  EXPECT_EQ(Parsed("\r\n\r\n" + Get("/x")).target(), "/x");
}

TEST(Parser, RefusesWhatCouldBeReadInTwoWays) {
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  for (const std::string& bad : {
           post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           post + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
           post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
           post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
           post + "Content-Length: 3, 3\r\n\r\nabc",
           post + "Content-Length: +3\r\n\r\nabc",
           post + "Content-Length: -1\r\n\r\n",
           post + "Content-Length: 0x3\r\n\r\nabc",
           post + "Content-Length: 3 3\r\n\r\nabc",
           post + "Content-Length:\r\n\r\n",
           post + "Content-Length: 99999999999999999999999\r\n\r\n",
           post + "Content-Length : 3\r\n\r\nabc",
           post + " Content-Length: 3\r\n\r\nabc",
           post + "X: a\r\n\tfolded\r\n\r\n",
           post + "X: a\r\n folded\r\n\r\n",
           post + "Transfer-Encoding: identity\r\n\r\n",
           post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
           post + "X: a\rContent-Length: 3\r\n\r\nabc",
           post + "X: a\nContent-Length: 3\r\n\r\nabc",
           post + "X: a\r\rb\r\n\r\n",
           post + "X Y: a\r\n\r\n",
           post + "X\r\n\r\n",
           post + ": a\r\n\r\n",
           post + "X\x01: a\r\n\r\n",
           post + "X: a\x01\r\n\r\n",
           post + "X\xc3\xa9: a\r\n\r\n",
           post + std::string("X: a\0b\r\n\r\n", 10),
           post + "\n",
           std::string("GET / HTTP/1.1\nHost: h\n\n"),
           std::string("GET  / HTTP/1.1\r\nHost: h\r\n\r\n"),
           std::string("GET /  HTTP/1.1\r\nHost: h\r\n\r\n"),
           std::string("GET / HTTP/1.1 \r\nHost: h\r\n\r\n"),
           std::string("GET /\t HTTP/1.1\r\nHost: h\r\n\r\n"),
           std::string("GET /\x7f HTTP/1.1\r\nHost: h\r\n\r\n"),
           std::string("GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n", 28),
           std::string("GET /\r\n\r\n"),
           std::string("GET\r\n\r\n"),
           std::string("GET / HTTP/1.x\r\nHost: h\r\n\r\n"),
           std::string("GET / FTP/1.1\r\nHost: h\r\n\r\n"),
           std::string("get / HTTP/1.1\r\nHost: h\r\n\r\n"),
           std::string("BREW / HTTP/1.1\r\nHost: h\r\n\r\n"),
           std::string("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
           std::string("\x16\x03\x01\x02\x00\x01", 6),
           std::string("\rGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
       }) {
    EXPECT_EQ(CodeOf(bad), Code::kInvalidRequest) << bad;
  }
}

TEST(Parser, RefusesMalformedChunks) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* bad :
       {"x\r\n", "5\nhello\r\n0\r\n\r\n", "5\rhello", "5\r\nhelloX\r\n", "5\r\nhello\r\rX",
        "5\r\nhello0\r\n\r\n", "-1\r\n", "00000000000000005\r\n", " 5\r\nhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n", "5;\x01\r\n", "5;\nhello", ";a\r\n", "0\r\n X: 1\r\n\r\n",
        "0\r\nX Y: 1\r\n\r\n", "0\r\nX: 1\r\rY", "\r\n"}) {
    EXPECT_EQ(CodeOf(head + bad), Code::kInvalidRequest) << bad;
  }
}

TEST(Parser, HostsAreExactlyOneInHttp11) {
  EXPECT_EQ(CodeOf("GET / HTTP/1.1\r\n\r\n"), Code::kInvalidRequest);
  EXPECT_EQ(CodeOf("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), Code::kInvalidRequest);
  EXPECT_EQ(CodeOf("GET / HTTP/1.1\r\nHost:\r\n\r\n"), Code::kOk);
  EXPECT_EQ(CodeOf("GET / HTTP/1.0\r\n\r\n"), Code::kOk);
}

TEST(Parser, VersionsCodingsAndExpectations) {
  EXPECT_EQ(CodeOf("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), Code::kHttpVersion);
  EXPECT_EQ(CodeOf("GET / HTTP/0.9\r\nHost: h\r\n\r\n"), Code::kHttpVersion);
  EXPECT_EQ(CodeOf("GET / HTTP/1.2\r\nHost: h\r\n\r\n"), Code::kHttpVersion);
  EXPECT_EQ(CodeOf("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Code::kHttpVersion);
  EXPECT_EQ(CodeOf("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
            Code::kNotImplemented);
  EXPECT_EQ(CodeOf(Get("/", "Expect: 200-ok\r\n")), Code::kExpectationFailed);
  EXPECT_EQ(CodeOf("GET / HTTP/1.0\r\nExpect: 200-ok\r\n\r\n"), Code::kOk);
}

TEST(Parser, ContinueIsExpectedOnlyWhereABodyFollows) {
  const Limits limits;
  Parser parser(limits);
  std::string_view head =
      "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n";
  EXPECT_EQ(parser.Next(head), Parser::Event::kContinueExpected);
  EXPECT_TRUE(parser.started());
  std::string_view body = "{}GET";
  EXPECT_EQ(parser.Next(body), Parser::Event::kRequest);
  EXPECT_EQ(body, "GET");
  EXPECT_EQ(parser.Take().body(), "{}");
  EXPECT_FALSE(parser.started());
  std::string_view bare = "GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n";
  EXPECT_EQ(parser.Next(bare), Parser::Event::kRequest);
}

TEST(Parser, HeaderLimitAtItsEdge) {
  Limits limits;
  limits.header_bytes_max = 200;
  std::string bytes = Get("/", "X: ");
  bytes.insert(bytes.size() - 2, std::string(200 - 2 - bytes.size(), 'a') + "\r\n");
  ASSERT_EQ(bytes.size(), 200U);
  EXPECT_EQ(CodeOf(bytes, limits), Code::kOk);
  bytes.insert(bytes.size() - 4, "a");
  EXPECT_EQ(CodeOf(bytes, limits), Code::kHeadersTooLarge);
  EXPECT_EQ(CodeOf("GET / HTTP/1.1\r\nX: " + std::string(300, 'a'), limits),
            Code::kHeadersTooLarge);
}

TEST(Parser, TargetLimitAtItsEdge) {
  Limits limits;
  limits.target_bytes_max = 100;
  const std::string fits = "/" + std::string(99, 'a');
  EXPECT_EQ(CodeOf(Get(fits), limits), Code::kOk);
  EXPECT_EQ(CodeOf(Get(fits + "a"), limits), Code::kUriTooLong);
  // Decided before the line ends.
  EXPECT_EQ(CodeOf("GET " + fits + "a", limits), Code::kUriTooLong);
}

TEST(Parser, BodyLimitAtItsEdge) {
  Limits limits;
  limits.body_bytes_max = 10;
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(CodeOf(post + "Content-Length: 10\r\n\r\n0123456789", limits), Code::kOk);
  EXPECT_EQ(CodeOf(post + "Content-Length: 11\r\n\r\n", limits), Code::kPayloadTooLarge);
  EXPECT_EQ(CodeOf(post + "Expect: 100-continue\r\nContent-Length: 11\r\n\r\n", limits),
            Code::kPayloadTooLarge);
  EXPECT_EQ(CodeOf(chunked + "5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n", limits), Code::kOk);
  EXPECT_EQ(CodeOf(chunked + "5\r\n01234\r\n6\r\n", limits), Code::kPayloadTooLarge);
  EXPECT_EQ(CodeOf(chunked + "ffffffffffffffff\r\n", limits), Code::kPayloadTooLarge);
}

TEST(Parser, TrailersAndExtensionsAreBounded) {
  Limits limits;
  limits.header_bytes_max = 100;
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string trailers;
  std::string extensions;
  for (int i = 0; i < 30; ++i) {
    trailers += "Name: value\r\n";
    extensions += "1;abcdefghij\r\nx\r\n";
  }
  EXPECT_EQ(CodeOf(head + "0\r\nName: value\r\n\r\n", limits), Code::kOk);
  EXPECT_EQ(CodeOf(head + "0\r\n" + trailers + "\r\n", limits), Code::kHeadersTooLarge);
  EXPECT_EQ(CodeOf(head + extensions + "0\r\n\r\n", limits), Code::kHeadersTooLarge);
}

TEST(Parser, NothingIsParsedAfterARefusal) {
  const Limits limits;
  Parser parser(limits);
  std::string_view input = "nonsense\r\n\r\n";
  EXPECT_EQ(parser.Next(input), Parser::Event::kRefused);
  const std::string good = Get("/");
  input = good;
  EXPECT_EQ(parser.Next(input), Parser::Event::kRefused);
  EXPECT_EQ(parser.refusal().code(), Code::kInvalidRequest);
}

TEST(Parser, AnnouncedLengthDoesNotTakeMemory) {
  const Limits limits;
  Parser parser(limits);
  std::string_view input = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 60000000\r\n\r\n";
  EXPECT_EQ(parser.Next(input), Parser::Event::kBodyFollows);
  const std::string piece(1'000'000, 'x');
  size_t sent = 0;
  while (true) {
    input = piece;
    sent += piece.size();
    const auto event = parser.Next(input);
    if (sent < 60'000'000) {
      ASSERT_EQ(event, Parser::Event::kNeedMore);
    } else {
      ASSERT_EQ(event, Parser::Event::kRequest);
      break;
    }
  }
  const Request request = parser.Take();
  EXPECT_EQ(request.body().size(), 60'000'000U);
  EXPECT_EQ(request.body().capacity(), 60'000'000U);
}

// What a stream of requests comes out as.
std::string Describe(std::string_view stream, const std::vector<size_t>& cuts) {
  const Limits limits;
  Parser parser(limits);
  std::string seen;
  size_t begin = 0;
  for (size_t i = 0; i <= cuts.size(); ++i) {
    const size_t end = i < cuts.size() ? cuts[i] : stream.size();
    std::string_view input = stream.substr(begin, end - begin);
    begin = end;
    while (!input.empty()) {
      const auto event = parser.Next(input);
      if (event == Parser::Event::kRefused) {
        return seen + "refused " + parser.refusal().ToString();
      }
      if (event != Parser::Event::kRequest) continue;
      const Request request = parser.Take();
      seen.append(MethodName(request.method())).append(" ").append(request.target());
      seen.append(" ").append(request.Header("x").value_or("-"));
      seen.append(" ").append(request.body()).append("\n");
    }
  }
  return seen + (parser.started() ? "incomplete" : "");
}

TEST(Parser, WhereTheReadsAreCutDoesNotMatter) {
  const std::vector<std::string> streams = {
      Get("/a?b=c", "X: value\r\n"),
      "\r\n\r\n" + Get("/a") + "\r\n" + Get("/b") + Get("/\xc3\xa9"),
      "POST /p HTTP/1.1\r\nHost: h\r\nX:  1 \r\nContent-Length: 11\r\n\r\nhello world" + Get("/n"),
      "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;e=\"v\"\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n" +
          Get("/n"),
      "POST /p HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}",
      "GET / HTTP/1.1\r\nHost: h\r\nX : bad\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
      "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\n",
      "GET / HTTP/3.0\r\n\r\n",
      "\r\nGET / HTTP/1.1\r\nHost: h",
  };
  for (const std::string& stream : streams) {
    const std::string whole = Describe(stream, {});
    std::vector<size_t> everywhere;
    for (size_t cut = 1; cut < stream.size(); ++cut) {
      EXPECT_EQ(Describe(stream, {cut}), whole) << stream << " cut at " << cut;
      everywhere.push_back(cut);
    }
    EXPECT_EQ(Describe(stream, everywhere), whole) << stream;
  }
}

}  // namespace
}  // namespace queen::http
