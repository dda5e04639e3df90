// The description of the API and the routes are the same list.

#include "api/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include "api/openapi.h"
#include "api/test_api.h"
#include "base/json_range.h"
#include "base/json_reader.h"

namespace queen::api {
namespace {

// "GET /api/v1/pop/queue/{queue}" of GET and "/api/v1/pop/queue/:queue"
std::string AsTemplate(const http::RouteInfo& route) {
  std::string text = std::string(http::MethodName(route.method)) + ' ';
  bool parameter = false;
  char before = 0;
  for (const char c : route.pattern) {
    const bool begins = before == '/' && (c == ':' || c == '*');
    if (parameter && c == '/') text += '}';
    text += begins ? '{' : c;
    parameter = begins || (parameter && c != '/');
    before = c;
  }
  return parameter ? text + '}' : text;
}

std::set<std::string> DescribedOperations() {
  std::set<std::string> described;
  const Result<JsonValue> document = ParseJson(OpenApiDocument());
  if (!document.ok()) {
    ADD_FAILURE() << document.status().message();
    return described;
  }
  for (const JsonField& path : JsonFields(document->Find("paths"))) {
    const std::string place(path.key);
    for (const JsonField& operation : JsonFields(path.value)) {
      std::string method(operation.key);
      std::transform(method.begin(), method.end(), method.begin(),
                     [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      described.insert(method + ' ' + place);
    }
  }
  return described;
}

class RoutesTest : public ApiTest {};

TEST_F(RoutesTest, EveryRouteIsDescribedAndEveryDescriptionIsARoute) {
  const std::set<std::string> described = DescribedOperations();
  std::set<std::string> served;
  for (size_t i = 0; i < router_.size(); ++i) served.insert(AsTemplate(router_.route(i)));
  EXPECT_GT(served.size(), 30U);
  for (const std::string& route : served) {
    EXPECT_TRUE(described.contains(route))
        << route << " is served, but openapi/ says nothing of it";
  }
  for (const std::string& operation : described) {
    EXPECT_TRUE(served.contains(operation))
        << operation << " is in openapi/, but nothing serves it";
  }
}

TEST_F(RoutesTest, TheDocumentIsServedAsItIs) {
  Send("GET", "/openapi.json");
  EXPECT_EQ(response().status, 200);
  EXPECT_EQ(response().content_type, "application/json");
  EXPECT_EQ(response().body, OpenApiDocument());
  EXPECT_TRUE(response().body.starts_with("{\n \"openapi\": \"3.1.0\""));
}

}  // namespace
}  // namespace queen::api
