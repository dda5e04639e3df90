// HeldPartitions: which partitions have records in the buffer, and how many. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace queen::buffer {

class HeldPartitions {
 public:
  void Add(std::string_view queue, std::string_view partition);
  // Does nothing for a partition that is not held.
  void Remove(std::string_view queue, std::string_view partition);
  bool Contains(std::string_view queue, std::string_view partition) const;
  size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, int64_t> records_;  // guarded by mutex_
};

}  // namespace queen::buffer
