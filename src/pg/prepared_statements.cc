#include "pg/prepared_statements.h"

#include <cassert>

namespace queen::pg {
namespace {

constexpr std::string_view kNoSuchStatement = "26000";
constexpr std::string_view kDuplicateStatement = "42P05";
// "cached plan must not change result type", among others; replacing the statement does no harm.
constexpr std::string_view kFeatureNotSupported = "0A000";

}  // namespace

PreparedStatements::Entry& PreparedStatements::EntryOf(const Statement& statement) {
  Entry& entry = entries_[statement.name];
  if (entry.statement == nullptr) entry.statement = &statement;
  assert(entry.statement == &statement || entry.statement->sql == statement.sql);
  return entry;
}

PreparedStatements::Needs PreparedStatements::NeedsOf(const Statement& statement) const {
  const auto found = entries_.find(statement.name);
  if (found == entries_.end()) return {.prepare = true};
  const Entry& entry = found->second;
  assert(entry.statement == &statement || entry.statement->sql == statement.sql);
  if (entry.pending) return {};
  return {.deallocate = entry.exists && entry.stale, .prepare = !entry.exists || entry.stale};
}

bool PreparedStatements::IsPending(const Statement& statement) const {
  const auto found = entries_.find(statement.name);
  return found != entries_.end() && found->second.pending;
}

void PreparedStatements::OnPrepareSent(const Statement& statement) {
  EntryOf(statement).pending = true;
}

void PreparedStatements::OnDeallocated(const Statement& statement, std::string_view sqlstate) {
  if (sqlstate.empty() || sqlstate == kNoSuchStatement) EntryOf(statement).exists = false;
}

void PreparedStatements::OnPrepared(const Statement& statement, std::string_view sqlstate) {
  Entry& entry = EntryOf(statement);
  entry.pending = false;
  if (sqlstate.empty()) {
    entry.exists = true;
    entry.stale = false;
  } else if (sqlstate == kDuplicateStatement) {
    entry.exists = true;
    entry.stale = true;
  }
}

void PreparedStatements::OnExecutionFailed(const Statement& statement, std::string_view sqlstate) {
  if (statement.name.empty()) return;
  if (sqlstate == kNoSuchStatement) EntryOf(statement).exists = false;
  if (sqlstate == kFeatureNotSupported) EntryOf(statement).stale = true;
}

}  // namespace queen::pg
