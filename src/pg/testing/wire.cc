#include "pg/testing/wire.h"

#include "pg/binary.h"

namespace queen::pg::testing {

std::string MessageTypes(std::string_view bytes) {
  constexpr size_t kHeaderBytes = 5;  // the letter, and a length that counts itself
  std::string types;
  while (!bytes.empty()) {
    const size_t length =
        bytes.size() < kHeaderBytes ? bytes.size() : 1 + binary::Load<uint32_t>(bytes.data() + 1);
    if (bytes.size() < kHeaderBytes || bytes.size() < length) return types + '?';
    types += bytes[0];
    bytes.remove_prefix(length);
  }
  return types;
}

}  // namespace queen::pg::testing
