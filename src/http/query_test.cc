#include "http/query.h"

#include <gtest/gtest.h>

#include "http/percent.h"

namespace queen::http {
namespace {

Query Parsed(std::string_view raw) {
  auto query = Query::Parse(raw);
  EXPECT_TRUE(query.ok()) << raw << ": " << query.status().message();
  return query.ok() ? *query : Query();
}

TEST(Percent, DecodesAndRefuses) {
  std::string out;
  EXPECT_TRUE(AppendPercentDecoded("a%2Fb%c3%A9+c", Plus::kIsPlus, out));
  EXPECT_EQ(out, "a/b\xc3\xa9+c");
  for (const char* bad : {"%", "%4", "a%", "%zz", "%4g", "%%41", "%-1"}) {
    out.clear();
    EXPECT_FALSE(AppendPercentDecoded(bad, Plus::kIsPlus, out)) << bad;
  }
}

TEST(Query, DecodesNamesAndValues) {
  const Query query = Parsed("queue=a%20b+c&na%6De=x&empty=&flag&&x==y&queue=second");
  EXPECT_EQ(query.Get("queue"), "a b c");
  EXPECT_EQ(query.Get("name"), "x");
  EXPECT_EQ(query.Get("empty"), "");
  EXPECT_EQ(query.Get("flag"), "");
  EXPECT_EQ(query.Get("x"), "=y");
  EXPECT_EQ(query.Get("missing"), std::nullopt);
  EXPECT_EQ(query.GetOr("missing", "default"), "default");
  EXPECT_TRUE(Parsed("").empty());
}

TEST(Query, BooleansInAnyCaseOfLettersOrRefusedByName) {
  const Query query = Parsed("a=true&b=1&c=True&d=TRUE&e=false&f=0&g=False&h=&i");
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_TRUE(*query.Bool(name)) << name;
  for (const char* name : {"e", "f", "g", "h", "i"}) EXPECT_FALSE(*query.Bool(name, true)) << name;
  EXPECT_TRUE(*query.Bool("missing", true));
  EXPECT_FALSE(*query.Bool("missing"));
  for (const char* bad : {"yes", "no", "t", "2", "01", "truefalse", "true%20", "on", "null"}) {
    const auto flag = Parsed(std::string("x=") + bad).Bool("x", true);
    ASSERT_FALSE(flag.ok()) << bad;
    EXPECT_EQ(flag.status().code(), Code::kInvalidRequest);
    EXPECT_EQ(flag.status().message(), "The query parameter \"x\" must be true or false");
  }
}

TEST(Query, NumbersAreWholeOrRefusedByName) {
  const Query query = Parsed("a=10&b=-3&c=1.5&d=abc&e=&f=99999999999999999999&g=5x&h=+4");
  EXPECT_EQ(*query.Int("a", 0), 10);
  EXPECT_EQ(*query.Int("b", 0), -3);
  EXPECT_EQ(*query.Int("missing", 7), 7);
  for (const char* name : {"c", "d", "e", "f", "g", "h"}) {
    const auto number = query.Int(name, 0);
    ASSERT_FALSE(number.ok()) << name;
    EXPECT_EQ(number.status().code(), Code::kInvalidRequest);
    EXPECT_NE(number.status().message().find("\"" + std::string(name) + "\""), std::string::npos);
  }
}

TEST(Query, NumbersKeepToTheirBounds) {
  const Query query = Parsed("a=10");
  EXPECT_TRUE(query.Int("a", 0, 10, 10).ok());
  EXPECT_FALSE(query.Int("a", 0, 11, 20).ok());
  EXPECT_FALSE(query.Int("a", 0, 1, 9).ok());
  EXPECT_EQ(query.Int("a", 0, 11).status().message(),
            "The query parameter \"a\" must be a whole number of at least 11");
  EXPECT_EQ(query.Int("a", 0, 1, 9).status().message(),
            "The query parameter \"a\" must be a whole number between 1 and 9");
}

TEST(Query, DecimalNumbers) {
  const Query query = Parsed("a=1.5&b=inf&c=nan&d=x");
  EXPECT_EQ(*query.Number("a", 0), 1.5);
  EXPECT_EQ(*query.Number("missing", 2.5), 2.5);
  for (const char* name : {"b", "c", "d"}) EXPECT_FALSE(query.Number(name, 0).ok()) << name;
}

TEST(Query, RefusesWhatCannotReachSqlAndNamesIt) {
  for (const char* bad : {"queue=%", "queue=%ff", "queue=a%00b", "queue=\xc3", "queue=%zz"}) {
    const auto query = Query::Parse(bad);
    ASSERT_FALSE(query.ok()) << bad;
    EXPECT_EQ(query.status().code(), Code::kInvalidRequest);
    EXPECT_NE(query.status().message().find("\"queue\""), std::string::npos);
  }
  EXPECT_FALSE(Query::Parse("%ff=1").ok());
  EXPECT_FALSE(Query::Parse("a=1&%=2").ok());
}

}  // namespace
}  // namespace queen::http
