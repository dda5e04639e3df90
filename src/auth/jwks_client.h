// JwksClient: fetches the key set that the issuer of tokens publishes, over HTTPS, on a thread of
// its own, and gives it to the KeyRing. At the start, then every interval, and when somebody wishes
// it because a token names a key that is not known; never more often than every kPauseMs, so that
// tokens of strangers cannot make us a nuisance. While the issuer does not answer, or answers
// something else, the keys that are there stay.
//
//   Start --> fetching <--> waiting --Stop--> ended
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "auth/key_ring.h"
#include "base/status.h"

namespace queen::auth {

struct JwksOptions {
  std::string url = {};
  std::string certificates = {};  // file of authorities to trust; "": the system's
  int64_t interval_ms = 300'000;
  int64_t timeout_ms = 5'000;
};

class JwksClient {
 public:
  static constexpr int64_t kPauseMs = 2'000;
  static constexpr size_t kBytesMax = size_t{1} << 20;

  // `keys` outlives it.
  JwksClient(JwksOptions options, KeyRing& keys);
  ~JwksClient();  // stops

  void Start();
  // Does not wait for an answer of the issuer.
  void Stop();
  // Fetch again, as soon as that is allowed. Any thread.
  void Wish();

 private:
  void Run();
  void FetchOnce();
  Result<std::string> Get() const;

  const JwksOptions options_;
  KeyRing& keys_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // guarded by mutex_
  bool wished_ = true;     // guarded by mutex_
  std::thread thread_;
};

}  // namespace queen::auth
