#include "queen/consumer.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "backoff.h"
#include "lease_keeper.h"
#include "wait.h"

namespace queen::client {
namespace {

constexpr int kRenewedLeaseSeconds = 60;
constexpr std::chrono::milliseconds kWaitDefault{30'000};
constexpr std::chrono::milliseconds kWaitMin{1'000};

// Trying again cannot help: the call itself is wrong, or not allowed.
bool IsFinal(const Error& error) {
  return error.kind == ErrorKind::kInvalidArgument || error.kind == ErrorKind::kDenied ||
         error.kind == ErrorKind::kNotFound;
}

Answer CallHandler(const Consumer::Handler& handler, const Message& message) {
  try {
    return handler(message);
  } catch (const std::exception& thrown) {
    return Answer::Failed(thrown.what());
  } catch (...) {
    return Answer::Failed("the handler threw something that is no std::exception");
  }
}

}  // namespace

class Consumer::Impl {
 public:
  Impl(Client& client, ConsumerOptions options, Handler handler)
      : client_(client), options_(std::move(options)), handler_(std::move(handler)) {
    PopRequest& pop = options_.pop;
    if (pop.wait < kWaitMin) pop.wait = kWaitDefault;
    const bool renews = options_.renew_leases && !pop.auto_ack;
    if (renews && pop.lease_seconds == 0) pop.lease_seconds = kRenewedLeaseSeconds;
    if (renews) {
      keeper_.emplace(client_, std::chrono::seconds(pop.lease_seconds),
                      [this](const Error& error) { Tell(error); });
    }
  }

  Result<bool> Run() {
    std::vector<std::thread> threads;
    const int count = std::max(1, options_.concurrency);
    threads.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) threads.emplace_back([this] { Loop(); });
    for (std::thread& thread : threads) thread.join();
    const std::lock_guard lock(mutex_);
    if (refusal_) return *refusal_;
    return true;
  }

  void Stop() { stop_.request_stop(); }

 private:
  void Loop() {
    const std::stop_token stop = stop_.get_token();
    std::mt19937_64 random{std::random_device{}()};
    Backoff backoff(RetryPolicy{});
    while (!stop.stop_requested()) {
      auto popped = client_.Pop(options_.pop, stop);
      if (popped.ok()) {
        backoff = Backoff(RetryPolicy{});
        if (!popped->empty()) Handle(*popped, stop);
        continue;
      }
      if (popped.error().kind == ErrorKind::kStopped) return;
      if (IsFinal(popped.error())) return Refuse(popped.error());
      Tell(popped.error());
      SleepFor(backoff.Next(random), stop);
    }
  }

  void Handle(std::vector<Message>& messages, const std::stop_token& stop) {
    std::vector<Acknowledgment> acks;
    {
      // One lease covers the whole reply.
      std::optional<LeaseKeeper::Hold> hold;
      if (keeper_) hold.emplace(*keeper_, messages.front().lease_id);
      for (Message& message : messages) {
        if (hold) message.lease_lost_flag = hold->flag();
        if (hold && hold->lost()) return;  // others get these messages
        if (stop.stop_requested() && !options_.pop.auto_ack) {
          acks.push_back(Acknowledgment::Of(message, Verdict::kRetry));
          continue;
        }
        Answer answer = CallHandler(handler_, message);
        acks.push_back(Acknowledgment::Of(message, answer.verdict, std::move(answer.error)));
      }
      if (hold && hold->lost()) return;  // nothing of it can be settled any more
    }
    if (!options_.pop.auto_ack) SendAcks(acks);
  }

  void SendAcks(const std::vector<Acknowledgment>& acks) {
    const auto outcomes = client_.Ack(acks);
    if (!outcomes.ok()) return Tell(outcomes.error());
    for (const AckOutcome& outcome : *outcomes) {
      if (outcome.success) continue;
      Tell({ErrorKind::kRefused,
            "the acknowledgment of " + outcome.transaction_id + " was refused: " + outcome.error,
            "", 200});
    }
  }

  void Refuse(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!refusal_) refusal_ = error;
    stop_.request_stop();
  }

  void Tell(const Error& error) {
    if (options_.on_error) options_.on_error(error);
  }

  Client& client_;
  ConsumerOptions options_;
  const Handler handler_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::optional<Error> refusal_;
  std::optional<LeaseKeeper> keeper_;
};

Consumer::Consumer(Client& client, ConsumerOptions options, Handler handler)
    : impl_(std::make_unique<Impl>(client, std::move(options), std::move(handler))) {}
Consumer::~Consumer() = default;

Result<bool> Consumer::Run() { return impl_->Run(); }
void Consumer::Stop() { impl_->Stop(); }

}  // namespace queen::client
