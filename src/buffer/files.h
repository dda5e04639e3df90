// The seam between the buffer and the file system: an append-only File, and the Directory that has
// them. Tests put faults here. Calls block; they are made by the buffer's own threads and at start.
//
// An operation that fails may have been carried out in part: after a failed Append or Sync nothing
// is known of what stands behind the last successful Sync. The code of an error is kDiskFull when
// the file system has no space left, kInternal otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace queen::buffer {

class File {
 public:
  virtual ~File() = default;
  virtual Status Append(std::string_view bytes) = 0;
  // Returns when everything appended is on the disk. The directory's entry is another matter.
  virtual Status Sync() = 0;
  virtual Status Truncate(uint64_t size) = 0;
};

class Directory {
 public:
  struct Entry {
    std::string name;
    uint64_t size = 0;
  };

  virtual ~Directory() = default;
  virtual const std::string& path() const = 0;
  // A file that is not there yet.
  virtual Result<std::unique_ptr<File>> Create(const std::string& name) = 0;
  // Bytes [from, to) of a file; fewer when it is shorter.
  virtual Result<std::string> Read(const std::string& name, uint64_t from, uint64_t to) = 0;
  // Regular files only, in no order.
  virtual Result<std::vector<Entry>> List() = 0;
  virtual Status Remove(const std::string& name) = 0;
  // Returns when creations and removals are on the disk.
  virtual Status Sync() = 0;
  // What its file system has left for us.
  virtual Result<int64_t> FreeBytes() = 0;
};

// Makes the directory where it is missing and locks it for the life of the object. The errors are
// for a person: not writable, no directory, in use by another broker. The lock is the kernel's, so
// nothing is stale after kill -9.
Result<std::unique_ptr<Directory>> OpenDirectory(const std::string& path);

}  // namespace queen::buffer
