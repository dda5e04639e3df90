#include "config/conninfo.h"

#include <fmt/format.h>

#include <cassert>
#include <string_view>

namespace queen::config {
namespace {

// keyword='value' with the quoting of libpq; an empty value leaves libpq its default.
void Append(std::string& conninfo, std::string_view keyword, std::string_view value) {
  if (value.empty()) return;
  if (!conninfo.empty()) conninfo += ' ';
  conninfo += keyword;
  conninfo += "='";
  for (const char c : value) {
    if (c == '\'' || c == '\\') conninfo += '\\';
    conninfo += c;
  }
  conninfo += '\'';
}

}  // namespace

std::string Conninfo(const Config& config) {
  assert(!config.uses_embedded());
  const Database& database = config.database;
  if (!database.url.empty()) return database.url;
  std::string conninfo;
  Append(conninfo, "host", database.host);
  Append(conninfo, "port", fmt::format("{}", database.port));
  Append(conninfo, "user", database.user);
  Append(conninfo, "password", database.password);
  Append(conninfo, "dbname", database.name);
  Append(conninfo, "sslmode", database.ssl_mode);
  Append(conninfo, "sslrootcert", database.ssl_root_cert);
  Append(conninfo, "target_session_attrs", database.target_session_attrs);
  return conninfo;
}

}  // namespace queen::config
