#include "embedded/cluster_files.h"

#include "embedded/testing.h"

namespace queen::embedded {
namespace {

ClusterUser Self() {
  ClusterUser user;
  user.name = user.broker_name = "me";
  user.uid = geteuid();
  user.gid = getegid();
  return user;
}

TEST(ClusterFiles, ConfEndsWithTheOperatorsFile) {
  const std::string conf = RenderConf({{"a", "1"}, {"b", "it's"}}, LayoutOf("/data", 1));
  EXPECT_NE(conf.find("a = '1'\nb = 'it''s'\n"), std::string::npos);
  EXPECT_NE(conf.find("listen_addresses = ''\n"), std::string::npos);
  EXPECT_TRUE(conf.ends_with("include_if_exists '/data/postgres-custom.conf'\n"));
}

TEST(ClusterFiles, MapsBothSystemUsersToBothRoles) {
  ClusterUser user = Self();
  user.name = "postgres";
  user.broker_name = "root";
  const std::string map = RenderIdent(user);
  for (const char* line : {"queen  \"root\"  queen\n", "queen  \"root\"  postgres\n",
                           "queen  \"postgres\"  queen\n"}) {
    EXPECT_NE(map.find(line), std::string::npos) << line;
  }
}

TEST(ClusterFiles, IncludeLineIsAddedOnceAndTheRestKept) {
  const TestDirectory directory;
  const Layout layout = LayoutOf(directory.path(), geteuid());
  std::filesystem::create_directory(layout.cluster);
  std::ofstream(layout.cluster + "/postgresql.conf") << "# include 'queen.conf'\nport = 1";
  for (int start = 0; start < 3; ++start) {
    ASSERT_TRUE(WriteClusterFiles({{"a", "1"}}, layout, Self()).ok());
  }
  EXPECT_EQ(ReadFile(layout.cluster + "/postgresql.conf"),
            "# include 'queen.conf'\nport = 1\ninclude 'queen.conf'\n");
}

TEST(ClusterFiles, ReplaceFileReportsWhatItCannotWrite) {
  const Status status = ReplaceFile("/nowhere/at/all", "x", Self());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("/nowhere/at/all"), std::string::npos);
}

}  // namespace
}  // namespace queen::embedded
