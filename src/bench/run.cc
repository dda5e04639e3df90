#include "bench/run.h"

#include <fmt/format.h>

#include <csignal>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "bench/client.h"
#include "loop/timer.h"

namespace queen::bench {
namespace {

// How often Until looks up when the loop has nothing to do.
constexpr int64_t kLookMs = 100;
constexpr int64_t kMicrosPerMilli = 1'000;
constexpr int64_t kMicrosPerSecond = 1'000'000;

uint64_t MakeId() {
  uint64_t id = 0;
  SecureRandomBytes(&id, sizeof id);
  return id;
}

class OneReply final : public Client::Listener {
 public:
  void OnReply(const Reply& reply) override {
    answer = Run::Answer{reply.status, std::string(reply.body)};
  }
  std::optional<Run::Answer> answer;
};

}  // namespace

Run::Run(const Options& options, const Target& target)
    : options_(options),
      target_(target),
      id_(MakeId()),
      queue_(options.queue.empty() ? fmt::format("bench-{:016x}", id_) : options.queue),
      loop_("bench"),
      progress_(!options.quiet) {
  uv_signal_init(loop_.uv(), &interrupt_);
  interrupt_.data = this;
  uv_signal_start_oneshot(
      &interrupt_,
      [](uv_signal_t* signal, int) { static_cast<Run*>(signal->data)->interrupted_ = true; },
      SIGINT);
}

Run::~Run() {
  uv_close(reinterpret_cast<uv_handle_t*>(&interrupt_), nullptr);
  loop_.Stop();
  loop_.Run();
}

bool Run::Until(const std::function<bool()>& done) {
  Timer look(loop_, [] {});
  look.Start(kLookMs, kLookMs);
  int64_t moved_us = SteadyMicros();
  moved_ = false;
  while (!done()) {
    uv_run(loop_.uv(), UV_RUN_ONCE);
    const int64_t now = SteadyMicros();
    progress_.Show(now, errors_.count());
    if (std::exchange(moved_, false)) moved_us = now;
    if (std::exchange(interrupted_, false)) {
      errors_.Add("interrupted");
      return false;
    }
    if (now - moved_us > options_.stall_seconds * kMicrosPerSecond) {
      errors_.Add(fmt::format("no progress for {} s", options_.stall_seconds));
      stalled_ = true;
      return false;
    }
  }
  return true;
}

bool Run::For(int64_t micros) {
  const int64_t end = SteadyMicros() + micros;
  uv_update_time(loop_.uv());
  Timer wake(loop_, [] {});
  wake.Start((micros + kMicrosPerMilli - 1) / kMicrosPerMilli, 1);
  return Until([end] { return SteadyMicros() >= end; });
}

Run::Answer Run::Call(const std::string& head, std::string_view body) {
  OneReply reply;
  Client client(loop_, target_, reply);
  client.Send(head, body);
  if (!Until([&reply] { return reply.answer.has_value(); })) return {0, "no reply"};
  return *reply.answer;
}

}  // namespace queen::bench
