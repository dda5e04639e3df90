// Random documents, then the same with bytes changed, judged by the reader, by the plain checker
// and by simdjson where its rules are the same. QUEEN_TEST_SEED replays a run.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <string>

#include "base/json_line.h"
#include "base/json_oracle.h"
#include "base/json_reader.h"
#include "base/random.h"

namespace queen {
namespace {

constexpr int kDocuments = 10'000;
constexpr int kMutationsPerDocument = 8;

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  size_t Below(size_t limit) {
    return static_cast<size_t>(RandomBetween(random_, 0, static_cast<int64_t>(limit) - 1));
  }

  std::string Document() {
    out_.clear();
    Space();
    Value(0);
    Space();
    return out_;
  }

  std::string Mutate(std::string text) {
    for (size_t changes = 1 + Below(3); changes > 0; --changes) {
      const size_t at = Below(text.size() + 1);
      switch (Below(5)) {
        case 0:
          text.insert(at, 1, OddByte());
          break;
        case 1:
          text.erase(at, 1 + Below(3));
          break;
        case 2:
          if (at < text.size()) text[at] = OddByte();
          break;
        case 3:
          text.resize(at);
          break;
        default:
          text.insert(at, text.substr(Below(text.size() + 1), Below(20)));
      }
    }
    return text;
  }

 private:
  template <size_t N>
  const char* Pick(const std::array<const char*, N>& choices) {
    return choices[Below(N)];
  }

  char OddByte() {
    static constexpr std::string_view kOdd =
        "\"\\{}[]:,-+.eE0129tfnu/ \n\r\t\x01\x7f\x80\xC3\xE2\xED\xF0\xF4\xFF";
    return Below(4) == 0 ? static_cast<char>(Below(256)) : kOdd[Below(kOdd.size())];
  }

  void Space() {
    static constexpr std::array kSpaces = {" ", "\n", "\r\n", "\t", "\n                     "};
    while (Below(5) == 0) out_ += Pick(kSpaces);
  }

  void Value(size_t depth) {
    switch (Below(depth < 6 ? 8 : 5)) {
      case 0:
        out_ += Pick(std::array{"null", "true", "false"});
        return;
      case 1:
      case 2:
        return Number();
      case 3:
      case 4:
        return String();
      case 5:
      case 6:
        return Members(depth, '{', '}');
      default:
        return Members(depth, '[', ']');
    }
  }

  void Members(size_t depth, char open, char close) {
    out_ += open;
    Space();
    for (size_t i = 0, count = Below(5); i < count; ++i) {
      if (i > 0) {
        out_ += ',';
        Space();
      }
      if (open == '{') {
        String();
        Space();
        out_ += ':';
        Space();
      }
      Value(depth + 1);
      Space();
    }
    out_ += close;
  }

  void Number() {
    static constexpr std::array kNumbers = {
        "0",     "-0",   "1e5",       "9223372036854775808", "-1.5E-3",
        "1e400", "0.25", "123456789", "18446744073709551616"};
    out_ += Pick(kNumbers);
  }

  void String() {
    static constexpr std::array kPieces = {"a",
                                           "some longer piece of text, 40 characters....",
                                           "\\n",
                                           "\\\"",
                                           "\\\\",
                                           "\\u00e9",
                                           "\\ud83d\\ude00",
                                           "\\ud800",
                                           "\\u0000",
                                           "\xC3\xA9",
                                           "\xE4\xBD\xA0\xE5\xA5\xBD",
                                           "\xF0\x9F\x98\x80",
                                           "\x7f",
                                           "0123456789abcde"};
    out_ += '"';
    for (size_t i = 0, count = Below(6); i < count; ++i) out_ += Pick(kPieces);
    out_ += '"';
  }

  std::mt19937_64 random_;
  std::string out_;
};

// simdjson refuses numbers that fit no machine type and lone surrogates; it knows no other limit
// that these documents reach.
bool SimdjsonMayRefuse(simdjson::error_code error, const std::string& text) {
  if (error == simdjson::NUMBER_ERROR) return true;
  return error == simdjson::STRING_ERROR &&
         (text.find("\\ud") != std::string::npos || text.find("\\uD") != std::string::npos);
}

// Walks the text with a different mix of questions each time; the verdict must not depend on it.
bool WalkAtRandom(JsonReader& reader, Generator& random) {
  std::string open;
  for (int steps = 0; steps < 200 && !reader.failed(); ++steps) {
    const JsonKind kind = reader.Peek();
    if (kind == JsonKind::kObject && random.Below(4) != 0) {
      if (reader.EnterObject()) open += '{';
    } else if (kind == JsonKind::kArray && random.Below(4) != 0) {
      if (reader.EnterArray()) open += '[';
    } else if (kind != JsonKind::kAbsent && random.Below(2) == 0) {
      reader.Value();
    }
    if (open.empty()) break;
    if (random.Below(10) == 0) {
      reader.Leave();
      open.pop_back();
    } else if (!(open.back() == '{' ? reader.NextField() : reader.NextElement())) {
      open.pop_back();
    }
  }
  return reader.Finish().ok();
}

void CheckOneLine(const std::string& text) {
  std::string line;
  AppendJsonLine(line, text);
  EXPECT_EQ(line.size(), text.size());
  EXPECT_EQ(line.find_first_of("\r\n"), std::string::npos);
  EXPECT_TRUE(ParseJson(line).ok());
}

TEST(JsonRandom, EveryJudgeAgrees) {
  const char* const given = std::getenv("QUEEN_TEST_SEED");
  const uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::cout << "QUEEN_TEST_SEED=" << seed << std::endl;
  Generator random(seed);
  simdjson::dom::parser parser;
  int valid = 0;
  for (int i = 0; i < kDocuments * (1 + kMutationsPerDocument); ++i) {
    std::string text = random.Document();
    const bool changed = i % (1 + kMutationsPerDocument) != 0;
    if (changed) text = random.Mutate(text);
    const auto copy = std::make_unique_for_overwrite<char[]>(text.size());
    std::copy(text.begin(), text.end(), copy.get());
    const std::string_view exact(copy.get(), text.size());

    const bool accepted = ParseJson(exact).ok();
    ASSERT_EQ(accepted, JsonOracle::Accepts(text, kJsonDepthMax)) << text;
    ASSERT_TRUE(accepted || changed) << text;
    JsonReader reader(exact);
    ASSERT_EQ(WalkAtRandom(reader, random), accepted) << text;
    const simdjson::error_code error = parser.parse(simdjson::padded_string(text)).error();
    if (error == simdjson::SUCCESS) {
      ASSERT_TRUE(accepted) << text;
    } else if (accepted) {
      ASSERT_TRUE(SimdjsonMayRefuse(error, text)) << simdjson::error_message(error) << ": " << text;
    }
    if (accepted) {
      CheckOneLine(text);
      ++valid;
    }
  }
  EXPECT_GT(valid, kDocuments);
}

}  // namespace
}  // namespace queen
