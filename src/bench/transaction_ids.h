// TransactionIds: what the messages of a run carry as transactionId. Every kind has the same width,
// so that runs differ in nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace queen::bench {

enum class IdKind {
  kV7,   // UUIDv7, with the time inside
  kV4,   // UUIDv4, random
  kKey,  // a key of the application's own, "order-..", that rises by one
};
inline constexpr std::array<std::string_view, 3> kIdKindNames = {"v7", "v4", "key"};
inline constexpr size_t kTransactionIdBytes = 36;

class TransactionIds {
 public:
  // `run` tells the keys of one run from those of another.
  TransactionIds(IdKind kind, uint64_t run) : kind_(kind), run_(run) {}
  // An id that was not given before. Valid until the next call.
  std::string_view Next();

 private:
  const IdKind kind_;
  const uint64_t run_;
  uint64_t count_ = 0;
  std::array<char, kTransactionIdBytes> text_{};
};

}  // namespace queen::bench
