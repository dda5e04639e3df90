#include "bench/transaction_ids.h"

#include <fmt/format.h>

#include "base/random.h"
#include "base/uuid.h"

namespace queen::bench {
namespace {

Uuid MakeUuidV4() {
  auto& random = ThreadRandom();
  return Uuid::FromHalves((random() & ~uint64_t{0xF000}) | 0x4000,
                          random() >> 2 | uint64_t{1} << 63);
}

}  // namespace

std::string_view TransactionIds::Next() {
  if (kind_ == IdKind::kKey) {
    // 6 + 16 + 1 + 13 characters
    fmt::format_to_n(text_.data(), text_.size(), "order-{:016x}-{:013}", run_, ++count_);
    return {text_.data(), text_.size()};
  }
  const Uuid id = kind_ == IdKind::kV7 ? MakeUuidV7() : MakeUuidV4();
  id.Format(text_.data());
  return {text_.data(), text_.size()};
}

}  // namespace queen::bench
