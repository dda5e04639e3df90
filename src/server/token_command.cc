#include "server/token_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "auth/identity.h"
#include "auth/jwt.h"
#include "auth/token_table.h"
#include "base/json_writer.h"
#include "config/conninfo.h"
#include "embedded/embedded_service.h"
#include "server/embedded_options.h"
#include "storage/tokens.h"

namespace queen::server {
namespace {

using config::TokenArguments;

int Complain(const Status& status) {
  const bool no_table = status.message().find("queen.tokens") != std::string::npos &&
                        status.message().find("does not exist") != std::string::npos;
  fmt::print(
      stderr, "queen token: {}\n",
      no_table ? "the database has no tokens yet: run `queen migrate` first" : status.message());
  return 1;
}

auth::QueueLimits LimitsOf(const TokenArguments& arguments) {
  auth::QueueLimits limits;
  limits.push = arguments.push;
  limits.pop = arguments.pop;
  limits.admin = arguments.admin;
  limits.limited = !limits.push.empty() || !limits.pop.empty() || !limits.admin.empty();
  return limits;
}

int Create(pg::BlockingConnection& connection, const TokenArguments& arguments) {
  const std::string token = auth::MakeToken();
  const auth::TokenHash hash = auth::HashToken(token);
  const auth::QueueLimits limits = LimitsOf(arguments);
  storage::NewToken row;
  row.id = auth::TokenIdOf(hash);
  row.hash.assign(hash.begin(), hash.end());
  row.subject = arguments.subject;
  row.role = arguments.role;
  if (limits.limited) row.queues = auth::WriteQueueLimits(limits);
  row.ttl_seconds = arguments.ttl_seconds;
  const Result<std::string> expires = storage::CreateToken(connection, row);
  if (!expires.ok()) return Complain(expires.status());
  if (arguments.json) {
    std::string out;
    JsonWriter writer(out);
    writer.BeginObject();
    writer.Field("id", row.id);
    writer.Field("token", token);
    writer.Field("sub", row.subject);
    writer.Field("role", row.role);
    writer.Key("queues");
    writer.Raw(auth::WriteQueueLimits(limits));
    writer.Key("expiresAt");
    expires->empty() ? writer.Null() : writer.String(*expires);
    writer.EndObject();
    fmt::print("{}\n", out);
    return 0;
  }
  fmt::print("{}\n", token);
  fmt::print(stderr, "Token {} of {}, {}, {}. It is shown this once.\n", row.id, row.subject,
             row.role, expires->empty() ? "never expires" : "expires " + *expires);
  return 0;
}

std::string_view StateOf(const storage::TokenRow& token) {
  if (token.valid) return "valid";
  return token.revoked_at.empty() ? "expired" : "revoked";
}

void WriteTime(JsonWriter& writer, std::string_view key, const std::string& time) {
  writer.Key(key);
  time.empty() ? writer.Null() : writer.String(time);
}

std::string ListAsJson(const std::vector<storage::TokenRow>& tokens) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginArray();
  for (const storage::TokenRow& token : tokens) {
    writer.BeginObject();
    writer.Field("id", token.id);
    writer.Field("sub", token.subject);
    writer.Field("role", token.role);
    writer.Key("queues");
    writer.Raw(token.queues.empty() ? "null" : token.queues);
    WriteTime(writer, "createdAt", token.created_at);
    WriteTime(writer, "expiresAt", token.expires_at);
    WriteTime(writer, "revokedAt", token.revoked_at);
    writer.Field("state", StateOf(token));
    writer.EndObject();
  }
  writer.EndArray();
  return out;
}

int List(pg::BlockingConnection& connection, const TokenArguments& arguments) {
  const Result<std::vector<storage::TokenRow>> tokens = storage::ListTokens(connection);
  if (!tokens.ok()) return Complain(tokens.status());
  if (arguments.json) {
    fmt::print("{}\n", ListAsJson(*tokens));
    return 0;
  }
  size_t width = 3;
  for (const storage::TokenRow& token : *tokens) width = std::max(width, token.subject.size());
  fmt::print("{:<12}  {:<{}}  {:<10}  {:<7}  {:<20}  QUEUES\n", "ID", "SUB", width, "ROLE", "STATE",
             "EXPIRES");
  for (const storage::TokenRow& token : *tokens) {
    fmt::print("{:<12}  {:<{}}  {:<10}  {:<7}  {:<20}  {}\n", token.id, token.subject, width,
               token.role, StateOf(token), token.expires_at.empty() ? "never" : token.expires_at,
               token.queues.empty() ? "all" : token.queues);
  }
  return 0;
}

int Revoke(pg::BlockingConnection& connection, const TokenArguments& arguments) {
  for (const std::string& id : arguments.ids) {
    const Status revoked = storage::RevokeToken(connection, id);
    if (!revoked.ok()) return Complain(revoked);
    fmt::print("Token {} is revoked.\n", id);
  }
  return 0;
}

int RunWith(pg::BlockingConnection& connection, const TokenArguments& arguments) {
  switch (arguments.action) {
    case TokenArguments::Action::kCreate:
      return Create(connection, arguments);
    case TokenArguments::Action::kList:
      return List(connection, arguments);
    case TokenArguments::Action::kRevoke:
      return Revoke(connection, arguments);
  }
  return 1;
}

int RunAt(const std::string& conninfo, const config::Config& config,
          const TokenArguments& arguments) {
  auto connection =
      pg::BlockingConnection::Connect(conninfo, config.database.connection_timeout_ms);
  if (!connection.ok()) return Complain(connection.status());
  return RunWith(*connection, arguments);
}

}  // namespace

int RunToken(const config::Config& config, const TokenArguments& arguments) {
  if (!config.uses_embedded()) return RunAt(config::Conninfo(config), config, arguments);
  // A broker that runs has its cluster there.
  auto running = pg::BlockingConnection::Connect(
      fmt::format("host='{}/run' user=queen dbname=queen", config.embedded.data_dir),
      config.database.connection_timeout_ms);
  if (running.ok()) return RunWith(*running, arguments);
  embedded::EmbeddedService service(EmbeddedOptionsOf(config));
  if (const Status opened = service.Open(); !opened.ok()) return Complain(opened);
  if (const Status started = service.StartAndWait(); !started.ok()) return Complain(started);
  return RunAt(service.postgres().conninfo(), config, arguments);
}

}  // namespace queen::server
