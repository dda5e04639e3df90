#include "storage/txn_time.h"

#include "base/uuid.h"

namespace queen::storage {

std::optional<int64_t> TimeInside(std::string_view txn) {
  const auto uuid = Uuid::Parse(txn);
  if (!uuid || uuid->version() != 7 || (uuid->bytes[8] & 0xC0) != 0x80) return std::nullopt;
  return uuid->v7_millis() * 1000;
}

}  // namespace queen::storage
