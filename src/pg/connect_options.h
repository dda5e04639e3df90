// What to connect to, and the settings every session of ours has. Both are values: made once from
// the configuration, copied into each connection.
//
// The address is a libpq connection string or URI plus keywords that win over it; several hosts and
// target_session_attrs pass through, and what is given nowhere comes from the libpq environment
// (PGHOST, PGPASSFILE, ...). On top of that:
//   - keywords the caller gave win over our defaults (keepalives, target_session_attrs, ...), but
//     client_encoding is always UTF8;
//   - session settings travel in the startup packet (options=-c name=value), so they hold from the
//     first statement, need no superuser and cost no round trip. They win over options of the
//     caller, over ALTER ROLE/DATABASE SET and over postgresql.conf. default_transaction_read_only
//     is not among them: who sets it takes a server out of service.
// A connection pooler between us and PostgreSQL must pass startup options on and be in session
// mode.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace queen::pg {

class ConnectionLog;

using Keywords = std::vector<std::pair<std::string, std::string>>;

// Whether libpq can use the connection string. The error shows nothing of it.
Status CheckConninfo(const std::string& conninfo);

struct ConnectOptions {
  // "postgresql://..." or "host=... dbname=...".
  std::string conninfo;
  // libpq keywords that win over `conninfo`: host, port, dbname, user, password, sslmode,
  // sslrootcert, ...
  Keywords keywords;
  std::string application_name = "queen";

  // One attempt to connect, including TLS and authentication; a connect_timeout in the address
  // (seconds) wins.
  int connect_timeout_ms = 10'000;
  // Silence while something is in flight after which a connection is given up. Longer than
  // statement_timeout_ms, or the server never gets to say so itself.
  int in_flight_deadline_ms = 60'000;
  // Pause between attempts: random in [0, base * 2^attempts], at most max.
  int backoff_base_ms = 100;
  int backoff_max_ms = 5'000;

  // TCP, both ends; 0 leaves the operating system's or server's default. The two ends give up on a
  // dead peer after about keepalives_idle + keepalives_count * keepalives_interval, and on
  // unacknowledged data after tcp_user_timeout.
  int keepalives_idle_s = 10;
  int keepalives_interval_s = 5;
  int keepalives_count = 3;
  int tcp_user_timeout_ms = 20'000;

  // Session settings. 0 switches the timeout off.
  int statement_timeout_ms = 30'000;
  int lock_timeout_ms = 5'000;
  int idle_in_transaction_timeout_ms = 30'000;
  // How often a running statement checks that we are still there; 0 leaves it to the server (needed
  // where the server's system cannot: it refuses the setting).
  int client_connection_check_interval_ms = 5'000;
  // Arrays of changing length make every plan look worth making anew, which costs more than to run
  // it.
  std::string plan_cache_mode = "force_generic_plan";
  // Who logs what becomes of the connections; shared by all who connect to the same server. Null:
  // each Slots has its own.
  std::shared_ptr<ConnectionLog> log;
  // More settings, as name and value; a name of the list above is refused.
  Keywords settings;

  // kInvalidRequest naming what is wrong: the conninfo, a keyword libpq does not know, a deadline
  // not longer than the statement timeout, ...
  Status Validate() const;

  // The session settings in the order sent.
  Keywords SessionSettings() const;

  // Everything for PQconnectStartParams, each keyword once. REQUIRES: Validate() is ok
  Keywords ConnectionKeywords() const;

  // "user@host:port/dbname" for logs; no password.
  std::string Describe() const;
  // The command for a shell that opens psql on the same database; no password.
  std::string PsqlCommand() const;

  // connect_timeout of the address, or connect_timeout_ms.
  int EffectiveConnectTimeoutMs() const;
};

// The `options` keyword that sets `settings`: "-c name=value ..." with what the server splits at
// escaped.
std::string StartupOptions(const Keywords& settings);

// The value of `name`, or "" when there is none.
std::string_view Find(const Keywords& keywords, std::string_view name);

}  // namespace queen::pg
