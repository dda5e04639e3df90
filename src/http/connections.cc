#include "http/connections.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <ctime>

#include "base/clock.h"
#include "base/log.h"

namespace queen::http {
namespace {

// How many clients beyond connections_max are told so at one time; more are closed without a word.
constexpr size_t kRefusedOpenMax = 64;
constexpr int64_t kTickMsMin = 5;
constexpr int64_t kTickMsMax = 500;

// Often enough that no timeout is late by more than a quarter of itself.
int64_t TickMs(const Limits& limits) {
  const int64_t shortest = std::min({limits.idle_timeout_ms, limits.request_timeout_ms,
                                     limits.write_timeout_ms, limits.linger_timeout_ms});
  return std::clamp(shortest / 4, kTickMsMin, kTickMsMax);
}

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string HttpDate(int64_t unix_seconds) {
  constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto seconds = static_cast<time_t>(unix_seconds);
  tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
                     kDays[static_cast<size_t>(parts.tm_wday)], parts.tm_mday,
                     kMonths[static_cast<size_t>(parts.tm_mon)], parts.tm_year + 1900,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

template <typename Handle>
void CloseAndDelete(Handle* handle) {
  uv_close(reinterpret_cast<uv_handle_t*>(handle),
           [](uv_handle_t* closed) { delete reinterpret_cast<Handle*>(closed); });
}

}  // namespace

Connections::Connections(Loop& loop, std::shared_ptr<Budgets> budgets, Settings settings,
                         Handler handler)
    : loop_(loop),
      budgets_(std::move(budgets)),
      settings_(std::move(settings)),
      handler_(std::move(handler)),
      read_buffer_(std::make_unique<char[]>(kReadBufferBytes)),
      tick_(loop, [this] { OnTick(); }),
      after_io_(new uv_check_t),
      before_sleep_(new uv_prepare_t) {
  loop_.AssertOwner();
  // Writing to a client that has left is an error to handle, not a signal to die of.
  std::signal(SIGPIPE, SIG_IGN);
  uv_check_init(loop_.uv(), after_io_);
  after_io_->data = this;
  uv_check_start(after_io_,
                 [](uv_check_t* handle) { static_cast<Connections*>(handle->data)->FlushDirty(); });
  uv_prepare_init(loop_.uv(), before_sleep_);
  before_sleep_->data = this;
  uv_prepare_start(before_sleep_, [](uv_prepare_t* handle) {
    static_cast<Connections*>(handle->data)->FlushDirty();
  });
}

Connections::~Connections() {
  loop_.AssertOwner();
  Abort();
  CloseAndDelete(after_io_);
  CloseAndDelete(before_sleep_);
}

void Connections::Adopt(UniqueFd socket) {
  loop_.AssertOwner();
  const bool accepted = !draining_ && budgets_->connections.TryTake();
  if (!accepted && refused_open_ >= kRefusedOpenMax) {
    ++counters_.refused;
    return;
  }
  const auto connection = std::make_shared<Connection>(*this);
  connection->counted_ = accepted;
  ++counters_.open;
  ++(accepted ? counters_.accepted : counters_.refused);
  if (!accepted) ++refused_open_;
  if (!tick_.IsActive()) tick_.Start(TickMs(settings_.limits), TickMs(settings_.limits));
  if (const Status status = connection->Open(std::move(socket)); !status.ok()) {
    log::Warn("a connection could not be taken over", {{"reason", status.message()}});
    return;
  }
  if (accepted) return;
  connection->Refuse(draining_ ? Status(Code::kShuttingDown)
                               : Status(Code::kOverloaded, "Too many connections"));
}

void Connections::Drain(UniqueFunction<void()> done) {
  loop_.AssertOwner();
  assert(!draining_);
  draining_ = true;
  drained_ = std::move(done);
  for (size_t state = 0; state < lists_.size(); ++state) {
    Connection* next = lists_[state].front();
    while (next != nullptr) {
      Connection& connection = *next;
      next = ConnectionList::After(connection);
      connection.Drain();
    }
  }
  if (counters_.open == 0) FinishDrain();
}

void Connections::Abort() {
  loop_.AssertOwner();
  for (ConnectionList& list : lists_) {
    while (list.front() != nullptr) list.front()->Close();
  }
}

void Connections::Place(Connection& connection, Connection::State state) {
  if (connection.state_ != Connection::State::kClosed) ListOf(connection.state_).Remove(connection);
  connection.state_ = state;
  connection.since_ms_ = loop_.NowMillis();
  if (state != Connection::State::kClosed) ListOf(state).PushBack(connection);
}

void Connections::MarkDirty(Connection& connection) {
  if (connection.dirty_) return;
  connection.dirty_ = true;
  dirty_.push_back(connection.shared_from_this());
}

void Connections::Remove(Connection& connection) {
  Place(connection, Connection::State::kClosed);
  --counters_.open;
  if (connection.counted_) {
    budgets_->connections.Return();
  } else {
    --refused_open_;
  }
  if (counters_.open > 0) return;
  tick_.Stop();
  if (draining_) FinishDrain();
}

// Posted, because the owner may destroy this object in it.
void Connections::FinishDrain() {
  if (drained_) loop_.Post(std::exchange(drained_, nullptr));
}

std::string_view Connections::FixedHeaders() {
  const int64_t second = WallMicros() / 1'000'000;
  if (second != fixed_headers_second_) {
    fixed_headers_second_ = second;
    fixed_headers_ =
        fmt::format("Access-Control-Allow-Origin: {}\r\n{}Date: {}\r\n", settings_.allow_origin,
                    settings_.allow_origin == "*" ? "" : "Vary: Origin\r\n", HttpDate(second));
  }
  return fixed_headers_;
}

// Flushing runs handlers (of requests that waited), which make more connections dirty; those are
// flushed in the same turn.
void Connections::FlushDirty() {
  while (!dirty_.empty()) {
    flushing_.swap(dirty_);
    for (const auto& connection : flushing_) connection->Flush();
    flushing_.clear();
  }
}

Connection* Connections::Due(Connection::State state, int64_t timeout_ms) {
  Connection* front = ListOf(state).front();
  return front != nullptr && front->since_ms_ + timeout_ms <= loop_.NowMillis() ? front : nullptr;
}

void Connections::OnTick() {
  using State = Connection::State;
  const Limits& limits = settings_.limits;
  while (Connection* idle = Due(State::kIdle, limits.idle_timeout_ms)) {
    ++counters_.idle_timeouts;
    idle->Close();
  }
  while (Connection* slow = Due(State::kReceiving, limits.request_timeout_ms)) {
    slow->OnRequestTimeout();
  }
  while (Connection* stuck = Due(State::kWriting, limits.write_timeout_ms)) {
    stuck->OnWriteTimeout();
  }
  while (Connection* lingering = Due(State::kLingering, limits.linger_timeout_ms)) {
    lingering->Close();
  }
  Connection* next = unread_open_ > 0 ? ListOf(State::kWaiting).front() : nullptr;
  while (next != nullptr) {
    Connection& waiting = *next;
    next = ConnectionList::After(waiting);
    if (!waiting.reading()) waiting.CheckPeer();
  }
}

}  // namespace queen::http
