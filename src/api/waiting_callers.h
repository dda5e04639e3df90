// WaitingCallers: the callers of one worker whose requests wait (long polls), by the token they
// came with. A token may be revoked, expire or lose a queue while its request waits: Look asks anew
// about each, and ends the wait of those who may no longer. It asks only when tokens or keys have
// changed or a token's time is over; else it costs two comparisons.
//
// Who came with a certificate, or where nobody is asked, is not watched: nothing ends them.
//
// On the loop of its worker.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "auth/access.h"
#include "auth/identity.h"
#include "base/status.h"
#include "base/unique_function.h"

namespace queen::api {

class WaitingCallers {
 public:
  struct Options {
    // Who has sent this Authorization header.
    std::function<Result<auth::IdentityRef>(const std::string& header)> authenticate;
    // Differs after every change of tokens or keys.
    std::function<uint64_t()> generation;
    std::function<int64_t()> now_seconds;
  };

  struct Caller {
    std::string header;
    auth::Access access;  // of the route
    std::string queue;    // "" where it is about all of them
    // Why it may no longer. Called once at most, from Look; must not call back.
    UniqueFunction<void(const Status&)> end;
  };

  // Watched for as long as this lives.
  class Watch {
   public:
    Watch() = default;
    Watch(const std::weak_ptr<WaitingCallers>& of, uint64_t ticket) : of_(of), ticket_(ticket) {}
    Watch(Watch&& other) noexcept = default;
    Watch& operator=(Watch&& other) noexcept;
    ~Watch() { Stop(); }

   private:
    void Stop();

    std::weak_ptr<WaitingCallers> of_;
    uint64_t ticket_ = 0;
  };

  static std::shared_ptr<WaitingCallers> Make(Options options);

  // `until_seconds`: when its token ends, as far as is known.
  [[nodiscard]] Watch Add(Caller caller, int64_t until_seconds);
  void Look();

  size_t size() const { return headers_.size(); }

 private:
  // Those with one token.
  struct Holder {
    int64_t until_seconds = INT64_MAX;
    std::unordered_map<uint64_t, Caller> callers;
  };

  explicit WaitingCallers(Options options) : options_(std::move(options)) {}
  void Remove(uint64_t ticket);
  void LookAt(const std::string& header, Holder& holder);

  const Options options_;
  std::weak_ptr<WaitingCallers> self_;
  uint64_t generation_ = 0;           // when it was last asked
  int64_t next_seconds_ = INT64_MAX;  // when the first token ends
  uint64_t next_ticket_ = 1;
  std::unordered_map<std::string, Holder> holders_;  // by header
  std::unordered_map<uint64_t, std::string> headers_;
};

}  // namespace queen::api
