// The time inside a transactionId. The dedup rules (sql/procedures/dedup.sql) hang on it, so the
// broker and SQL (queen.uuid7_time) must agree on every text: txn_time_pgtest compares them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace queen::storage {

// Microseconds since 1970 when `txn` is a UUIDv7 in its text form of 36 characters, else nullopt.
std::optional<int64_t> TimeInside(std::string_view txn);

}  // namespace queen::storage
