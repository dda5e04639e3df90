// FailedFiles: what cannot be replayed is set aside here, for a person, and never blocks what is
// behind it.
//
//   failed-<file>-<offset>.bytes   a damaged range of a buffer file, as it is
//   failed-<time>.jsonl            messages that PostgreSQL refused, one JSON object a line: queue,
//                                  partition, transactionId, error, meta, payload
//
// Nothing here is ever read or removed by the broker. The files count against the buffer's limit,
// so that they are bounded too. Used by one thread at a time; the counts by any.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "buffer/files.h"
#include "buffer/format.h"

namespace queen::buffer {

class FailedFiles {
 public:
  explicit FailedFiles(Directory& directory) : directory_(directory) {}

  // Counts what earlier runs have left.
  Status Open();

  // Does nothing when this range was set aside before.
  Status SetAsideDamage(uint64_t file_number, uint64_t offset, std::string_view bytes);
  // Adds a line to `lines`, for SetAsideMessages.
  static void AppendLine(const Group& group, const Message& message, std::string_view error,
                         std::string& lines);
  // Durable when it returns ok. `lines` holds `count` of them.
  Status SetAsideMessages(std::string_view lines, int64_t count);

  int64_t files() const { return files_; }
  int64_t bytes() const { return bytes_; }
  // Since the start of the process.
  int64_t messages() const { return messages_; }
  int64_t damaged_ranges() const { return damaged_ranges_; }

 private:
  Result<std::unique_ptr<File>> Create(const std::string& name);

  Directory& directory_;
  std::unique_ptr<File> lines_;  // of this process, once there is a line
  std::atomic<int64_t> files_{0};
  std::atomic<int64_t> bytes_{0};
  std::atomic<int64_t> messages_{0};
  std::atomic<int64_t> damaged_ranges_{0};
};

}  // namespace queen::buffer
