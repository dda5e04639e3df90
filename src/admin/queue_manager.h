// AsyncQueueManager: the QueueManager of one worker. Asks on the AdminPool and answers on the
// worker's loop; destroyed before an answer, it drops it.
#pragma once

#include <memory>

#include "admin/admin_pool.h"
#include "admin/partition_queues.h"
#include "admin/requests.h"
#include "admin/stats_job.h"
#include "state/maintenance.h"
#include "state/queue_capacity.h"

namespace queen::admin {

class AsyncQueueManager final : public QueueManager {
 public:
  // Partitions moved in one transaction: each is a row that others may wait for.
  static constexpr int32_t kSeekPartitions = 500;
  // Segments removed in one transaction.
  static constexpr int32_t kClearSegments = 500;

  // Dead letters changed in one transaction, and bytes of those pushed again in one: each may hold
  // the lock of a partition.
  static constexpr int32_t kDeadLetterStep = 200;
  static constexpr int64_t kRedriveStepBytes = int64_t{4} << 20;

  // Of the worker whose loop is `here`. What it is given outlives it.
  AsyncQueueManager(Loop& here, AdminPool& pool, StatsJob& stats_job,
                    state::QueueCapacity& capacity, state::Maintenance& maintenance)
      : here_(here),
        pool_(pool),
        stats_job_(stats_job),
        capacity_(capacity),
        maintenance_(maintenance) {}

  void Configure(ConfigureRequest request, Done<ConfigureResult> done) override;
  void DeleteQueue(std::string queue, Done<bool> done) override;
  void DeletePartition(std::string queue, std::string partition, Done<bool> done) override;
  void ClearQueue(ClearRequest request, Done<int64_t> done) override;
  void Seek(SeekRequest request, Done<int64_t> done) override;
  void DeleteGroup(DeleteGroupRequest request, Done<int64_t> done) override;
  void SetSubscription(std::string group, int64_t micros, Done<int64_t> done) override;
  void ListDeadLetters(DeadLetterFilter filter, Done<Listed<DeadLetter>> done) override;
  void RedriveDeadLetters(DeadLetterFilter filter, Done<DeadLetterProgress> done) override;
  void PurgeDeadLetters(DeadLetterFilter filter, Done<DeadLetterProgress> done) override;
  void FindMessage(MessageName name, Done<StoredMessage> done) override;
  void DeleteMessage(MessageName name, Done<std::string> done) override;
  void RedriveMessage(MessageName name, std::optional<std::string> group,
                      Done<std::vector<Redriven>> done) override;
  void DeadLetterMessage(MessageName name, std::string group, std::string error,
                         Done<std::string> done) override;
  void RecordTrace(TraceRequest request, Done<Uuid> done) override;
  void ListTraces(PartitionId partition, std::string txn, Done<std::vector<Trace>> done) override;
  void ListTracesByName(std::string name, Page page, Done<Listed<Trace>> done) override;
  void ListTraceNames(Page page, Done<Listed<TraceName>> done) override;
  void Report(ReportRequest request, Done<std::string> done) override;
  void FindQueues(std::vector<PartitionId> partitions,
                  Done<std::vector<std::string>> done) override;
  void FindStreamQueues(StreamQueryName query, Done<std::optional<StreamQueues>> done) override;
  void RefreshStats(Done<bool> done) override;
  void SetMaintenance(state::MaintenanceMode mode, bool enabled, Done<bool> done) override;

 private:
  // A change of many rows may meet leases of the same rows in another order: PostgreSQL ends one.
  static constexpr int kTries = 5;

  using Way = void (AdminPool::*)(Loop& caller, pg::Batch batch, pg::BatchCallback callback);

  // `read` makes the result of the rows of a batch that succeeded.
  template <typename T, typename Read>
  void Ask(const pg::Batch& batch, Read read, Done<T> done, Way way = &AdminPool::Execute,
           int tries = kTries);
  // Where a step of ClearQueue begins.
  struct ClearPlace {
    int32_t after = 0;
    std::optional<int64_t> from;
    std::optional<int64_t> upto;
  };
  void ClearStep(ClearRequest request, ClearPlace place, int64_t cleared, Done<int64_t> done);
  enum class DeadLetterChange { kRedrive, kPurge };
  void ChangeDeadLetters(DeadLetterChange change, DeadLetterFilter filter,
                         DeadLetterProgress progress, Done<DeadLetterProgress> done);
  void CountRemaining(const DeadLetterFilter& filter, DeadLetterProgress progress,
                      Done<DeadLetterProgress> done);
  void SeekChunk(SeekRequest request, int32_t after, int64_t moved, Done<int64_t> done);

  Loop& here_;
  AdminPool& pool_;
  StatsJob& stats_job_;
  state::QueueCapacity& capacity_;
  state::Maintenance& maintenance_;
  PartitionQueues partition_queues_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace queen::admin
