#include "pg/testing/test_slots.h"

#include <chrono>

namespace queen::pg::testing {
namespace {

BatchCallback Fulfil(std::promise<BatchResult>&& promise) {
  return [promise = std::move(promise)](BatchResult result) mutable {
    promise.set_value(std::move(result));
  };
}

}  // namespace

TestSlots::TestSlots(const ConnectOptions& options, int count, int pipeline_depth) {
  thread_.Call([&] {
    slots_ = std::make_unique<Slots>(thread_.loop(), options, count, pipeline_depth);
    const auto note = [this](int ups, int downs) {
      {
        const std::lock_guard lock(mutex_);
        ++events_;
        ups_ += ups;
        downs_ += downs;
      }
      changed_.notify_all();
    };
    Slots::Events events;
    events.on_free = [note](int) { note(0, 0); };
    events.on_up = [note](int) { note(1, 0); };
    events.on_down = [note](int, const Status&) { note(0, 1); };
    slots_->Start(std::move(events));
  });
}

TestSlots::~TestSlots() {
  Close();
  thread_.Call([&] { slots_.reset(); });
}

void TestSlots::Close() {
  std::promise<void> closed;
  const bool closing = thread_.Call([&] {
    if (slots_->closing()) return false;
    slots_->Close([&] { closed.set_value(); });
    return true;
  });
  if (closing) closed.get_future().wait();
}

std::future<BatchResult> TestSlots::BeginOn(int slot, Batch batch) {
  std::promise<BatchResult> promise;
  auto future = promise.get_future();
  thread_.Call([&] { slots_->ExecuteOn(slot, std::move(batch), Fulfil(std::move(promise))); });
  return future;
}

std::future<BatchResult> TestSlots::Begin(Batch batch) {
  std::promise<BatchResult> promise;
  auto future = promise.get_future();
  thread_.Call([&] { slots_->Execute(std::move(batch), Fulfil(std::move(promise))); });
  return future;
}

std::future<BatchResult> TestSlots::Begin(const std::string& sql) {
  statements_.push_back({"", sql, {}});
  return Begin(Batch(statements_.back(), Params()));
}

BatchResult TestSlots::Run(const std::string& sql) { return Begin(sql).get(); }

void TestSlots::WaitFor(const std::function<bool()>& condition) {
  while (true) {
    int seen = 0;
    {
      const std::lock_guard lock(mutex_);
      seen = events_;
    }
    if (condition()) return;
    std::unique_lock lock(mutex_);
    // Events drive this; the bound only covers what none announces, such as a failed attempt.
    changed_.wait_for(lock, std::chrono::milliseconds(20), [&] { return events_ != seen; });
  }
}

void TestSlots::WaitFree(int count) {
  WaitFor([&] { return counts().free >= count; });
}

void TestSlots::WaitUp(int count) {
  WaitFor([&] { return counts().up == count; });
}

void TestSlots::WaitUps(int count) {
  WaitFor([&] {
    const std::lock_guard lock(mutex_);
    return ups_ >= count;
  });
}

void TestSlots::WaitDowns(int count) {
  WaitFor([&] {
    const std::lock_guard lock(mutex_);
    return downs_ >= count;
  });
}

ConnectFailure TestSlots::WaitConnectFailure() {
  ConnectFailure failure;
  WaitFor([&] {
    failure = Call([](Slots& slots) { return slots.last_failure(); });
    return !failure.status.ok();
  });
  return failure;
}

int TestSlots::backend_pid(int slot) {
  return Call([&](Slots& slots) { return slots.connection(slot).backend_pid(); });
}

Slots::Counts TestSlots::counts() {
  return Call([](Slots& slots) { return slots.counts(); });
}

}  // namespace queen::pg::testing
