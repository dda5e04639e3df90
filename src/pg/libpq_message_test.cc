#include "pg/libpq_message.h"

#include <gtest/gtest.h>

namespace queen::pg {
namespace {

TEST(LibpqMessage, OneLine) {
  EXPECT_EQ(OneLine(""), "");
  EXPECT_EQ(OneLine("one\n"), "one");
  EXPECT_EQ(OneLine("closed\n\tThis means\n\tthe end.\nmore\n"),
            "closed This means the end.; more");
  EXPECT_EQ(OneLine("FATAL:  3D000: no\nLOCATION:  InitPostgres, postinit.c:885\n"),
            "FATAL:  3D000: no");
}

TEST(LibpqMessage, Sqlstate) {
  EXPECT_EQ(SqlstateIn("connection to server failed: FATAL:  28P01: password wrong\n"), "28P01");
  EXPECT_EQ(SqlstateIn("a failed: FATAL:  57P03: starting\nb failed: FATAL:  3D000: no\n"),
            "3D000");
  EXPECT_EQ(SqlstateIn("connection to server failed: Connection refused\n"), "");
  EXPECT_EQ(SqlstateIn("FATAL:  57P03"), "");
  EXPECT_EQ(SqlstateIn("FATAL:  57"), "");
  EXPECT_EQ(SqlstateIn(":  "), "");
  EXPECT_EQ(SqlstateIn("FATAL:  53300: said:  nothing more"), "53300");
}

}  // namespace
}  // namespace queen::pg
