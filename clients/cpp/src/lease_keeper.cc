#include "lease_keeper.h"

#include <algorithm>

namespace queen::client {

using std::chrono::steady_clock;

LeaseKeeper::Hold::Hold(LeaseKeeper& keeper, std::string lease_id)
    : keeper_(keeper),
      lease_id_(std::move(lease_id)),
      due_(steady_clock::now() + std::chrono::milliseconds(keeper.lease_) / 3) {
  const std::lock_guard lock(keeper_.mutex_);
  keeper_.holds_.push_back(this);
  keeper_.changed_.notify_one();
}

LeaseKeeper::Hold::~Hold() {
  std::unique_lock lock(keeper_.mutex_);
  keeper_.renewed_.wait(lock, [this] { return keeper_.renewing_ != this; });
  keeper_.holds_.remove(this);
}

LeaseKeeper::LeaseKeeper(Client& client, std::chrono::seconds lease,
                         std::function<void(const Error&)> on_error)
    : client_(client),
      lease_(lease),
      on_error_(std::move(on_error)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

LeaseKeeper::~LeaseKeeper() = default;

void LeaseKeeper::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const auto next =
        std::ranges::min_element(holds_, {}, [](const Hold* hold) { return hold->due_; });
    if (next == holds_.end()) {
      changed_.wait(lock, stop, [this] { return !holds_.empty(); });
    } else if ((*next)->due_ > steady_clock::now()) {
      const auto due = (*next)->due_;
      changed_.wait_until(lock, stop, due, [due] { return steady_clock::now() >= due; });
    } else {
      Renew(**next, lock, stop);
    }
  }
}

void LeaseKeeper::Renew(Hold& hold, std::unique_lock<std::mutex>& lock,
                        const std::stop_token& stop) {
  renewing_ = &hold;
  lock.unlock();
  const auto renewed = client_.ExtendLease(hold.lease_id_, static_cast<int>(lease_.count()), stop);
  const bool lost = !renewed.ok() && renewed.error().kind == ErrorKind::kNotFound;
  if (lost) *hold.lost_ = true;  // first: who hears of it may look
  if (!renewed.ok() && on_error_) on_error_(renewed.error());
  lock.lock();
  hold.due_ = lost ? steady_clock::time_point::max()
                   : steady_clock::now() + std::chrono::milliseconds(lease_) / 3;
  renewing_ = nullptr;
  renewed_.notify_all();
}

}  // namespace queen::client
