#include "storage/schema_plan.h"

#include <gtest/gtest.h>

namespace queen::storage {
namespace {

Schema OurSchema() {
  Schema schema;
  schema.migrations = {{1, "0001_a.sql", "", "c1", false}, {2, "0002_b.sql", "", "c2", true}};
  schema.procedures = {{"p.sql", "", "cp", {}}, {"q.sql", "", "cq", {}}};
  schema.procedures_release = 5;
  return schema;
}

// The database as OurSchema leaves it.
SchemaState OurState() {
  SchemaState state;
  state.has_schema = true;
  state.has_version_tables = true;
  state.migrations = {{1, "0001_a.sql", "c1", false}, {2, "0002_b.sql", "c2", true}};
  state.procedures = {{"p.sql", "cp", 5, {"routine queen.p()"}},
                      {"q.sql", "cq", 5, {"routine queen.q()"}}};
  return state;
}

std::string Refused(const SchemaState& state, Code code) {
  const Schema schema = OurSchema();
  const Result<SchemaPlan> plan = MakePlan(schema, state);
  if (plan.ok()) return "accepted";
  EXPECT_EQ(plan.status().code(), code);
  return plan.status().message();
}

TEST(SchemaPlan, AnEmptyDatabaseNeedsEverything) {
  const Schema schema = OurSchema();
  const Result<SchemaPlan> plan = MakePlan(schema, {});
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->empty());
  EXPECT_TRUE(plan->create_schema);
  EXPECT_TRUE(plan->create_version_tables);
  EXPECT_EQ(plan->migrations.size(), 2U);
  EXPECT_EQ(plan->changed_procedures.size(), 2U);
}

TEST(SchemaPlan, ACurrentDatabaseNeedsNothing) {
  const Schema schema = OurSchema();
  const Result<SchemaPlan> plan = MakePlan(schema, OurState());
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->empty());
}

TEST(SchemaPlan, OnlyChangedProceduresAreReplaced) {
  const Schema schema = OurSchema();
  SchemaState state = OurState();
  state.procedures[1].checksum = "older";
  state.procedures[1].release = 4;
  state.procedures.push_back({"gone.sql", "cg", 4, {"routine queen.gone()"}});
  const Result<SchemaPlan> plan = MakePlan(schema, state);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->update_procedures);
  ASSERT_EQ(plan->changed_procedures.size(), 1U);
  EXPECT_EQ(plan->changed_procedures[0]->name, "q.sql");
  EXPECT_EQ(plan->removed_procedures, std::vector<std::string>{"gone.sql"});
  EXPECT_EQ(plan->replaced_objects,
            (std::vector<std::string>{"routine queen.q()", "routine queen.gone()"}));
}

TEST(SchemaPlan, NewerProceduresStay) {
  const Schema schema = OurSchema();
  SchemaState state = OurState();
  state.procedures[0] = {"p.sql", "newer", 6, {"routine queen.p(integer)"}};
  const Result<SchemaPlan> plan = MakePlan(schema, state);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->empty());
  EXPECT_EQ(plan->release_found, 6);
}

TEST(SchemaPlan, ARaisedReleaseIsRecordedEvenWhenNothingElseChanged) {
  Schema schema = OurSchema();
  schema.procedures_release = 6;
  const Result<SchemaPlan> plan = MakePlan(schema, OurState());
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->update_procedures);
  EXPECT_TRUE(plan->changed_procedures.empty());
}

TEST(SchemaPlan, NewerMigrationsStopUsOnlyWhenBreaking) {
  const Schema schema = OurSchema();
  SchemaState state = OurState();
  state.migrations.push_back({3, "0003_c.sql", "c3", false});
  const Result<SchemaPlan> plan = MakePlan(schema, state);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->empty());
  EXPECT_EQ(plan->newer_versions, std::vector<int>{3});

  state.migrations.push_back({4, "0004_d.sql", "c4", true});
  state.migrations.push_back({5, "0005_e.sql", "c5", false});
  EXPECT_EQ(Refused(state, Code::kSchemaTooNew),
            "the database is at schema version 5 and this binary knows 2; it cannot work with "
            "0004_d.sql: start a newer version of the broker");
}

TEST(SchemaPlan, AMigrationThatChangedIsNamed) {
  SchemaState state = OurState();
  state.migrations[1].checksum = "other";
  EXPECT_EQ(Refused(state, Code::kConflict),
            "migration 2 was applied to the database as 0002_b.sql with checksum other, but this "
            "binary has 0002_b.sql with checksum c2; an applied migration must never change");
}

TEST(SchemaPlan, AGapIsRefused) {
  SchemaState state = OurState();
  state.migrations.erase(state.migrations.begin());
  EXPECT_EQ(Refused(state, Code::kConflict),
            "the database has migration 2 (0002_b.sql) but not 1: queen.schema_migrations has been "
            "tampered with");
}

TEST(SchemaPlan, AForeignSchemaIsRefused) {
  SchemaState state;
  state.has_schema = true;
  state.has_other_objects = true;
  EXPECT_NE(Refused(state, Code::kConflict).find("is not this broker's"), std::string::npos);
}

}  // namespace
}  // namespace queen::storage
