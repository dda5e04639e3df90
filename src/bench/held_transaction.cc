#include "bench/held_transaction.h"

namespace queen::bench {
namespace {

constexpr int kConnectTimeoutMs = 5'000;

}  // namespace

Result<HeldTransaction> HeldTransaction::Begin(const std::string& conninfo) {
  auto connection = pg::BlockingConnection::Connect(conninfo, kConnectTimeoutMs);
  if (!connection.ok()) return connection.status();
  // In statements of their own: the snapshot is taken by the first query inside the transaction.
  for (const char* sql :
       {"BEGIN ISOLATION LEVEL REPEATABLE READ",
        "SET LOCAL idle_in_transaction_session_timeout = 0", "SELECT count(*) FROM pg_class"}) {
    if (const auto rows = connection->Exec(sql); !rows.ok()) return rows.status();
  }
  return HeldTransaction(*std::move(connection));
}

Status HeldTransaction::End() {
  const auto rows = connection_.Exec("SELECT count(*) FROM pg_class");
  if (!rows.ok()) return rows.status();
  return connection_.Exec("COMMIT").status();
}

}  // namespace queen::bench
