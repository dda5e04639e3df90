#include "pg/connect_options.h"

#include <gtest/gtest.h>

namespace queen::pg {
namespace {

TEST(ConnectOptions, DefaultsAreValid) { EXPECT_TRUE(ConnectOptions().Validate().ok()); }

TEST(ConnectOptions, RefusesWhatCannotWork) {
  const auto message_of = [](const auto& change) {
    ConnectOptions options;
    change(options);
    const Status status = options.Validate();
    EXPECT_EQ(status.code(), Code::kInvalidRequest);
    return status.message();
  };
  using O = ConnectOptions&;
  EXPECT_NE(message_of([](O o) { o.conninfo = "host='"; }).find("connection string"),
            std::string::npos);
  // The string may hold a password, so it is not repeated.
  EXPECT_EQ(message_of([](O o) { o.conninfo = "password=secret nonsense"; }).find("secret"),
            std::string::npos);
  for (const char* malformed :
       {"postgresql://queen:sec%ret@localhost:5432/q", "postgres://queen:sec%ret",
        "postgresql://queen:sec%ret@[::1/q", "postgresql://queen:sec/ret@localhost/q",
        "postgresql://queen:secret", "postgresql://queen:1secret@h:x/q", "host=a port=secret"}) {
    const std::string message = message_of([&](O o) { o.conninfo = malformed; });
    for (const char* part : {"sec", "ret", "queen"}) {
      EXPECT_EQ(message.find(part), std::string::npos) << malformed << ": " << message;
    }
  }
  for (const char* fine : {"postgresql://a:1,b:2,c/q", "host=a,b port=1,", "port=5432"}) {
    EXPECT_TRUE(CheckConninfo(fine).ok()) << fine;
  }
  EXPECT_NE(message_of([](O o) { o.keywords = {{"hots", "x"}}; }).find("hots"), std::string::npos);
  EXPECT_NE(message_of([](O o) { o.connect_timeout_ms = 0; }).find("connect_timeout_ms"),
            std::string::npos);
  EXPECT_NE(message_of([](O o) { o.lock_timeout_ms = -1; }).find("lock_timeout_ms"),
            std::string::npos);
  EXPECT_NE(message_of([](O o) { o.backoff_max_ms = 1; }).find("backoff"), std::string::npos);
  EXPECT_NE(message_of([](O o) {
              o.in_flight_deadline_ms = o.statement_timeout_ms;
            }).find("statement timeout"),
            std::string::npos);
  EXPECT_NE(message_of([](O o) { o.settings = {{"a b", "x"}}; }).find("a b"), std::string::npos);
  EXPECT_NE(message_of([](O o) {
              o.settings = {{"jit", "on"}};
            }).find("pinned"),
            std::string::npos);
}

TEST(ConnectOptions, KeywordsWinOverTheConnectionStringAndBothOverDefaults) {
  ConnectOptions options;
  options.conninfo =
      "postgresql://ann:secret@one:1111,two:2222/shop?keepalives_idle=77&target_session_attrs=any"
      "&client_encoding=LATIN1";
  options.keywords = {{"user", "bob"}, {"sslmode", "require"}};
  ASSERT_TRUE(options.Validate().ok());
  const Keywords keywords = options.ConnectionKeywords();
  EXPECT_EQ(Find(keywords, "host"), "one,two");
  EXPECT_EQ(Find(keywords, "port"), "1111,2222");
  EXPECT_EQ(Find(keywords, "dbname"), "shop");
  EXPECT_EQ(Find(keywords, "user"), "bob");
  EXPECT_EQ(Find(keywords, "password"), "secret");
  EXPECT_EQ(Find(keywords, "sslmode"), "require");
  EXPECT_EQ(Find(keywords, "target_session_attrs"), "any");
  EXPECT_EQ(Find(keywords, "keepalives_idle"), "77");
  EXPECT_EQ(Find(keywords, "keepalives_count"), "3");
  EXPECT_EQ(Find(keywords, "tcp_user_timeout"), "20000");
  EXPECT_EQ(Find(keywords, "application_name"), "queen");
  EXPECT_EQ(Find(keywords, "client_encoding"), "UTF8");
  for (const auto& [name, value] : keywords) {
    EXPECT_EQ(std::count_if(keywords.begin(), keywords.end(),
                            [&, key = name](const auto& k) { return k.first == key; }),
              1)
        << name;
  }
}

TEST(ConnectOptions, OurSettingsComeBehindTheCallersOptions) {
  ConnectOptions options;
  options.conninfo = "options='-c jit=on'";
  const Keywords keywords = options.ConnectionKeywords();
  const std::string_view sent = Find(keywords, "options");
  EXPECT_TRUE(sent.starts_with("-c jit=on -c default_transaction_isolation=read\\ committed -c "))
      << sent;
  EXPECT_LT(sent.find("jit=on"), sent.find("jit=off"));
}

TEST(ConnectOptions, TheServerNoticesAClientThatIsGone) {
  const Keywords settings = ConnectOptions().SessionSettings();
  for (const std::string_view name :
       {"tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count",
        "tcp_user_timeout", "client_connection_check_interval"}) {
    EXPECT_NE(Find(settings, name), "") << name;
  }
}

TEST(ConnectOptions, ZeroLeavesASettingOut) {
  ConnectOptions options;
  options.client_connection_check_interval_ms = 0;
  options.tcp_user_timeout_ms = 0;
  options.statement_timeout_ms = 0;
  const Keywords settings = options.SessionSettings();
  EXPECT_EQ(Find(settings, "client_connection_check_interval"), "");
  EXPECT_EQ(Find(settings, "tcp_user_timeout"), "");
  EXPECT_EQ(Find(settings, "statement_timeout"), "0");
}

TEST(ConnectOptions, StartupOptionsEscapeWhatTheServerSplitsAt) {
  EXPECT_EQ(StartupOptions({}), "");
  EXPECT_EQ(StartupOptions({{"a", "b c"}, {"d", "e\\f\tg"}}), "-c a=b\\ c -c d=e\\\\f\\\tg");
}

TEST(ConnectOptions, DescribeHidesThePassword) {
  ConnectOptions options;
  options.conninfo = "postgresql://ann:secret@db.example:5433/shop";
  EXPECT_EQ(options.Describe(), "ann@db.example:5433/shop");
}

TEST(ConnectOptions, AConnectTimeoutInTheAddressWins) {
  ConnectOptions options;
  options.connect_timeout_ms = 1'234;
  EXPECT_EQ(options.EffectiveConnectTimeoutMs(), 1'234);
  options.conninfo = "connect_timeout=7";
  EXPECT_EQ(options.EffectiveConnectTimeoutMs(), 7'000);
  options.conninfo = "connect_timeout=0";
  EXPECT_EQ(options.EffectiveConnectTimeoutMs(), 1'234);
}

TEST(ConnectOptions, ThePsqlCommandIsForAShellAndHasNoPassword) {
  ConnectOptions options;
  options.conninfo = "postgresql://me:s3cret@db.example:6543/app?sslmode=require";
  EXPECT_EQ(options.PsqlCommand(), "psql -h db.example -p 6543 -U me app");
  options.conninfo = "host='/var/lib/a queen\\'s/run' port=5432 dbname=queen user=queen";
  EXPECT_EQ(options.PsqlCommand(), R"(psql -h '/var/lib/a queen'\''s/run' -p 5432 -U queen queen)");
}

}  // namespace
}  // namespace queen::pg
