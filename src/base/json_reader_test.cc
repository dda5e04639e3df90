#include "base/json_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace queen {
namespace {

JsonValue Parse(std::string_view text) {
  Result<JsonValue> value = ParseJson(text);
  EXPECT_TRUE(value.ok()) << text << ": " << value.status().message();
  return value.ok() ? *value : JsonValue();
}

struct Item {
  JsonValue queue, payload;
};

// The shape of every hot path: one pass, unknown fields skipped but checked.
Result<std::vector<Item>> ReadItems(std::string_view body) {
  std::vector<Item> items;
  JsonReader reader(body);
  if (reader.EnterObject()) {
    while (reader.NextField()) {
      if (reader.key() != "items") continue;
      items.clear();
      if (!reader.EnterArray()) continue;
      while (reader.NextElement()) {
        Item& item = items.emplace_back();
        if (!reader.EnterObject()) continue;
        while (reader.NextField()) {
          if (reader.key() == "queue") {
            item.queue = reader.Value();
          } else if (reader.key() == "payload") {
            item.payload = reader.Value();
          }
        }
      }
    }
  }
  QUEEN_RETURN_IF_ERROR(reader.Finish());
  return items;
}

TEST(JsonReader, ReadsABodyInOnePass) {
  const auto items = ReadItems(R"( {"x": [1, {"items": 2}], "items": [
      {"queue": "a", "payload": { "n": 1.50,  "k": "\u0000" }, "other": [[]]},
      {"payload": null}, 7, {} ], "y": true} )");
  ASSERT_TRUE(items.ok()) << items.status().message();
  ASSERT_EQ(items->size(), 4u);
  EXPECT_EQ((*items)[0].queue.raw(), "\"a\"");
  EXPECT_EQ((*items)[0].payload.raw(), R"({ "n": 1.50,  "k": "\u0000" })");
  EXPECT_TRUE((*items)[0].payload.is_object());
  EXPECT_TRUE((*items)[1].queue.absent());
  EXPECT_TRUE((*items)[1].payload.is_null());
  EXPECT_TRUE((*items)[2].payload.absent());
}

TEST(JsonReader, AFaultInWhatIsSkippedIsFound) {
  for (const char* body :
       {R"({"items":[{"queue":"a","other":01}]})", R"({"items":[{"queue":"a"}],"z":[1,]})",
        R"({"z":"\q","items":[]})", R"({"items":[{"queue":"a"}]} x)", R"({"items":[{"queue")",
        R"({"items":[{"queue":"a","payload":{"a":01x,,}}]})", R"({"items":[}]})", R"([)",
        R"({"items":[1,2})", R"({"items":x})"}) {
    const auto items = ReadItems(body);
    EXPECT_EQ(items.status().code(), Code::kInvalidRequest) << body;
  }
}

TEST(JsonReader, AnotherShapeIsReadToo) {
  for (const char* body :
       {"[]", "null", "7", "\"items\"", R"({"items":null})", R"({"items":{}})", "[[1]]"}) {
    const auto items = ReadItems(body);
    ASSERT_TRUE(items.ok()) << body;
    EXPECT_TRUE(items->empty()) << body;
  }
}

TEST(JsonReader, EnterLeavesAnotherKindUnread) {
  JsonReader reader("[1]");
  EXPECT_FALSE(reader.EnterObject());
  EXPECT_FALSE(reader.failed());
  EXPECT_EQ(reader.Peek(), JsonKind::kArray);
  ASSERT_TRUE(reader.EnterArray());
  ASSERT_TRUE(reader.NextElement());
  EXPECT_FALSE(reader.EnterArray());
  EXPECT_EQ(reader.Value().raw(), "1");
  EXPECT_FALSE(reader.NextElement());
  EXPECT_TRUE(reader.Finish().ok());
}

// A caller that ignores what EnterObject said gets an empty loop, not a crash.
TEST(JsonReader, AskingForFieldsOfNoObjectIsFalse) {
  for (const char* text : {"7", "[1,2]", "\"x\""}) {
    JsonReader reader(text);
    EXPECT_FALSE(reader.EnterObject());
    EXPECT_FALSE(reader.NextField());
    EXPECT_FALSE(reader.NextField());
    EXPECT_TRUE(reader.Finish().ok());
  }
  JsonReader reader("[7,8]");
  ASSERT_TRUE(reader.EnterArray());
  ASSERT_TRUE(reader.NextElement());
  EXPECT_FALSE(reader.NextField());
  ASSERT_TRUE(reader.NextElement());
  EXPECT_EQ(reader.Value().raw(), "8");
  EXPECT_FALSE(reader.NextElement());
  EXPECT_FALSE(reader.NextElement());
  EXPECT_TRUE(reader.Finish().ok());
}

TEST(JsonReader, PeekTellsTheKind) {
  const std::vector<std::pair<const char*, JsonKind>> kinds = {
      {"null", JsonKind::kNull}, {"true", JsonKind::kBool}, {"false", JsonKind::kBool},
      {"-1", JsonKind::kNumber}, {"9", JsonKind::kNumber},  {"\"", JsonKind::kString},
      {"[", JsonKind::kArray},   {"{", JsonKind::kObject},  {"", JsonKind::kAbsent},
      {"?", JsonKind::kAbsent}};
  for (const auto& [text, kind] : kinds) EXPECT_EQ(JsonReader(text).Peek(), kind) << text;
}

