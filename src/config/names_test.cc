#include "config/names.h"

#include <gtest/gtest.h>

namespace queen::config {
namespace {

TEST(Names, OneEdit) {
  EXPECT_TRUE(IsOneEditApart("PORT", "PORTS"));
  EXPECT_TRUE(IsOneEditApart("PORT", "ORT"));
  EXPECT_TRUE(IsOneEditApart("PORT", "POST"));
  EXPECT_TRUE(IsOneEditApart("PORT", "PROT"));
  EXPECT_TRUE(IsOneEditApart("A", ""));
  EXPECT_FALSE(IsOneEditApart("PORT", "PORT"));
  EXPECT_FALSE(IsOneEditApart("PORT", "SPORTS"));
  EXPECT_FALSE(IsOneEditApart("PORT", "TROP"));
  EXPECT_FALSE(IsOneEditApart("", ""));
}

}  // namespace
}  // namespace queen::config
