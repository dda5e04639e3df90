#include "auth/key_ring.h"

#include <algorithm>
#include <utility>

namespace queen::auth {
namespace {

Status WrongSignature() {
  return Status(Code::kUnauthenticated, "Invalid token: no key of ours has signed it");
}

Status TryAgain() {
  return Status(Code::kOverloaded, "The keys of the token's issuer are being fetched");
}

}  // namespace

KeyRing::KeyRing(std::vector<VerifyKey> fixed, bool fetches)
    : fixed_(std::move(fixed)), fetches_(fetches) {}

std::shared_ptr<const KeyRing::Keys> KeyRing::fetched() const {
  const std::lock_guard lock(mutex_);
  return fetched_;
}

Status KeyRing::Verify(const Jwt& jwt, int64_t now_ms) {
  const auto signed_by = [&](const VerifyKey& key) {
    return key.algorithm() == jwt.algorithm && key.Verify(jwt.signed_part, jwt.signature);
  };
  if (std::ranges::any_of(fixed_, signed_by)) return Status::Ok();
  // No issuer publishes a secret.
  if (!fetches_ || jwt.algorithm == Algorithm::kHs256) return WrongSignature();
  const std::shared_ptr<const Keys> keys = fetched();
  if (!keys) return RefuseUnknown(jwt.key_id, now_ms);
  bool known = jwt.key_id.empty();
  for (const VerifyKey& key : *keys) {
    if (!jwt.key_id.empty() && !key.id().empty() && key.id() != jwt.key_id) continue;
    known = known || key.id() == jwt.key_id;
    if (signed_by(key)) return Status::Ok();
  }
  return known ? WrongSignature() : RefuseUnknown(jwt.key_id, now_ms);
}

Status KeyRing::RefuseUnknown(const std::string& id, int64_t now_ms) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(unknown_since_ms_,
                  [&](const auto& entry) { return now_ms - entry.second > kForgetUnknownMs; });
    const auto found = unknown_since_ms_.find(id);
    if (found == unknown_since_ms_.end()) {
      MakeRoomForUnknown();
      unknown_since_ms_.emplace(id, now_ms);
    } else if (fetched_ && fetched_ms_ >= found->second) {
      return WrongSignature();
    }
  }
  if (wish_) wish_();
  return TryAgain();
}

// Ids of strangers must not hide one of a new key: the oldest makes room, and is asked about again
// if it comes again.
void KeyRing::MakeRoomForUnknown() {
  if (unknown_since_ms_.size() < kUnknownIdsMax) return;
  unknown_since_ms_.erase(std::ranges::min_element(unknown_since_ms_, {},
                                                   [](const auto& entry) { return entry.second; }));
}

size_t KeyRing::unknown_ids() const {
  const std::lock_guard lock(mutex_);
  return unknown_since_ms_.size();
}

void KeyRing::Replace(std::vector<VerifyKey> fetched, int64_t begun_ms) {
  auto keys = std::make_shared<const Keys>(std::move(fetched));
  const std::lock_guard lock(mutex_);
  fetched_ = std::move(keys);
  fetched_ms_ = begun_ms;
  generation_.fetch_add(1, std::memory_order_release);
}

}  // namespace queen::auth
