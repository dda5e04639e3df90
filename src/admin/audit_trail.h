// AuditTrail: who changed or deleted what, when and from where. Every entry is a JSON line in a
// file or the log, written by a thread of its own, and a row of queen.audit_trail, written in
// batches on the AdminPool: the message path waits for neither.
//
//   Record (any thread) --> lines waiting --> file or log
//                       \-> rows waiting --Start--> INSERT, again until it is known to be stored
//
// Rows wait in memory while PostgreSQL is away, kWaitingMax of them; beyond that an entry is in the
// lines only, and counted as dropped. An entry has an id, so one that was stored and asked again is
// stored once. A process that is killed takes rows with it that were not stored yet; Finish waits
// for them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "admin/admin_pool.h"
#include "base/status.h"
#include "base/unique_function.h"
#include "loop/timer.h"

namespace queen::admin {

struct AuditEntry {
  int64_t at_micros = 0;
  std::string actor;     // the subject of the token or certificate, "" for none
  std::string source;    // how that is known
  std::string token_id;  // "" for none
  std::string client;    // address and port
  std::string action;    // such as "queue.delete"
  std::string method;
  std::string path;     // with its query
  std::string queue;    // "" for none, or several
  std::string request;  // the body, its beginning if it is long
  int status = 0;       // of the reply
};

class AuditTrail {
 public:
  static constexpr size_t kWaitingMax = 10'000;
  static constexpr size_t kRequestBytesMax = 2'000;
  static constexpr size_t kRowsPerStatement = 200;
  static constexpr int64_t kRetryMs = 1'000;
  // How long Finish waits for the last rows.
  static constexpr int64_t kLastRowsMs = 2'000;

  struct Options {
    std::string file;     // "" for none
    bool to_log = false;  // where there is no file
    std::string broker;   // its name in every entry
  };

  explicit AuditTrail(Options options) : options_(std::move(options)) {}
  ~AuditTrail();  // REQUIRES: never opened, or closed
  AuditTrail(const AuditTrail&) = delete;
  AuditTrail& operator=(const AuditTrail&) = delete;

  // Opens the file and starts the thread. The error names the file.
  Status Open();
  // Any thread, at any time.
  void Record(const AuditEntry& entry);

  // On the pool's loop, once: the schema is in place. `pool` outlives Finish.
  void Start(AdminPool& pool);
  // On the pool's loop, once: stores what is left, within limits, then runs `done`.
  void Finish(UniqueFunction<void()> done);
  // Writes the last lines and ends the thread.
  void Close();

  uint64_t stored() const { return stored_.load(std::memory_order_relaxed); }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  size_t waiting() const;

 private:
  struct Line {
    std::string row;
    AuditEntry entry;  // for the log
  };

  void WriteLines();
  void WriteToFile(const std::string& lines);
  bool OpenFile();
  void Flush();
  void OnStored(size_t rows, const pg::BatchResult& result);
  void End();

  const Options options_;

  mutable std::mutex mutex_;
  std::condition_variable more_lines_;
  std::deque<std::string> rows_;  // of mutex_: JSON objects
  std::deque<Line> lines_;        // of mutex_
  bool closing_ = false;          // of mutex_
  bool flush_posted_ = false;     // of mutex_
  AdminPool* pool_ = nullptr;     // of mutex_; set by Start

  // On the pool's loop.
  std::unique_ptr<Timer> retry_;
  std::unique_ptr<Timer> give_up_;
  bool storing_ = false;
  UniqueFunction<void()> finished_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();

  // On the thread.
  int fd_ = -1;
  std::thread thread_;

  std::atomic<uint64_t> stored_{0};
  std::atomic<uint64_t> dropped_{0};
};

// `text` fit to be stored and shown: well-formed, without control characters, at most `bytes_max`.
std::string AuditText(std::string_view text, size_t bytes_max);

}  // namespace queen::admin
