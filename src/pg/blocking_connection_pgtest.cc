#include "pg/blocking_connection.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace queen::pg {
namespace {

BlockingConnection Connect() {
  const char* url = std::getenv("QUEEN_TEST_DATABASE_URL");
  auto connection = BlockingConnection::Connect(url == nullptr ? "" : url, 5'000);
  EXPECT_TRUE(connection.ok()) << connection.status().ToString();
  return *std::move(connection);
}

TEST(BlockingConnection, KnowsTheServer) {
  const BlockingConnection connection = Connect();
  EXPECT_TRUE(connection.connected());
  EXPECT_GE(connection.server_version(), 140'000);
  EXPECT_EQ(connection.server_encoding(), "UTF8");
}

TEST(BlockingConnection, SaysWhyItCannotConnect) {
  const auto connection =
      BlockingConnection::Connect("host=/nowhere dbname=queen user=queen", 1'000);
  ASSERT_FALSE(connection.ok());
  EXPECT_EQ(connection.status().code(), Code::kDatabaseUnavailable);
  EXPECT_NE(connection.status().message().find("/nowhere"), std::string::npos);
  EXPECT_FALSE(BlockingConnection::Connect("no connection string", 1'000).ok());
}

TEST(BlockingConnection, ReadsRows) {
  BlockingConnection connection = Connect();
  const auto rows = connection.Exec("select 1; select 42, 'text', null, true");
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  ASSERT_EQ(rows->size(), 1);
  EXPECT_EQ(rows->Int(0, 0), 42);
  EXPECT_EQ(rows->Text(0, 1), "text");
  EXPECT_TRUE(rows->IsNull(0, 2));
  EXPECT_TRUE(rows->Bool(0, 3));
}

TEST(BlockingConnection, PassesParameters) {
  BlockingConnection connection = Connect();
  const auto rows =
      connection.ExecParams("select $1::int + 1, $2::text, $3::text", {"41", "it's", std::nullopt});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_EQ(rows->Int(0, 0), 42);
  EXPECT_EQ(rows->Text(0, 1), "it's");
  EXPECT_TRUE(rows->IsNull(0, 2));
}

TEST(BlockingConnection, ErrorsAreTypedAndLeaveTheConnectionUsable) {
  BlockingConnection connection = Connect();
  const auto failed = connection.Exec("select 1;\nselect nothing");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), Code::kDatabaseRefused);
  EXPECT_EQ(connection.last_error().sqlstate, "42703");
  EXPECT_EQ(connection.last_error().message, "column \"nothing\" does not exist");
  EXPECT_EQ(connection.last_error().position, 18);
  EXPECT_FALSE(connection.in_transaction());
  EXPECT_TRUE(connection.Exec("select 1").ok());
  const auto raised = connection.Exec("do $$ begin raise sqlstate 'QN409'; end $$");
  EXPECT_EQ(raised.status().code(), Code::kConflict);
}

TEST(BlockingConnection, KnowsItsTransaction) {
  BlockingConnection connection = Connect();
  ASSERT_TRUE(connection.Exec("begin").ok());
  EXPECT_TRUE(connection.in_transaction());
  EXPECT_FALSE(connection.Exec("select nothing").ok());
  EXPECT_TRUE(connection.in_transaction());
  ASSERT_TRUE(connection.Exec("rollback").ok());
  EXPECT_FALSE(connection.in_transaction());
}

TEST(BlockingConnection, ALostServerIsUnavailable) {
  BlockingConnection connection = Connect();
  const auto failed = connection.Exec("select pg_terminate_backend(pg_backend_pid())");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), Code::kDatabaseUnavailable);
  EXPECT_FALSE(connection.connected());
  EXPECT_EQ(connection.Exec("select 1").status().code(), Code::kDatabaseUnavailable);
}

TEST(BlockingConnection, LiteralsAreQuoted) {
  BlockingConnection connection = Connect();
  for (const std::string text : {"plain", "it's", "back\\slash", "both\\'", ""}) {
    const auto rows = connection.Exec("select " + BlockingConnection::Literal(text));
    ASSERT_TRUE(rows.ok()) << text;
    EXPECT_EQ(rows->Text(0, 0), text);
  }
}

}  // namespace
}  // namespace queen::pg
