// KeyRing: the keys that tokens of the issuer are verified with: those of the settings, and those
// that the issuer publishes (jwks_client.h), which change while the broker runs.
//
// A token whose `kid` nobody knows may be signed with a key that is newer than what was fetched
// last. It is answered "try again" until the set has been fetched once more, and refused after
// that, for kForgetUnknownMs: then it may be a key that is published by now. How many such ids are
// remembered is bounded, and so is how often the issuer is asked
// (JwksClient), whatever strangers write into headers.
//
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "auth/jwt.h"
#include "auth/verify_key.h"
#include "base/status.h"
#include "base/unique_function.h"

namespace queen::auth {

class KeyRing {
 public:
  static constexpr size_t kUnknownIdsMax = 256;
  static constexpr int64_t kForgetUnknownMs = 10'000;

  // `fixed`: of the settings. `fetches`: whether an issuer publishes more.
  KeyRing(std::vector<VerifyKey> fixed, bool fetches);

  // What is called, on the thread that asks, when an id is seen that no key has. Call before others
  // use it.
  void OnUnknownId(UniqueFunction<void()> wish) { wish_ = std::move(wish); }

  // Ok when a key of the token's own algorithm has signed it. kUnauthenticated: none has.
  // kOverloaded: to be tried again, once the issuer's keys have been fetched.
  Status Verify(const Jwt& jwt, int64_t now_ms);

  // The issuer's keys, as asked for at `begun_ms`.
  void Replace(std::vector<VerifyKey> fetched, int64_t begun_ms);

  // How many ids are remembered that no key has.
  size_t unknown_ids() const;
  // Differs after every Replace that changed something.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  using Keys = std::vector<VerifyKey>;

  std::shared_ptr<const Keys> fetched() const;
  void MakeRoomForUnknown();  // REQUIRES: mutex_ is held
  Status RefuseUnknown(const std::string& id, int64_t now_ms);

  const Keys fixed_;
  const bool fetches_;
  UniqueFunction<void()> wish_;
  std::atomic<uint64_t> generation_{1};
  mutable std::mutex mutex_;
  std::shared_ptr<const Keys> fetched_;  // guarded by mutex_; null: none were fetched yet
  int64_t fetched_ms_ = INT64_MIN;       // guarded by mutex_
  std::map<std::string, int64_t> unknown_since_ms_;  // guarded by mutex_
};

}  // namespace queen::auth
