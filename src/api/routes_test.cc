// The description of the API and the routes are the same list.

#include "api/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <vector>

#include "api/openapi.h"
#include "api/test_api.h"
#include "base/json_range.h"
#include "base/json_reader.h"

namespace queen::api {
namespace {

// "GET /api/v1/pop/queue/{queue}" of "GET /api/v1/pop/queue/:queue"
std::string AsTemplate(const std::string& route) {
  std::string text;
  bool parameter = false;
  for (size_t i = 0; i < route.size(); ++i) {
    const bool begins = route[i] == ':' || route[i] == '*';
    if (begins && route[i - 1] == '/') {
      text += '{';
      parameter = true;
      continue;
    }
    if (route[i] == '/' && parameter) {
      text += '}';
      parameter = false;
    }
    text += route[i];
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
  for (const std::string& route : router_.List()) served.insert(AsTemplate(route));
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
