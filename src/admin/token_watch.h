// TokenWatch: keeps the tokens of `queen token` that a broker knows true. Reads how often they have
// been changed every kTickMs, and all of them when that differs, so that a token revoked anywhere
// is refused here well within a second. While PostgreSQL cannot be asked nobody can revoke one
// either, and what was read last stands. The file of tokens is looked at as often.
//
// On the pool's loop.
#pragma once

#include <cstdint>

#include "admin/admin_pool.h"
#include "auth/authority.h"
#include "loop/timer.h"

namespace queen::admin {

class TokenWatch {
 public:
  static constexpr int64_t kTickMs = 250;

  // `authority` outlives it.
  TokenWatch(AdminPool& pool, auth::Authority& authority);

  // Looks at the file from now on.
  void Start();
  // The schema is in place: reads the tokens of the database from now on.
  void DatabaseReady();
  void Stop();

 private:
  void OnTick();
  void OnVersion(const pg::BatchResult& result);
  void OnTokens(const pg::BatchResult& result);

  AdminPool& pool_;
  auth::Authority& authority_;
  Timer timer_;
  bool stopped_ = true;
  bool database_ready_ = false;
  bool in_flight_ = false;
  int64_t version_ = -1;  // of what was read last
};

}  // namespace queen::admin
