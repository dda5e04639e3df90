// The procedures of sql/procedures, one file each as there: they read like the SQL, and answer the
// columns that the statements of storage/ ask for. A call is one statement with its snapshot taken;
// NextStatement stands where PL/pgSQL begins another one. Streams, deleted and hidden messages,
// cleared queues and the sweep of what deletions leave are not modelled.
#pragma once

#include "pg/statement.h"
#include "simulator/database/answer.h"
#include "simulator/database/arguments.h"
#include "simulator/database/catalog.h"
#include "simulator/database/task.h"
#include "simulator/database/transaction.h"

namespace queen::simulator {

namespace oid = pg::oid;

struct Call {
  Transaction& transaction;
  Catalog& catalog;
  const Arguments& arguments;
};

// pg_advisory_xact_lock, for tests that stop a transaction.
extern const pg::Statement kAdvisoryLock;

// Throws SqlError 42883 for a statement that has no procedure here.
Task<pg::Rows> CallProcedure(const pg::Statement& statement, Call& call);

// ---- names
Task<pg::Rows> FindPartitions(Call& call);
Task<pg::Rows> EnsurePartitions(Call& call);
Task<pg::Rows> FindPopNames(Call& call);
Task<pg::Rows> EnsureGroups(Call& call);
Task<pg::Rows> FindFamily(Call& call);
Task<pg::Rows> Heartbeat(Call& call);
Task<pg::Rows> RequireDatabase(Call& call);

// ---- the log
Task<pg::Rows> PushMessages(Call& call);
Task<pg::Rows> PushAndLease(Call& call);
Task<pg::Rows> LoadIds(Call& call);
Task<pg::Rows> IndexUntimed(Call& call);
Task<pg::Rows> ResolveBatch(Call& call);
Task<pg::Rows> FetchSegments(Call& call);
Task<pg::Rows> TailBatches(Call& call);

// ---- lanes
Task<pg::Rows> LoadLanes(Call& call);
Task<pg::Rows> AppendLanes(Call& call);
Task<pg::Rows> ResolvePops(Call& call);
Task<pg::Rows> HasPendingMessages(Call& call);
Task<pg::Rows> RenewLease(Call& call);
Task<pg::Rows> FindAckTargets(Call& call);
Task<pg::Rows> FindTransactionTargets(Call& call);
Task<pg::Rows> FindDeadLetters(Call& call);
Task<pg::Rows> ExecuteTransaction(Call& call);

// ---- administration
Task<pg::Rows> Configure(Call& call);
Task<pg::Rows> DeleteQueue(Call& call);
Task<pg::Rows> DeletePartition(Call& call);
Task<pg::Rows> DeleteGroup(Call& call);
Task<pg::Rows> Seek(Call& call);

// ---- sweeps
Task<pg::Rows> SweepProgress(Call& call);
Task<pg::Rows> SweepSegments(Call& call);
Task<pg::Rows> SweepBatches(Call& call);

}  // namespace queen::simulator
