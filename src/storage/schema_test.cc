#include "storage/schema.h"

#include <gtest/gtest.h>

namespace queen::storage {
namespace {

std::string Refused(std::vector<EmbeddedFile> files) {
  const Result<Schema> schema = MakeSchema(files);
  return schema.ok() ? "accepted" : schema.status().message();
}

std::vector<std::string> ProcedureOrder(std::vector<EmbeddedFile> files) {
  const Result<Schema> schema = MakeSchema(files);
  EXPECT_TRUE(schema.ok()) << schema.status().ToString();
  std::vector<std::string> names;
  if (!schema.ok()) return names;
  for (const Procedure& procedure : schema->procedures) names.push_back(procedure.name);
  return names;
}

TEST(Schema, MigrationsAreSortedAndDescribed) {
  const Result<Schema> schema =
      MakeSchema(std::vector<EmbeddedFile>{{"migrations/0002_b.sql", "-- b\n-- breaking\nselect 2"},
                                           {"migrations/0001_a.sql", "abc"},
                                           {"procedures/RELEASE", "# c\nrelease 7\nff  p.sql\n"}});
  ASSERT_TRUE(schema.ok()) << schema.status().ToString();
  ASSERT_EQ(schema->version(), 2);
  EXPECT_EQ(schema->migrations[0].name, "0001_a.sql");
  EXPECT_EQ(schema->migrations[0].checksum,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_FALSE(schema->migrations[0].breaking);
  EXPECT_TRUE(schema->migrations[1].breaking);
  EXPECT_EQ(schema->procedures_release, 7);
  EXPECT_EQ(schema->released_checksums.at("p.sql"), "ff");
}

TEST(Schema, OnlyTheHeaderSaysBreaking) {
  const Result<Schema> schema = MakeSchema(std::vector<EmbeddedFile>{
      {"migrations/0001_a.sql", "-- breaking news\nselect 1;\n-- breaking\n"}});
  ASSERT_TRUE(schema.ok());
  EXPECT_FALSE(schema->migrations[0].breaking);
}

TEST(Schema, BadSetsAreRefused) {
  EXPECT_EQ(Refused({{"migrations/0002_b.sql", ""}}),
            "sql/migrations/: 0002_b.sql should have the number 0001");
  EXPECT_EQ(Refused({{"migrations/0001_a.sql", ""}, {"migrations/0001_b.sql", ""}}),
            "sql/migrations/: 0001_b.sql should have the number 0002");
  EXPECT_EQ(Refused({{"migrations/1_a.sql", ""}}),
            "sql/migrations/1_a.sql: the name must be NNNN_name.sql");
  EXPECT_EQ(Refused({{"migrations/0001.sql", ""}}),
            "sql/migrations/0001.sql: the name must be NNNN_name.sql");
  EXPECT_EQ(Refused({{"procedures/RELEASE", "release one\n"}}),
            "sql/procedures/RELEASE: the release must be a number");
  EXPECT_EQ(Refused({{"procedures/RELEASE", "# none\n"}}),
            "sql/procedures/RELEASE: the release must be 1 or more");
}

TEST(Schema, ProceduresFollowWhatTheyRequire) {
  EXPECT_EQ(ProcedureOrder({{"procedures/b.sql", ""},
                            {"procedures/a.sql", "-- a\n-- requires: c, d\n"},
                            {"procedures/d.sql", "-- requires: e\n"},
                            {"procedures/c.sql", ""},
                            {"procedures/e.sql", ""}}),
            (std::vector<std::string>{"b.sql", "c.sql", "e.sql", "d.sql", "a.sql"}));
  EXPECT_EQ(Refused({{"procedures/a.sql", "-- requires: b\n"}}),
            "sql/procedures/a.sql: requires a file that does not exist, or that requires this one");
  EXPECT_NE(
      Refused({{"procedures/a.sql", "-- requires: b\n"}, {"procedures/b.sql", "-- requires: a\n"}}),
      "accepted");
}

TEST(EmbeddedSchema, IsSound) {
  const Result<Schema> schema = MakeSchema(EmbeddedFiles());
  ASSERT_TRUE(schema.ok()) << schema.status().ToString();
  EXPECT_GE(schema->procedures_release, 1);
}

TEST(EmbeddedSchema, ProceduresAreThoseOfTheirRelease) {
  std::map<std::string, std::string> checksums;
  for (const Procedure& procedure : EmbeddedSchema().procedures) {
    checksums[procedure.name] = procedure.checksum;
  }
  EXPECT_EQ(checksums, EmbeddedSchema().released_checksums)
      << "a procedure has changed; run scripts/release-procedures";
}

}  // namespace
}  // namespace queen::storage
