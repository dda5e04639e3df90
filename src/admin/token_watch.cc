#include "admin/token_watch.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "auth/roles.h"
#include "base/json_reader.h"
#include "base/log.h"
#include "storage/procedures.h"

namespace queen::admin {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;

// nullopt for a row that nobody of ours wrote: it opens nothing.
std::optional<auth::StoredToken> ReadToken(const pg::Rows& rows, int row) {
  auth::StoredToken token;
  const std::string_view hash = rows.Bytea(row, 1);
  const std::optional<auth::Role> role = auth::ParseRole(rows.Text(row, 3));
  if (hash.size() != token.hash.size() || !role) return std::nullopt;
  std::copy(hash.begin(), hash.end(), token.hash.begin());
  token.identity.source = auth::Identity::Source::kToken;
  token.identity.role = *role;
  token.identity.token_id = rows.Text(row, 0);
  token.identity.subject = rows.Text(row, 2);
  if (!rows.IsNull(row, 4)) {
    const Result<JsonValue> claim = ParseJson(rows.Text(row, 4));
    if (!claim.ok()) return std::nullopt;
    Result<auth::QueueLimits> limits = auth::ReadQueueLimits(*claim);
    if (!limits.ok()) return std::nullopt;
    token.identity.queues = *std::move(limits);
  }
  if (!rows.IsNull(row, 5)) {
    token.identity.until_seconds = rows.TimestampTz(row, 5) / kMicrosPerSecond;
  }
  return token;
}

}  // namespace

TokenWatch::TokenWatch(AdminPool& pool, auth::Authority& authority)
    : pool_(pool), authority_(authority), timer_(pool.loop(), [this] { OnTick(); }) {}

void TokenWatch::Start() {
  pool_.loop().AssertOwner();
  stopped_ = false;
  timer_.Start(0, kTickMs);
}

void TokenWatch::DatabaseReady() {
  pool_.loop().AssertOwner();
  database_ready_ = true;
  if (!stopped_) OnTick();
}

void TokenWatch::Stop() {
  pool_.loop().AssertOwner();
  stopped_ = true;
  timer_.Stop();
}

void TokenWatch::OnTick() {
  authority_.LookAtTokensFile();
  if (in_flight_ || !database_ready_ || !authority_.stored_tokens()) return;
  in_flight_ = true;
  pool_.Execute(pool_.loop(), pg::Batch(storage::kReadTokenVersion, pg::Params(0)),
                [this](const pg::BatchResult& result) { OnVersion(result); });
}

void TokenWatch::OnVersion(const pg::BatchResult& result) {
  in_flight_ = false;
  if (stopped_) return;
  if (!result.ok()) {
    log::Debug("the tokens could not be read", {{"error", result.status.ToString()}});
    return;
  }
  if (result.rows[0].Int8(0, 0) == version_) return;
  in_flight_ = true;
  pool_.Execute(pool_.loop(), pg::Batch(storage::kReadTokens, pg::Params(0)),
                [this](const pg::BatchResult& tokens) { OnTokens(tokens); });
}

void TokenWatch::OnTokens(const pg::BatchResult& result) {
  in_flight_ = false;
  if (stopped_ || !result.ok()) return;
  const pg::Rows& rows = result.rows[0];
  std::vector<auth::StoredToken> tokens;
  // The first row is there without a token too: it says which version the others are of.
  for (int row = 0; row < rows.rows(); ++row) {
    version_ = rows.Int8(row, 6);
    if (rows.IsNull(row, 0)) continue;
    if (std::optional<auth::StoredToken> token = ReadToken(rows, row)) {
      tokens.push_back(*std::move(token));
    }
  }
  authority_.tokens().ReplaceStored(std::move(tokens));
}

}  // namespace queen::admin
