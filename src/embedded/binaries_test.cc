#include "embedded/binaries.h"

#include "embedded/testing.h"

namespace queen::embedded {
namespace {

namespace fs = std::filesystem;

// Programs that only know their version, as scripts; enough for finding them.
void MakeServer(const std::string& directory, const std::string& version) {
  fs::create_directories(directory);
  for (const char* name : {"initdb", "postgres"}) {
    const std::string path = directory + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n[ \"$1\" = --version ] || exit 1\n"
                        << "echo \"" << name << " (PostgreSQL) " << version << "\"\n";
    fs::permissions(path, fs::perms::owner_all | fs::perms::others_exec | fs::perms::others_read);
  }
}

void MakePgConfig(const std::string& directory, const std::string& bin_dir) {
  fs::create_directories(directory);
  const std::string path = directory + "/pg_config";
  std::ofstream(path) << "#!/bin/sh\necho '" << bin_dir << "'\n";
  fs::permissions(path, fs::perms::owner_all);
}

class BinariesTest : public ::testing::Test {
 protected:
  BinariesTest() { request_.root = directory_ / "lib"; }

  TestDirectory directory_;
  BinariesRequest request_;
};

TEST(ParseMajor, ReadsWhatServersPrint) {
  EXPECT_EQ(ParseMajor("postgres (PostgreSQL) 15.4 (Debian 15.4-1)"), 15);
  EXPECT_EQ(ParseMajor("postgres (PostgreSQL) 18beta1"), 18);
  EXPECT_EQ(ParseMajor("15"), 15);
  EXPECT_EQ(ParseMajor(""), std::nullopt);
  EXPECT_EQ(ParseMajor("nonsense"), std::nullopt);
}

TEST_F(BinariesTest, TakesTheNewestByNumberNotByName) {
  for (const char* version : {"9", "14", "100", "16"}) {
    MakeServer(directory_ / "lib/" + version + "/bin", version);
  }
  fs::create_directories(directory_ / "lib/200/bin");  // no programs in it
  MakeServer(directory_ / "lib/300-old/bin", "300");   // no version of a package
  const Result<Binaries> found = FindBinaries(request_);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->major, 100);
  EXPECT_EQ(found->directory, directory_ / "lib/100/bin");
  EXPECT_FALSE(found->lz4);
}

TEST_F(BinariesTest, AClusterKeepsItsVersion) {
  MakeServer(directory_ / "lib/15/bin", "15.1");
  MakeServer(directory_ / "lib/17/bin", "17.1");
  request_.major = 15;
  EXPECT_EQ(FindBinaries(request_)->major, 15);
  request_.major = 16;
  const Result<Binaries> missing = FindBinaries(request_);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.status().message().find("postgresql-16"), std::string::npos);
  EXPECT_NE(missing.status().message().find("made by PostgreSQL 16"), std::string::npos);
  EXPECT_NE(missing.status().message().find("17 in "), std::string::npos);
}

TEST_F(BinariesTest, NothingInstalledNamesThePackage) {
  const Result<Binaries> found = FindBinaries(request_);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.status().message().find("install the package postgresql-15"), std::string::npos);
}

TEST_F(BinariesTest, TooOldIsNotTaken) {
  MakeServer(directory_ / "lib/13/bin", "13.9");
  EXPECT_FALSE(FindBinaries(request_).ok());
}

TEST_F(BinariesTest, AsksPgConfigInPathLast) {
  MakeServer(directory_ / "opt/pg/bin", "16.2");
  MakePgConfig(directory_ / "path", directory_ / "opt/pg/bin");
  request_.path_directories = {directory_ / "nowhere", directory_ / "path"};
  EXPECT_EQ(FindBinaries(request_)->directory, directory_ / "opt/pg/bin");
  MakeServer(directory_ / "lib/14/bin", "14.1");
  EXPECT_EQ(FindBinaries(request_)->major, 14);
}

TEST_F(BinariesTest, TheOperatorsDirectoryIsTheOnlyOneLookedAt) {
  MakeServer(directory_ / "lib/17/bin", "17.1");
  MakeServer(directory_ / "mine", "15.3");
  request_.directory = directory_ / "mine";
  EXPECT_EQ(FindBinaries(request_)->major, 15);
  request_.major = 17;
  EXPECT_FALSE(FindBinaries(request_).ok());
  request_.directory = directory_ / "nowhere";
  EXPECT_NE(FindBinaries(request_).status().message().find("nowhere"), std::string::npos);
}

TEST(Binaries, FindsTheInstalledServer) {
  BinariesRequest request;
  request.path_directories = PathDirectories();
  const Result<Binaries> found = FindBinaries(request);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_GE(found->major, kOldestMajor);
}

}  // namespace
}  // namespace queen::embedded
