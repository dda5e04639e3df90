#include "base/json_range.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace queen {
namespace {

std::vector<std::string> Members(std::string_view json) {
  std::vector<std::string> out;
  const Result<JsonValue> value = ParseJson(json);
  EXPECT_TRUE(value.ok()) << json;
  for (const JsonValue element : JsonElements(*value)) out.emplace_back(element.raw());
  for (const JsonField& field : JsonFields(*value)) {
    out.push_back(std::string(field.key) + "=" + std::string(field.value.raw()));
  }
  return out;
}

using Strings = std::vector<std::string>;

TEST(JsonRange, GivesTheMembersInOrder) {
  EXPECT_EQ(Members("[ 1, [2], {\"a\":3}, \"x\" ]"), (Strings{"1", "[2]", "{\"a\":3}", "\"x\""}));
  EXPECT_EQ(Members(R"({"a":1,"\u0062":[ ],"a":null})"), (Strings{"a=1", "b=[ ]", "a=null"}));
}

TEST(JsonRange, OtherKindsHaveNone) {
  for (const char* json : {"[]", "{}", "null", "7", "\"[1]\"", "[ ]"}) {
    EXPECT_EQ(Members(json), Strings{}) << json;
  }
  for (const JsonValue element : JsonElements(JsonValue())) FAIL() << element.raw();
}

TEST(JsonRange, CanBeLeftEarly) {
  const Result<JsonValue> value = ParseJson("[1,2,3]");
  for (const JsonValue element : JsonElements(*value)) {
    EXPECT_EQ(element.raw(), "1");
    break;
  }
}

}  // namespace
}  // namespace queen
