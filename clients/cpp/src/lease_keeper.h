// LeaseKeeper: renews the leases of messages that are being handled, from a thread of its own, each
// time a third of the lease has passed. A lease that the broker no longer knows is lost: it is not
// renewed again, and its holder can see it before on_error hears of it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "queen/client.h"

namespace queen::client {

class LeaseKeeper {
 public:
  // A lease that is renewed for as long as this lives.
  class Hold {
   public:
    Hold(LeaseKeeper& keeper, std::string lease_id);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

    bool lost() const { return *lost_; }
    // The same for those who hold no Hold; outlives it.
    std::shared_ptr<const std::atomic<bool>> flag() const { return lost_; }

   private:
    friend class LeaseKeeper;
    LeaseKeeper& keeper_;
    const std::string lease_id_;
    std::chrono::steady_clock::time_point due_;  // guarded by the keeper's mutex
    const std::shared_ptr<std::atomic<bool>> lost_ = std::make_shared<std::atomic<bool>>(false);
  };

  LeaseKeeper(Client& client, std::chrono::seconds lease,
              std::function<void(const Error&)> on_error);
  // REQUIRES: no Hold is left.
  ~LeaseKeeper();

 private:
  void Run(const std::stop_token& stop);
  void Renew(Hold& hold, std::unique_lock<std::mutex>& lock, const std::stop_token& stop);

  Client& client_;
  const std::chrono::seconds lease_;
  const std::function<void(const Error&)> on_error_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::condition_variable renewed_;
  std::list<Hold*> holds_;
  const Hold* renewing_ = nullptr;  // its holder must not leave
  std::jthread thread_;
};

}  // namespace queen::client