TEST(JsonReader, LeaveSkipsTheRestAndChecksIt) {
  JsonReader reader(R"({"a":[1,[2,{"x":3}],4],"b":5})");
  ASSERT_TRUE(reader.EnterObject());
  ASSERT_TRUE(reader.NextField());
  ASSERT_TRUE(reader.EnterArray());
  ASSERT_TRUE(reader.NextElement());
  ASSERT_TRUE(reader.NextElement());
  ASSERT_TRUE(reader.EnterArray());
  reader.Leave();
  reader.Leave();
  ASSERT_TRUE(reader.NextField());
  EXPECT_EQ(reader.key(), "b");
  EXPECT_EQ(reader.Value().raw(), "5");
  EXPECT_TRUE(reader.Finish().ok());

  JsonReader broken("[1,[2,]]");
  ASSERT_TRUE(broken.EnterArray());
  ASSERT_TRUE(broken.NextElement());
  broken.Leave();
  EXPECT_TRUE(broken.failed());
  EXPECT_TRUE(broken.Value().absent());
  EXPECT_FALSE(broken.NextElement());
  broken.Leave();
  EXPECT_EQ(broken.Finish().message(), "Invalid JSON at byte 6: expected a value");
}

TEST(JsonReader, FinishReadsWhatWasLeftAnywhere) {
  for (const char* text : {R"({"a":[1,{"b":2}],"c":3})", R"({"a":[1,{"b":02}],"c":3})"}) {
    for (int steps = 0; steps < 5; ++steps) {
      JsonReader reader(text);
      EXPECT_TRUE(steps <= 0 || reader.EnterObject());
      EXPECT_TRUE(steps <= 1 || reader.NextField());
      EXPECT_TRUE(steps <= 2 || reader.EnterArray());
      EXPECT_TRUE(steps <= 3 || reader.NextElement());
      EXPECT_EQ(reader.Finish().ok(), ParseJson(text).ok());
    }
  }
}

TEST(JsonReader, KeysAreDecodedOnlyWhenEscaped) {
  const std::string text = R"({"plain":1,"qu\u0065ue":2,"\ud800":3,"a\u0000":4})";
  JsonReader reader(text);
  ASSERT_TRUE(reader.EnterObject());
  ASSERT_TRUE(reader.NextField());
  EXPECT_EQ(reader.key().data(), text.data() + 2);
  ASSERT_TRUE(reader.NextField());
  EXPECT_EQ(reader.key(), "queue");
  EXPECT_EQ(reader.key_value().raw(), R"("qu\u0065ue")");
  ASSERT_TRUE(reader.NextField());
  EXPECT_EQ(reader.key(), "\xEF\xBF\xBD");
  ASSERT_TRUE(reader.NextField());
  EXPECT_EQ(reader.key(), std::string_view("a\0", 2));
  EXPECT_FALSE(reader.NextField());
}

TEST(JsonReader, DepthCountsWhatWasEntered) {
  const std::string text =
      std::string(kJsonDepthMax + 1, '[') + std::string(kJsonDepthMax + 1, ']');
  JsonReader reader(text);
  size_t depth = 0;
  while (reader.EnterArray()) {
    ++depth;
    if (!reader.NextElement()) break;
  }
  EXPECT_EQ(depth, kJsonDepthMax);
  EXPECT_TRUE(reader.failed());
}

TEST(JsonValue, FindTakesTheLastOfRepeatedKeys) {
  const JsonValue object = Parse(R"({"a":1,"b":{"a":9},"\u0061":2})");
  EXPECT_EQ(object.Find("a").raw(), "2");
  EXPECT_EQ(object.Find("b").Find("a").raw(), "9");
  EXPECT_TRUE(object.Find("c").absent());
  EXPECT_TRUE(Parse("[1]").Find("a").absent());
  EXPECT_TRUE(JsonValue().Find("a").absent());
}

TEST(JsonValue, KeepsBytesAsTheyCame) {
  EXPECT_EQ(Parse(" 1.50e+01 ").raw(), "1.50e+01");
  const std::string huge = "1" + std::string(400, '0');
  EXPECT_EQ(Parse(huge).raw(), huge);
  EXPECT_EQ(Parse("\n{\"b\":1 ,\n\"a\":9223372036854775808}\n").raw(),
            "{\"b\":1 ,\n\"a\":9223372036854775808}");
}

TEST(JsonValue, BoolAndDouble) {
  EXPECT_TRUE(*Parse("true").Bool());
  EXPECT_FALSE(*Parse("false").Bool());
  EXPECT_EQ(Parse("1").Bool().status().message(), "must be true or false");
  EXPECT_EQ(*Parse("-2.5").Double(), -2.5);
  EXPECT_FALSE(Parse("1e400").Double().ok());
  EXPECT_FALSE(Parse("\"1\"").Double().ok());
}

TEST(JsonValue, Int64) {
  EXPECT_EQ(*Parse("42").Int64(), 42);
  EXPECT_EQ(Parse("1.5").Int64().status().message(), "must be a whole number of at most 64 bits");
  EXPECT_EQ(Parse("\"1\"").Int64().status().message(), "must be a whole number");
  EXPECT_EQ(JsonValue().Int64().status().code(), Code::kInvalidRequest);
}

TEST(JsonValue, StringsThatCannotBeNamesAreRefused) {
  JsonScratch scratch;
  EXPECT_EQ(*Parse(R"("a\/b")").String(scratch), "a/b");
  EXPECT_EQ(Parse(R"("a\u0000")").String(scratch).status().message(),
            "must not contain the character U+0000");
  EXPECT_EQ(Parse(R"("\udead")").String(scratch).status().message(),
            "must not contain half of a surrogate pair");
  EXPECT_EQ(Parse("7").String(scratch).status().message(), "must be a string");
  EXPECT_EQ(NameOf(Parse("7").kind()), "number");
}

}  // namespace
}  // namespace queen
