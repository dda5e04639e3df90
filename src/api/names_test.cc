#include "api/names.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json_reader.h"

namespace queen::api {
namespace {

std::string Problem(std::string_view name) { return CheckName("queue", name).message(); }

// As it comes in a body: `json` with its quotes.
std::string JsonProblem(std::string_view json) {
  JsonScratch scratch;
  return CheckName("partition", ParseJson(json)->Text(scratch)).message();
}

std::string IdProblem(std::string_view json) {
  JsonScratch scratch;
  return CheckTransactionId(ParseJson(json)->Text(scratch)).message();
}

std::string Quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string Repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::string KeyProblem(std::string_view json) {
  JsonScratch scratch;
  return CheckStateKey("keys", ParseJson(json)->Text(scratch)).message();
}

TEST(StateKeys, AnyCharacterButNul) {
  for (const std::string_view key : {R"("")", R"("w\u001f1769898605123\u001fuser 7")",
                                     R"("a\nb\t\u007f\u0085")", R"("%_\\")", R"("\uD83D\uDC51")"}) {
    EXPECT_EQ(KeyProblem(key), "") << key;
  }
  EXPECT_EQ(KeyProblem(R"("a\u0000")"), "keys must not contain NUL");
  EXPECT_EQ(KeyProblem(R"("\uD800")"), "keys must not contain half of a surrogate pair");
}

TEST(StateKeys, LengthIsCountedInBytes) {
  EXPECT_EQ(KeyProblem(Quoted(std::string(2'048, 'k'))), "");
  EXPECT_EQ(KeyProblem(Quoted(Repeat("\xC3\xA9", 1'024))), "");
  EXPECT_EQ(KeyProblem(Quoted(std::string(2'049, 'k'))), "keys must not be longer than 2048 bytes");
}

TEST(Names, AnythingPrintableIsAName) {
  for (const std::string_view name :
       {"", "orders", "a b", "a\"b\\c/&d", "\xC3\xA9", "\xF0\x9F\x91\x91", "%", "\xC2\xA0"}) {
    EXPECT_EQ(Problem(name), "") << name;
  }
}

TEST(Names, ControlCharactersAreRefused) {
  const std::string text = "queue must not contain control characters";
  EXPECT_EQ(Problem("a\nb"), text);
  EXPECT_EQ(Problem(std::string_view("a\0b", 3)), text);
  EXPECT_EQ(Problem("\x7F"), text);
  EXPECT_EQ(Problem("a\xC2\x85"), text);  // U+0085
  EXPECT_EQ(JsonProblem(R"("\u0000")"), "partition must not contain control characters");
  EXPECT_EQ(JsonProblem(R"("a\tb")"), "partition must not contain control characters");
}

TEST(Names, BrokenTextIsRefused) {
  EXPECT_EQ(Problem("\xFF"), "queue must be valid UTF-8");
  EXPECT_EQ(Problem("\xED\xA0\x80"), "queue must be valid UTF-8");
  EXPECT_EQ(JsonProblem(R"("\uD800")"), "partition must not contain half of a surrogate pair");
  EXPECT_EQ(JsonProblem(R"("\uD83D\uDC51")"), "");
}

TEST(Names, LengthIsCountedInBytes) {
  EXPECT_EQ(Problem(std::string(255, 'q')), "");
  EXPECT_EQ(Problem(std::string(256, 'q')), "queue must not be longer than 255 bytes");
  EXPECT_EQ(Problem(Repeat("\xC3\xA9", 127)), "");
  EXPECT_EQ(Problem(Repeat("\xC3\xA9", 128)), "queue must not be longer than 255 bytes");
}

TEST(Names, TransactionIdsAreCountedInCharacters) {
  EXPECT_EQ(IdProblem(Quoted(Repeat("\xF0\x9F\x91\x91", 255))), "");
  EXPECT_EQ(IdProblem(Quoted(Repeat("\xF0\x9F\x91\x91", 256))),
            "transactionId must not be longer than 255 characters");
  EXPECT_EQ(IdProblem(Quoted(std::string(255, 't'))), "");
  EXPECT_EQ(IdProblem(Quoted(std::string(70'000, 't'))),
            "transactionId must not be longer than 255 characters");
  EXPECT_EQ(IdProblem(R"("a\nb")"), "transactionId must not contain control characters");
  EXPECT_EQ(IdProblem(R"("\uDC00")"), "transactionId must not contain half of a surrogate pair");
}

}  // namespace
}  // namespace queen::api
