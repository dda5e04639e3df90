#include "http/response.h"

#include <gtest/gtest.h>

namespace queen::http {
namespace {

std::string Head(const Response& response, HeadTraits traits = {}) {
  std::string out;
  AppendHead(response, traits, out);
  return out;
}

TEST(Response, HeadOfAJsonReply) {
  EXPECT_EQ(Head(Response::Json(201, "[1]"), {.fixed_headers = "X-Fixed: 1\r\n"}),
            "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 3\r\n"
            "X-Fixed: 1\r\n\r\n");
}

TEST(Response, NoBodyMeansNoLength) {
  EXPECT_EQ(Head(Response::Empty()), "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(Head(Response::Empty(304)), "HTTP/1.1 304 Not Modified\r\n\r\n");
  EXPECT_NE(Head(Response::Empty(200)).find("Content-Length: 0\r\n"), std::string::npos);
}

TEST(Response, ConnectionIsSaidWhereItIsNotTheDefault) {
  EXPECT_NE(Head({}, {.close = true}).find("Connection: close\r\n"), std::string::npos);
  EXPECT_NE(Head({}, {.announce_keep_alive = true}).find("Connection: keep-alive\r\n"),
            std::string::npos);
  EXPECT_EQ(Head({}).find("Connection"), std::string::npos);
}

TEST(Response, HeaderValuesCannotBreakTheirLine) {
  Response response;
  response.AddHeader("X-Name", std::string_view("a\r\nSet-Cookie: b\0c", 18));
  EXPECT_NE(Head(response).find("X-Name: a  Set-Cookie: b c\r\n"), std::string::npos);
}

TEST(ErrorResponse, SaysTextAndCode) {
  const Response response = ErrorResponse(Status(Code::kNotFound, "No queue \"a\\b\""));
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body, R"({"error":"No queue \"a\\b\"","code":"not_found"})");
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_TRUE(response.headers.empty());
}

TEST(ErrorResponse, StaysJsonWhateverTheText) {
  const Response response = ErrorResponse(Status(Code::kInternal, "bad \xff\n\"byte\""));
  EXPECT_EQ(response.body, "{\"error\":\"bad \xef\xbf\xbd\\n\\\"byte\\\"\",\"code\":\"internal\"}");
}

TEST(ErrorResponse, EveryCodeHasItsStatusAnd503LooksLikeTheNetwork){
#define QUEEN_CHECK_CODE(id, name, sqlstate, http, retryable, text)             \
  {                                                                             \
    const Response response = ErrorResponse(Status(Code::id, "some text"));     \
    EXPECT_EQ(response.status, http);                                           \
    const bool refused = response.body.find(kRefusedText) != std::string::npos; \
    EXPECT_EQ(refused, (http) == 503) << (name);                                \
    EXPECT_EQ(response.HasHeader("retry-after"), (http) == 503) << (name);      \
    EXPECT_NE(ReasonPhrase(http), "Unknown") << (http);                         \
  }
    QUEEN_ERROR_CODES(QUEEN_CHECK_CODE)
#undef QUEEN_CHECK_CODE
}

TEST(ErrorResponse, TheRefusalIsSaidOnce) {
  const Response response = ErrorResponse(
      Status(Code::kDatabaseUnavailable, "connect: Connection refused (ECONNREFUSED)"));
  const size_t first = response.body.find(kRefusedText);
  EXPECT_EQ(response.body.find(kRefusedText, first + 1), std::string::npos);
}

TEST(Response, Any503CarriesRetryAfter) {
  EXPECT_NE(Head(Response::Json(503, "{}")).find("Retry-After: 1\r\n"), std::string::npos);
  Response response = Response::Json(503, "{}");
  response.AddHeader("retry-after", "9");
  EXPECT_EQ(Head(response).find("Retry-After: 1\r\n"), std::string::npos);
}

}  // namespace
}  // namespace queen::http
