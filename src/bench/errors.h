// Errors: how many requests or items went wrong, and in which ways. Distinct texts beyond
// kKindsMax are counted together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace queen::bench {

class Errors {
 public:
  static constexpr size_t kKindsMax = 8;

  void Add(std::string_view text, uint64_t count = 1) {
    count_ += count;
    for (auto& [known, seen] : kinds_) {
      if (known == text) {
        seen += count;
        return;
      }
    }
    if (kinds_.size() < kKindsMax) {
      kinds_.emplace_back(text, count);
    } else {
      others_ += count;
    }
  }

  uint64_t count() const { return count_; }
  // In the order they were first seen.
  const std::vector<std::pair<std::string, uint64_t>>& kinds() const { return kinds_; }
  // Those not told apart.
  uint64_t others() const { return others_; }

 private:
  uint64_t count_ = 0;
  uint64_t others_ = 0;
  std::vector<std::pair<std::string, uint64_t>> kinds_;
};

}  // namespace queen::bench
