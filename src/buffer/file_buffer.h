// FileBuffer: where pushes go while PostgreSQL is away or in maintenance, and how they come back.
// Puts together the log (buffer_log.h), its replay (replay.h), what could not be replayed
// (failed_files.h) and the partitions that are held; docs/file-buffer.md is its description for
// users.
//
//   Open --Start--> writing --Claim, StartReplay--> draining whenever it can --StopReplay-->
//   --Close--> closed
//
// Nothing is replayed before Claim has found that the messages are for this database (owner.h). A
// connection may lead to another one later: the push path stores nothing of a replay there
// (sidecar/push_detour.cc), and Claim is called again for every database that is met.
//
// The cut-over back to direct pushes. A partition is held while it has records here. Once
// PostgreSQL is back, pushes to held partitions are appended behind them only at half the speed of
// draining (drain_pace.h), and not at all when what is left will be drained within a second or so:
// the rest waits in memory (Route::kWait). A partition whose last record is settled is direct
// again, and what waited for it goes first.
//
// Any thread, except where said.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "buffer/buffer_log.h"
#include "buffer/drain_pace.h"
#include "buffer/failed_files.h"
#include "buffer/files.h"
#include "buffer/held_partitions.h"
#include "buffer/owner.h"
#include "buffer/replay.h"
#include "sidecar/engine_router.h"
#include "sidecar/push_buffer.h"

namespace queen::buffer {

struct FileBufferStats {
  int64_t pending_messages = 0;
  int64_t pending_partitions = 0;
  int64_t bytes = 0;  // of everything in the directory
  int64_t bytes_max = 0;
  int64_t oldest_micros = 0;    // arrival of the first record in the oldest file, 0 for none
  int64_t failed_messages = 0;  // set aside since the start: refused by PostgreSQL
  int64_t damaged_ranges = 0;   // the same: damaged parts of files
  int64_t failed_files = 0;     // in the directory, also from earlier runs
  int64_t failed_bytes = 0;
  bool healthy = true;  // the last write to the disk succeeded
  bool forced = false;
};

class FileBuffer final : public sidecar::PushBuffer {
 public:
  // So many or fewer, or what is drained in two windows of time, are "about to be stored".
  static constexpr int64_t kCutOverMessages = 5'000;

  // Locks the directory and reads what is in it. An error is a reason not to start.
  static Result<std::unique_ptr<FileBuffer>> Open(std::unique_ptr<Directory> directory,
                                                  const BufferLog::Options& options);
  ~FileBuffer();  // REQUIRES: closed, or never started

  // Begins to write. Once.
  void Start();
  // The broker has met a database, which has this id. kConflict is a reason to stop: what is here
  // is for another one. Other errors are of the disk. First between Start and StartReplay, one
  // thread at a time.
  Status Claim(const std::string& database_id);
  // `stranger` runs with the id of a database that was met and is still to be claimed, on the
  // thread that meets it. Before Start.
  void OnStranger(std::function<void(const std::string& database_id)> stranger) {
    stranger_ = std::move(stranger);
  }
  // Begins to replay to these sidecars, whose loops run until after Close. Once.
  // REQUIRES: Claim was ok
  void StartReplay(const sidecar::Shards& shards);
  // Before the sidecars close.
  void StopReplay();
  // After the sidecars have closed and before their loops end: every append is answered.
  void Close();

  // While on, every push is buffered and nothing is replayed. Off: drains.
  void SetForced(bool forced);
  FileBufferStats stats() const;

  bool active() const override { return forced_.load() || log_.outstanding() > 0; }
  Route RouteOf(std::string_view queue, std::string_view partition) const override;
  bool Holds(std::string_view queue, std::string_view partition) const override;
  void Append(Loop& loop, std::string_view queue, std::string_view partition,
              const std::vector<sidecar::BufferedMessage>& messages,
              UniqueFunction<void(const Status&)> done) override;
  std::string owner() const override { return owner_.id(); }
  void Meet(std::string_view database_id) override;

 private:
  struct Completion {
    Loop* loop;
    std::string queue;
    std::string partition;
    UniqueFunction<void(const Status&)> done;
  };

  FileBuffer(std::unique_ptr<Directory> directory, const BufferLog::Options& options);
  void Finish(const std::shared_ptr<Completion>& completion, const Status& status);

  const std::unique_ptr<Directory> directory_;
  const int64_t bytes_max_;
  FailedFiles failed_;
  Owner owner_;
  HeldPartitions held_;
  mutable DrainPace pace_;
  BufferLog log_;
  Replay replay_;
  std::function<void(const std::string&)> stranger_;
  std::atomic<bool> forced_{false};
};

}  // namespace queen::buffer
