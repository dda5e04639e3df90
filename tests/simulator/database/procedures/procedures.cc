#include "simulator/database/procedures/procedures.h"

#include <map>
#include <string_view>

namespace queen::simulator {
namespace {

Task<pg::Rows> AdvisoryLock(Call& call) {
  co_await call.transaction.Lock({*call.arguments.Int4(1), *call.arguments.Int4(2)});
  Answer answer({{"pg_advisory_xact_lock", oid::kVoid}});
  answer.Text("");
  co_return std::move(answer).Take();
}

using Procedure = Task<pg::Rows> (*)(Call& call);

const std::map<std::string_view, Procedure>& Procedures() {
  static const std::map<std::string_view, Procedure> kProcedures{
      {"advisory_lock", AdvisoryLock},
      {"append_leases", AppendLanes},
      {"append_returns", AppendLanes},
      {"append_verdicts", AppendLanes},
      {"configure", Configure},
      {"delete_group", DeleteGroup},
      {"delete_partition", DeletePartition},
      {"delete_queue", DeleteQueue},
      {"ensure_groups", EnsureGroups},
      {"ensure_partitions", EnsurePartitions},
      {"execute_transaction", ExecuteTransaction},
      {"find_ack_targets", FindAckTargets},
      {"find_dead_letters", FindDeadLetters},
      {"find_family", FindFamily},
      {"find_partitions", FindPartitions},
      {"find_pop_names", FindPopNames},
      {"find_transaction_targets", FindTransactionTargets},
      {"has_pending_messages", HasPendingMessages},
      {"heartbeat", Heartbeat},
      {"index_untimed", IndexUntimed},
      {"load_ids", LoadIds},
      {"load_lanes", LoadLanes},
      {"pop_sm_fetch", FetchSegments},
      {"pop_sm_resolve", ResolvePops},
      {"push_and_lease", PushAndLease},
      {"push_messages", PushMessages},
      {"renew_lease", RenewLease},
      {"require_database", RequireDatabase},
      {"resolve_batch", ResolveBatch},
      {"seek", Seek},
      {"sweep_batches", SweepBatches},
      {"sweep_progress", SweepProgress},
      {"sweep_segments", SweepSegments},
      {"tail_batches", TailBatches},
  };
  return kProcedures;
}

}  // namespace

const pg::Statement kAdvisoryLock{
    "advisory_lock", "SELECT pg_catalog.pg_advisory_xact_lock($1, $2)", {oid::kInt4, oid::kInt4}};

Task<pg::Rows> CallProcedure(const pg::Statement& statement, Call& call) {
  const auto found = Procedures().find(statement.name);
  if (found == Procedures().end()) {
    throw SqlError{"42883", "the simulated database has no procedure " + statement.name, ""};
  }
  return found->second(call);
}

}  // namespace queen::simulator
