#include "config/setting.h"

#include <gtest/gtest.h>

#include <set>

#include "config/settings.h"

namespace queen::config {
namespace {

// The problem with `text`, "" when it is accepted.
std::string Parse(std::string_view name, std::string_view text, Config& config) {
  return ParseValue(*FindSetting(name), text, config).value_or("");
}
std::string Parse(std::string_view name, std::string_view text) {
  Config config;
  return Parse(name, text, config);
}

TEST(Settings, NamesAndFlagsAreUnique) {
  std::set<std::string> seen;
  for (const Setting& setting : Settings()) {
    EXPECT_TRUE(seen.insert(std::string(setting.name)).second) << setting.name;
    if (setting.secret()) continue;
    EXPECT_TRUE(seen.insert(FlagOf(setting)).second) << setting.name;
  }
}

TEST(Settings, SectionsStandTogether) {
  std::set<std::string_view> closed;
  std::string_view current;
  for (const Setting& setting : Settings()) {
    if (setting.section == current) continue;
    EXPECT_TRUE(closed.insert(setting.section).second) << setting.section;
    current = setting.section;
  }
}

TEST(Settings, EveryDefaultIsAllowed) {
  for (const Setting& setting : Settings()) {
    if (!setting.computed.text.empty()) continue;
    const std::string text = ShowValue(setting, Config{});
    if (text.empty()) continue;
    EXPECT_EQ(Parse(setting.name, text), "") << setting.name;
  }
}

TEST(Settings, EveryRowHasAMemberOfItsOwn) {
  for (const Setting& setting : Settings()) {
    Config config;
    const auto* integer = std::get_if<IntKind>(&setting.kind);
    if (integer == nullptr) continue;
    const int other = integer->at(config) == integer->max ? integer->min : integer->max;
    integer->at(config) = other;
    for (const Setting& second : Settings()) {
      if (&second == &setting) continue;
      EXPECT_EQ(ShowValue(second, config), ShowValue(second, Config{}))
          << setting.name << " changes " << second.name;
    }
  }
}

TEST(Settings, IntegersAtTheEdgesOfTheirRange) {
  for (const Setting& setting : Settings()) {
    const auto* kind = std::get_if<IntKind>(&setting.kind);
    if (kind == nullptr) continue;
    Config config;
    EXPECT_EQ(Parse(setting.name, std::to_string(kind->min), config), "");
    EXPECT_EQ(kind->at(config), kind->min);
    EXPECT_EQ(Parse(setting.name, std::to_string(kind->max), config), "");
    EXPECT_EQ(kind->at(config), kind->max);
    EXPECT_EQ(Parse(setting.name, std::to_string(kind->min - 1), config), "is out of range");
    EXPECT_EQ(Parse(setting.name, std::to_string(kind->max + 1), config), "is out of range");
    EXPECT_EQ(kind->at(config), kind->max) << "a refused value leaves the member alone";
  }
}

TEST(Settings, SizesAtTheEdgesOfTheirRange) {
  for (const Setting& setting : Settings()) {
    const auto* kind = std::get_if<SizeKind>(&setting.kind);
    if (kind == nullptr) continue;
    Config config;
    EXPECT_EQ(Parse(setting.name, std::to_string(kind->min), config), "");
    EXPECT_EQ(kind->at(config), kind->min);
    EXPECT_EQ(Parse(setting.name, std::to_string(kind->max), config), "");
    EXPECT_EQ(kind->at(config), kind->max);
    EXPECT_EQ(Parse(setting.name, std::to_string(kind->min - 1), config), "is out of range");
    EXPECT_EQ(Parse(setting.name, std::to_string(kind->max + 1), config), "is out of range");
  }
}

TEST(Settings, WholeNumbersOnly) {
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x10", "1.0", "1e3", "one"}) {
    EXPECT_EQ(Parse("PORT", text), "is not a whole number") << text;
  }
  EXPECT_EQ(Parse("PORT", "99999999999999999999"), "is out of range");
}

TEST(Settings, NumbersAreFinite) {
  Config config;
  EXPECT_EQ(Parse("POP_WAIT_BACKOFF_MULTIPLIER", "1.5", config), "");
  EXPECT_EQ(config.pop.wait_backoff_multiplier, 1.5);
  EXPECT_EQ(Parse("POP_WAIT_BACKOFF_MULTIPLIER", "0.99"), "is out of range");
  EXPECT_EQ(Parse("POP_WAIT_BACKOFF_MULTIPLIER", "nan"), "is not a number");
  EXPECT_EQ(Parse("POP_WAIT_BACKOFF_MULTIPLIER", "inf"), "is not a number");
}

TEST(Settings, SizesTakeUnits) {
  Config config;
  EXPECT_EQ(Parse("POP_MAX_BYTES", "2048", config), "");
  EXPECT_EQ(config.pop.bytes_max, 2048);
  EXPECT_EQ(Parse("POP_MAX_BYTES", "3KiB", config), "");
  EXPECT_EQ(config.pop.bytes_max, 3072);
  EXPECT_EQ(Parse("POP_MAX_BYTES", "5 mib", config), "");
  EXPECT_EQ(config.pop.bytes_max, 5 << 20);
  EXPECT_EQ(ShowValue(*FindSetting("POP_MAX_BYTES"), config), "5MiB");
  EXPECT_EQ(Parse("POP_MAX_BYTES", "1GiB", config), "");
  EXPECT_EQ(Parse("POP_MAX_BYTES", "2GiB"), "is out of range");
  EXPECT_EQ(Parse("POP_MAX_BYTES", "9999999999999999GiB"), "is out of range");
  for (const char* text : {"KiB", "5MB", "5k", "-", "1.5MiB"}) {
    EXPECT_EQ(Parse("POP_MAX_BYTES", text), "is not a size in bytes") << text;
  }
}

TEST(Settings, TruthValues) {
  Config config;
  for (const char* text : {"true", "1", "YES", "on"}) {
    config.database.use_ssl = false;
    EXPECT_EQ(Parse("PG_USE_SSL", text, config), "");
    EXPECT_TRUE(config.database.use_ssl) << text;
  }
  for (const char* text : {"false", "0", "no", "Off"}) {
    EXPECT_EQ(Parse("PG_USE_SSL", text, config), "");
    EXPECT_FALSE(config.database.use_ssl) << text;
  }
  EXPECT_EQ(Parse("PG_USE_SSL", "maybe"), "is not a truth value");
}

TEST(Settings, WordsAreExact) {
  Config config;
  EXPECT_EQ(Parse("LOG_LEVEL", "warn", config), "");
  EXPECT_EQ(config.log.level, log::Level::kWarn);
  EXPECT_EQ(Parse("LOG_FORMAT", "json", config), "");
  EXPECT_EQ(config.log.format, log::Format::kJson);
  EXPECT_EQ(Parse("PG_SSLMODE", "verify-full", config), "");
  EXPECT_EQ(config.database.ssl_mode, "verify-full");
  EXPECT_EQ(Parse("LOG_LEVEL", "loud"), "is not known");
  EXPECT_EQ(Parse("PG_TARGET_SESSION_ATTRS", "standby"), "is not known");
}

TEST(Settings, TextsHoldNoControlCharacters) {
  EXPECT_EQ(Parse("PG_DB", "*\r\nSet-Cookie: x"), "holds a control character");
  EXPECT_EQ(Parse("HOST", ""), "is not valid");
}

TEST(Settings, OriginsHaveASchemeAndNoPath) {
  for (const char* valid : {"", "*", "https://example.org", "http://localhost:3000, https://b"}) {
    EXPECT_EQ(Parse("QUEEN_CORS_ORIGINS", valid), "") << valid;
  }
  for (const char* wrong : {"example.org", "https://", "://a", "https://a/", "https://a https://b",
                            "https://a,b", "*\r\nSet-Cookie: x"}) {
    EXPECT_EQ(Parse("QUEEN_CORS_ORIGINS", wrong), "is not valid") << wrong;
  }
}

TEST(Settings, PathsBecomeAbsolute) {
  Config config;
  EXPECT_EQ(Parse("QUEEN_DATA_DIR", "/srv/../srv/queen", config), "");
  EXPECT_EQ(config.embedded.data_dir, "/srv/queen");
  EXPECT_EQ(Parse("QUEEN_DATA_DIR", "data", config), "");
  EXPECT_EQ(config.embedded.data_dir.front(), '/');
}

TEST(Settings, FlagsComeFromNames) {
  EXPECT_EQ(FlagOf(*FindSetting("PORT")), "--port");
  EXPECT_EQ(FlagOf(*FindSetting("NUM_WORKERS")), "--num-workers");
  EXPECT_EQ(FlagOf(*FindSetting("QUEEN_DATA_DIR")), "--data-dir");
  EXPECT_EQ(FlagOf(*FindSetting("PG_PASSWORD")), "") << "secrets have none";
}

TEST(Settings, PasswordsAreNeverShown) {
  const Setting& url = *FindSetting("DATABASE_URL");
  const auto shown = [&](std::string_view text) {
    Config config;
    config.database.url = text;
    return ShowValue(url, config);
  };
  EXPECT_EQ(shown("postgresql://me:s3cret@db:5432/app"), "postgresql://me:***@db:5432/app");
  EXPECT_EQ(shown("postgres://me:a@b/c:d@db/app"), "postgres://me:***@db/app");
  EXPECT_EQ(shown("postgresql://me@db:5432/app"), "postgresql://me@db:5432/app");
  EXPECT_EQ(shown("postgresql://db/app?user=me&password=s3cret"), "***");
  EXPECT_EQ(shown("host=db password=s3cret"), "***");
  EXPECT_EQ(shown("postgresql://me:s3cret"), "***");
  EXPECT_EQ(shown("postgresql://me:s3cret/app"), "***");
  EXPECT_EQ(shown("postgresql://me@db/app?passwor=s3cret"), "***");
  EXPECT_EQ(shown("postgresql://a:1,b,[::1]:2/app"), "postgresql://a:1,b,[::1]:2/app");
  EXPECT_EQ(shown(""), "");

  Config config;
  config.database.password = "s3cret";
  EXPECT_EQ(ShowValue(*FindSetting("PG_PASSWORD"), config), "***");
  EXPECT_EQ(ShowGiven(*FindSetting("PG_PASSWORD"), "s3cret"), "the value");
  EXPECT_EQ(ShowGiven(url, "s3cret"), "the value");
}

}  // namespace
}  // namespace queen::config
