// ReplayWindow: which sequence numbers of one sender have been taken. Packets may come late and out
// of order within kWidth numbers of the highest; what is older counts as taken.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace queen::cluster {

class ReplayWindow {
 public:
  static constexpr uint64_t kWidth = 1024;

  // Whether `sequence` is new; it is taken from then on. Numbers begin at 1.
  bool Take(uint64_t sequence) {
    if (sequence == 0) return false;
    if (sequence > highest_) {
      Advance(sequence);
    } else if (highest_ - sequence >= kWidth || taken_[Place(sequence)]) {
      return false;
    }
    taken_.set(Place(sequence));
    return true;
  }

 private:
  static size_t Place(uint64_t sequence) { return static_cast<size_t>(sequence % kWidth); }

  void Advance(uint64_t sequence) {
    if (sequence - highest_ >= kWidth) {
      taken_.reset();
    } else {
      for (uint64_t skipped = highest_ + 1; skipped <= sequence; ++skipped) {
        taken_.reset(Place(skipped));
      }
    }
    highest_ = sequence;
  }

  uint64_t highest_ = 0;
  std::bitset<kWidth> taken_;
};

}  // namespace queen::cluster
