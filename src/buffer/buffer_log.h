// BufferLog: the append-only files of the buffer, <number>.log in one directory. One thread of its
// own writes and syncs; one reader (the replay) reads what is durable, in order.
//
//   a file is   active    the writer appends to it; at most one, the newest
//               sealed    nothing is appended any more: it was full, a write failed, it was there
//                         at the start, or everything in it is settled
//               removed   sealed, read to its end, and every record of it settled
//
// Appends that come while the writer syncs are written together and synced once (group commit). An
// append is done when its bytes, and the directory's entry of a new file, are on the disk.
//
// A write or sync that fails fails the appends of that turn. What they may have left behind the
// last durable byte is cut off, the file is sealed, and the next append begins a new file, whose
// header says where the durable part of this one ends: if even the cutting failed, a later start
// does not replay that tail. (Only if no new file could be begun before the process ended may a
// message answered 503 be replayed; its transactionId makes that harmless for who repeats it.)
//
// A record counts as outstanding from Append until Settle; files are removed only after that. A
// crash in between makes the next start replay settled records again, which their transactionIds
// turn into duplicates.
//
// All bytes in the directory count against `bytes_max`; an append beyond it is refused at once. The
// file system keeps `free_bytes_min`, which PostgreSQL on the same disk needs to recover: a turn
// that would leave less fails with kDiskFull before anything of it is written.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_function.h"
#include "buffer/failed_files.h"
#include "buffer/files.h"
#include "buffer/format.h"

namespace queen::buffer {

class BufferLog {
 public:
  struct Options {
    int64_t file_bytes = int64_t{16} << 20;
    int64_t bytes_max = int64_t{1} << 30;
    int64_t free_bytes_min = 0;
  };
  struct Record {
    uint64_t file = 0;
    std::string body;
  };
  struct Stats {
    int64_t messages = 0;  // outstanding
    int64_t bytes = 0;     // of the log files and what is queued for them
    int64_t files = 0;
    int64_t oldest_micros = 0;  // arrival of the first record in the oldest file, 0 for none
    bool healthy = true;        // the last write succeeded
  };
  using Done = UniqueFunction<void(const Status&)>;

  BufferLog(Directory& directory, FailedFiles& failed, const Options& options);
  ~BufferLog();  // REQUIRES: closed, or never started

  // Reads every file that is there, calls `each` for every intact record in order, and sets aside
  // what is damaged. Refuses files of a newer format. Once, before Start.
  Status Open(const std::function<void(const Group&)>& each);
  // `on_durable` runs on the writer's thread whenever there is more to read.
  void Start(UniqueFunction<void()> on_durable);
  // Writes what is queued and ends the thread. Appends are refused from then on.
  void Close();

  // Any thread. Ok: `done` will run on the writer's thread. Not ok: refused, and `done` is dropped.
  Status Append(std::string body, int64_t messages, Done done);

  // Records from Append (or Open) to Settle.
  int64_t outstanding() const { return outstanding_.load(); }
  int64_t messages() const { return messages_.load(); }
  Stats stats() const;

  // ---- for the one reader

  bool HasUnread() const { return unread_bytes_.load() > 0; }
  // The unread records of the oldest file that has any. After an error it may be tried again.
  Result<std::vector<Record>> Read();
  // A record that was read is committed, or set aside for good. Any thread.
  void Settle(uint64_t file, int64_t messages);
  // Removes the files that are done with.
  void RemoveSettled();

 private:
  struct FileState {
    uint64_t number = 0;
    uint64_t salt = 0;
    uint64_t end = 0;   // durable
    uint64_t read = 0;  // up to here the reader has it
    uint64_t size = 0;  // on the disk, as far as we know
    int64_t records = 0;
    int64_t messages = 0;
    int64_t records_read = 0;
    int64_t messages_read = 0;
    int64_t unsettled = 0;  // of those read
    int64_t first_arrival_micros = 0;
    bool sealed = false;
  };
  struct Queued {
    std::string body;
    int64_t messages;
    Done done;
  };

  Status OpenFile(const Directory::Entry& entry, uint64_t end,
                  const std::function<void(const Group&)>& each);
  void RunWriter();
  void WriteTurn(std::vector<Queued> turn);
  Status CheckSpace(int64_t bytes);
  Status Write(const std::vector<Queued>& turn, int64_t bytes);
  void LogFailure(const Status& status, int64_t bytes);
  Status BeginFile();
  void AbandonFile();
  FileState* FindFile(uint64_t number);

  Directory& directory_;
  FailedFiles& failed_;
  const Options options_;
  UniqueFunction<void()> on_durable_;

  std::atomic<int64_t> outstanding_{0};
  std::atomic<int64_t> messages_{0};
  std::atomic<int64_t> unread_bytes_{0};
  std::atomic<bool> healthy_{true};

  std::unique_ptr<File> active_;          // the writer's, or anybody's under mutex_ while !writing_
  uint64_t last_number_ = 0;              // the writer's
  uint64_t last_end_ = 0;                 // durable bytes of the file of that number; the writer's
  uint64_t salt_ = 0;                     // of the active file; the writer's
  std::pair<uint64_t, uint64_t> before_;  // last_number_ and last_end_ before it was begun

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<FileState> files_;  // in order; from here on guarded by mutex_
  std::deque<Queued> queue_;
  int64_t queued_bytes_ = 0;
  int64_t file_bytes_ = 0;  // sum of size
  bool writing_ = false;
  bool closing_ = false;

  std::thread writer_;
};

}  // namespace queen::buffer
