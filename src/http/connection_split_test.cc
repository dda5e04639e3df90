// Where the network cuts a request never changes its answer: a corpus of valid streams is sent
// whole, cut once at every byte, and byte by byte. The server is known to have read the first part
// before the second is sent.
#include <gtest/gtest.h>

#include "http/test_server.h"

namespace queen::http {
namespace {

const std::vector<std::string>& Corpus() {
  static const std::vector<std::string> corpus = {
      GetRequest("/plain?a=b"),
      PostRequest("/post", "{\"a\":\"b\"}", "X: value\r\n"),
      ("POST /chunked HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
       "4;name=value;other=\"q\"\r\nfour\r\nA\r\n0123456789\r\n0\r\nTrailer: yes\r\n\r\n"),
      GetRequest("/one") + PostRequest("/two", "body") + GetRequest("/three"),
      "\r\n" + GetRequest("/after-blank") + "\r\n\r\n" + GetRequest("/again"),
      "GET /old HTTP/1.0\r\n\r\n",
      "GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + GetRequest("/new"),
      "HEAD /head HTTP/1.1\r\nHost: h\r\n\r\n",
      GetRequest("/caf\xc3\xa9/%E2%82%AC"),
      GetRequest("/close", "Connection: close\r\n"),
      PostRequest("/empty", ""),
      PostRequest("/expect", "ab", "Expect: 100-continue\r\n"),
  };
  return corpus;
}

// All that is answered to `stream` when it is sent in pieces that end at `cuts`. Interim replies
// and the date are left out: both depend on time.
std::string AnswersTo(TestServer& server, std::string_view stream,
                      const std::vector<size_t>& cuts) {
  const uint64_t before = server.counters().bytes_in;
  TestClient client(server);
  size_t begin = 0;
  for (const size_t cut : cuts) {
    client.Send(stream.substr(begin, cut - begin));
    begin = cut;
    EXPECT_TRUE(
        server.WaitFor([&] { return server.connections().counters().bytes_in == before + cut; }));
  }
  client.Send(stream.substr(begin));
  client.ShutdownWrite();
  std::string answers = client.ReadToEnd();
  const std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
  if (const size_t at = answers.find(interim); at != answers.npos)
    answers.erase(at, interim.size());
  for (const std::string line : {"\r\nDate: ", "\r\nConnection: close"}) {
    for (size_t at = 0; (at = answers.find(line)) != answers.npos;) {
      answers.erase(at, answers.find("\r\n", at + 2) - at);
    }
  }
  return answers;
}

TEST(ConnectionSplit, OneCutAnywhere) {
  TestServer server(Echo);
  for (const std::string& stream : Corpus()) {
    const std::string whole = AnswersTo(server, stream, {});
    ASSERT_TRUE(whole.starts_with("HTTP/1.1 200 OK\r\n")) << stream << whole;
    for (size_t cut = 1; cut < stream.size(); ++cut) {
      ASSERT_EQ(AnswersTo(server, stream, {cut}), whole) << stream << "\ncut at " << cut;
    }
  }
}

TEST(ConnectionSplit, ByteByByte) {
  TestServer server(Echo);
  for (const std::string& stream : Corpus()) {
    std::vector<size_t> cuts;
    for (size_t cut = 1; cut < stream.size(); ++cut) cuts.push_back(cut);
    EXPECT_EQ(AnswersTo(server, stream, cuts), AnswersTo(server, stream, {})) << stream;
  }
}

}  // namespace
}  // namespace queen::http
