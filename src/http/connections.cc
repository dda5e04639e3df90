#include "http/connections.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <ctime>

#include "base/clock.h"
#include "base/log.h"
#include "http/refusal.h"

namespace queen::http {
namespace {

// Connections of one state looked at for one that can be spared.
constexpr int kSparesLookedAt = 64;
constexpr int64_t kTickMsMin = 5;
constexpr int64_t kTickMsMax = 500;

// Often enough that no timeout is late by more than a quarter of itself.
int64_t TickMs(const Limits& limits) {
  const int64_t shortest =
      std::min({limits.idle_timeout_ms, limits.request_timeout_ms, limits.write_timeout_ms,
                limits.linger_timeout_ms, limits.drain_linger_ms, limits.upload_grace_ms,
                limits.handshake_timeout_ms});
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

bool AllowsEveryOrigin(const std::vector<std::string>& origins) {
  return std::find(origins.begin(), origins.end(), "*") != origins.end();
}

// What every reply says of origins, whoever asked.
std::string_view OriginHeader(const std::vector<std::string>& origins) {
  if (AllowsEveryOrigin(origins)) return "Access-Control-Allow-Origin: *\r\n";
  return origins.empty() ? "" : "Vary: Origin\r\n";
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
      plain_buffer_(speaks_tls() ? std::make_unique<char[]>(kReadBufferBytes) : nullptr),
      tick_(loop, [this] { OnTick(); }),
      drain_grace_(loop, [this] { OnDrainGraceOver(); }),
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
  std::string network;
  const bool within_limit = TakeOfClient(socket, network);
  const bool accepted = within_limit && !draining_ && TakeConnection();
  const Status refusal =
      draining_ ? Status(Code::kShuttingDown)
                : Status(Code::kOverloaded, within_limit ? "Too many connections"
                                                         : "Too many connections of this client");
  if (!accepted && refused_open_ >= kRefusedOpenMax) {
    ++counters_.refused;
    // A handshake only to say so would cost more than it is worth.
    if (!speaks_tls()) SendRefusal(socket, refusal, FixedHeaders());
    if (!network.empty()) settings_.client_limits->ReturnConnection(network);
    return;
  }
  const auto connection = std::make_shared<Connection>(
      *this,
      speaks_tls() ? std::make_unique<tls::Session>(settings_.certificates->current()) : nullptr);
  connection->counted_ = accepted;
  connection->network_ = std::move(network);
  ++counters_.open;
  ++(accepted ? counters_.accepted : counters_.refused);
  if (!accepted) ++refused_open_;
  if (!tick_.IsActive()) tick_.Start(TickMs(settings_.limits), TickMs(settings_.limits));
  if (const Status status = connection->Open(std::move(socket)); !status.ok()) {
    log::WarnRarely("a connection could not be taken over", {{"reason", status.message()}});
    return;
  }
  if (!accepted) connection->Refuse(refusal);
}

bool Connections::TakeOfClient(const UniqueFd& socket, std::string& network) {
  ClientLimits* const limits = settings_.client_limits;
  if (limits == nullptr || !limits->limits_connections()) return true;
  std::string client = ClientNetworkOf(AddressOf(socket.get()));
  if (!limits->TakeConnection(client)) return false;
  network = std::move(client);
  return true;
}

bool Connections::TakeConnection() {
  // Twice, because another worker may take the place that was made.
  for (int i = 0; i < 2; ++i) {
    if (budgets_->connections.TryTake()) return true;
    if (!CloseOneToSpare()) return false;
  }
  return budgets_->connections.TryTake();
}

// Those that never asked for anything go first, a request that is on its way or a reply that is not
// taken last. Pops that wait are not idle.
bool Connections::CloseOneToSpare() {
  using State = Connection::State;
  const int64_t age_ms = settings_.limits.gives_way_after_ms;
  Connection* spare = FindSpare(State::kLingering, 0);
  for (const State state :
       {State::kHandshaking, State::kNew, State::kIdle, State::kReceiving, State::kWriting}) {
    if (spare == nullptr) spare = FindSpare(state, age_ms);
  }
  if (spare == nullptr) return false;
  ++counters_.given_way;
  spare->GiveWay();
  return true;
}

Connection* Connections::FindSpare(Connection::State state, int64_t age_ms) {
  Connection* candidate = ListOf(state).front();
  for (int i = 0; i < kSparesLookedAt && candidate != nullptr; ++i) {
    if (candidate->since_ms_ + age_ms > loop_.NowMillis()) return nullptr;
    if (candidate->MayBeSpared()) return candidate;
    candidate = StateList::After(*candidate);
  }
  return nullptr;
}

void Connections::StartUpload(Connection& connection) {
  connection.upload_since_ms_ = loop_.NowMillis();
  connection.upload_seen_bytes_ = connection.parser_.body_received();
  uploads_.PushBack(connection);
}

void Connections::EndUpload(Connection& connection) { uploads_.Remove(connection); }

bool Connections::MakeRoomForBody(const Connection& newcomer, size_t bytes,
                                  RequestBudget::Kind kind) {
  size_t larger_bytes = 0;
  Connection* largest = LargestUploadBeyond(newcomer, larger_bytes);
  if (!budgets_->requests.HasRoom(bytes, kind, larger_bytes)) return false;
  while (largest != nullptr && !budgets_->requests.HasRoom(bytes, kind)) {
    largest->GiveWayWithBody();
    largest = LargestUploadBeyond(newcomer, larger_bytes);
  }
  return budgets_->requests.HasRoom(bytes, kind);
}

Connection* Connections::LargestUploadBeyond(const Connection& newcomer, size_t& total) {
  const size_t wanted = newcomer.BodyBytesWanted();
  Connection* largest = nullptr;
  for (Connection* next = uploads_.front(); next != nullptr; next = UploadList::After(*next)) {
    if (next == &newcomer || next->arriving_charge_ <= wanted) continue;
    total += next->arriving_charge_;
    if (largest == nullptr || next->arriving_charge_ > largest->arriving_charge_) largest = next;
  }
  return largest;
}

void Connections::Drain(UniqueFunction<void()> done) {
  loop_.AssertOwner();
  assert(!draining_);
  draining_ = true;
  drained_ = std::move(done);
  for (const StateList& list : lists_) {
    Connection* next = list.front();
    while (next != nullptr) {
      Connection& connection = *next;
      next = StateList::After(connection);
      connection.Drain();
    }
  }
  if (counters_.open == 0) return FinishDrain();
  drain_grace_.Start(settings_.limits.drain_grace_ms);
}

void Connections::OnDrainGraceOver() {
  drain_grace_over_ = true;
  for (const Connection::State state :
       {Connection::State::kHandshaking, Connection::State::kNew, Connection::State::kIdle}) {
    Connection* next = ListOf(state).front();
    while (next != nullptr) {
      Connection& idle = *next;
      next = StateList::After(idle);
      if (idle.UnreadBytes() == 0) idle.Settle();  // or else its request has just arrived
    }
  }
}

void Connections::Abort() {
  loop_.AssertOwner();
  for (StateList& list : lists_) {
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
  if (!connection.network_.empty()) {
    settings_.client_limits->ReturnConnection(connection.network_);
    connection.network_.clear();
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
        fmt::format("{}Date: {}\r\n", OriginHeader(settings_.allow_origins), HttpDate(second));
  }
  return fixed_headers_;
}

std::string_view Connections::AllowedOrigin(const Request& request) const {
  if (settings_.allow_origins.empty() || AllowsEveryOrigin(settings_.allow_origins)) return {};
  const auto origin = request.Header("Origin");
  const auto named = std::find(settings_.allow_origins.begin(), settings_.allow_origins.end(),
                               origin.value_or(std::string_view()));
  return origin && named != settings_.allow_origins.end() ? std::string_view(*named)
                                                          : std::string_view();
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
  for (const State state : {State::kNew, State::kIdle}) {
    while (Connection* idle = Due(state, limits.idle_timeout_ms)) {
      ++counters_.idle_timeouts;
      idle->Close();
    }
  }
  while (Connection* slow = Due(State::kHandshaking, limits.handshake_timeout_ms)) {
    ++counters_.handshake_timeouts;
    slow->Close();
  }
  while (Connection* slow = Due(State::kReceiving, limits.request_timeout_ms)) {
    slow->OnRequestTimeout();
  }
  while (Connection* stuck = Due(State::kWriting, limits.write_timeout_ms)) {
    stuck->OnWriteTimeout();
  }
  const int64_t linger_ms = draining_ ? std::min(limits.drain_linger_ms, limits.linger_timeout_ms)
                                      : limits.linger_timeout_ms;
  while (Connection* lingering = Due(State::kLingering, linger_ms)) {
    lingering->Close();
  }
  CheckUploads();
  Connection* next = unread_open_ > 0 ? ListOf(State::kWaiting).front() : nullptr;
  while (next != nullptr) {
    Connection& waiting = *next;
    next = StateList::After(waiting);
    if (!waiting.reading()) waiting.CheckPeer();
  }
}

void Connections::CheckUploads() {
  const Limits& limits = settings_.limits;
  if (limits.upload_bytes_per_second_min == 0) return;
  const int64_t due_ms = loop_.NowMillis() - limits.upload_grace_ms;
  while (uploads_.front() != nullptr && uploads_.front()->upload_since_ms_ <= due_ms) {
    uploads_.front()->OnUploadTimeout();
  }
}

}  // namespace queen::http
