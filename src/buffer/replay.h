// Replay: pushes what is in the log to PostgreSQL, in order, on a thread of its own. A record is
// submitted once as a PushRequest with `replay` set, and waits in the owner's push queue for as
// long as PostgreSQL is away; so many records are on their way at once that the push path makes
// full batches of them. A record is settled
//   - when every message of it is `queued` or `duplicate` (stored before, by the push that was in
//     doubt or by an earlier replay), or
//   - when PostgreSQL refused messages for good: those are set aside first (failed_files.h), and
//     nothing behind them waits for that.
// Then the file is removed when all of it is settled.
//
// While paused nothing more is submitted; what is on its way arrives.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "buffer/buffer_log.h"
#include "buffer/drain_pace.h"
#include "buffer/held_partitions.h"
#include "sidecar/requests.h"

namespace queen::buffer {

class Replay {
 public:
  struct Limits {
    int64_t records_max = 20'000;  // on their way
    int64_t bytes_max = int64_t{16} << 20;
    int64_t retry_ms = 1'000;  // after an error of the disk
  };
  // Takes it to the push queue that owns the queue, keeping the order of calls. Called on the
  // replay's thread; the request's `done` may run on any.
  using Submit = std::function<void(std::string_view queue, sidecar::PushRequest request)>;

  Replay(BufferLog& log, HeldPartitions& held, FailedFiles& failed, DrainPace& pace,
         const Limits& limits)
      : log_(log), held_(held), failed_(failed), pace_(pace), limits_(limits) {}
  ~Replay();  // REQUIRES: stopped, or never started

  void Start(Submit submit);
  // There is more to read. Any thread.
  void Wake();
  void SetPaused(bool paused);
  // Ends the thread. Records answered afterwards are settled if they were stored.
  void Stop();

 private:
  struct Refused {
    uint64_t file = 0;
    int64_t messages = 0;  // of the whole record
    std::string lines;     // of those refused
    int64_t line_count = 0;
  };

  void Run();
  bool HasRoom() const;
  void SubmitOne(BufferLog::Record record);
  void OnAnswered(uint64_t file, size_t bytes, sidecar::PushRequest& request,
                  const Result<std::vector<sidecar::PushOutcome>>& outcomes);
  bool SetAside(std::vector<Refused>& refused);
  void WaitAfterError();

  BufferLog& log_;
  HeldPartitions& held_;
  FailedFiles& failed_;
  DrainPace& pace_;
  const Limits limits_;
  Submit submit_;
  std::deque<BufferLog::Record> unsent_;  // the thread's

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Refused> refused_;  // from here on guarded by mutex_
  int64_t records_in_flight_ = 0;
  int64_t bytes_in_flight_ = 0;
  bool settled_ = false;  // something was, since the thread last looked
  bool paused_ = false;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace queen::buffer
