#include "auth/authenticator.h"

#include <cstring>

namespace queen::auth {
namespace {

constexpr std::string_view kScheme = "bearer ";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

// The token behind "Bearer"; "" when there is none.
std::string_view BearerToken(std::string_view header) {
  if (header.size() <= kScheme.size()) return {};
  for (size_t i = 0; i < kScheme.size(); ++i) {
    if (Lower(header[i]) != kScheme[i]) return {};
  }
  header.remove_prefix(kScheme.size());
  while (header.starts_with(' ')) header.remove_prefix(1);
  while (header.ends_with(' ')) header.remove_suffix(1);
  return header;
}

}  // namespace

size_t Authenticator::Hasher::operator()(const TokenHash& hash) const {
  size_t value = 0;
  std::memcpy(&value, hash.data(), sizeof value);
  return value;
}

Result<IdentityRef> Authenticator::Authenticate(std::optional<std::string_view> header,
                                                int64_t now_seconds) {
  if (!header) return Status(Code::kUnauthenticated);
  const std::string_view token = BearerToken(*header);
  if (token.empty()) {
    return Status(Code::kUnauthenticated, "Authentication required: Authorization: Bearer <token>");
  }
  const TokenHash hash = HashToken(token);
  // Before the look-up: a change that comes after it is seen at the next request.
  const uint64_t generation = authority_.generation();
  if (generation != generation_) {
    remembered_.clear();
    generation_ = generation;
  }
  if (const auto found = remembered_.find(hash); found != remembered_.end()) {
    if (now_seconds < found->second->until_seconds) return found->second;
    remembered_.erase(found);
  }
  Result<IdentityRef> verified = authority_.Verify(token, hash, now_seconds);
  if (!verified.ok()) return verified.status();
  if (remembered_.size() >= kRememberedMax) remembered_.clear();
  return remembered_.emplace(hash, *std::move(verified)).first->second;
}

}  // namespace queen::auth
