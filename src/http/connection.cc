#include "http/connection.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>

#include "base/log.h"
#include "http/connections.h"

namespace queen::http {
namespace {

// Input that waits for its turn; beyond it the rest waits in the kernel.
constexpr size_t kStashBytesMax = size_t{64} << 10;
constexpr size_t kBuffersPerTry = 16;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

void RunCallback(UniqueFunction<void()>& callback) {
  try {
    callback();
  } catch (const std::exception& error) {
    log::ErrorRarely("a disconnect callback threw", {{"what", error.what()}});
  } catch (...) {
    log::ErrorRarely("a disconnect callback threw");
  }
}

}  // namespace

// Output that libuv is writing; freed by its callback.
struct Connection::PendingWrite {
  uv_write_t request{};
  Output output;
};

Connection::Connection(Connections& owner, std::unique_ptr<tls::Session> tls)
    : owner_(&owner),
      tls_(std::move(tls)),
      parser_(owner.settings_.limits),
      budgets_(owner.budgets_) {}

Connection::~Connection() {
  ReturnArriving();
  budgets_->replies.Change(reply_charge_, 0);
  budgets_->replies.ReturnPages(page_charge_);
}

Status Connection::Open(UniqueFd socket) {
  uv_tcp_init(owner_->loop_.uv(), &tcp_);
  tcp_.data = this;
  self_ = shared_from_this();
  ++owner_->unread_open_;
  owner_->Place(*this, CurrentState());
  const int one = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (const int error = uv_tcp_open(&tcp_, socket.get()); error != 0) {
    Close();
    return Status(Code::kInternal, uv_strerror(error));
  }
  (void)socket.Release();
  SetReading(true);
  return Status::Ok();
}

void Connection::Refuse(const Status& status) {
  AnswerError(status);
  Settle();
}

int Connection::fd() const {
  uv_os_fd_t fd = -1;
  uv_fileno(reinterpret_cast<const uv_handle_t*>(&tcp_), &fd);
  return fd;
}

// Reading.

void Connection::SetReading(bool on) {
  if (on == reading_) return;
  reading_ = on;
  if (!on) {
    ++owner_->unread_open_;
    uv_read_stop(stream());
    return;
  }
  --owner_->unread_open_;
  uv_read_start(
      stream(),
      [](uv_handle_t* handle, size_t, uv_buf_t* buffer) {
        const auto* self = static_cast<Connection*>(handle->data);
        buffer->base = self->owner_->read_buffer_.get();
        buffer->len = Connections::kReadBufferBytes;
      },
      [](uv_stream_t* handle, ssize_t size, const uv_buf_t* buffer) {
        auto* self = static_cast<Connection*>(handle->data);
        if (size > 0) {
          self->OnWire({buffer->base, static_cast<size_t>(size)});
        } else if (size == UV_EOF) {
          self->OnReadEnd();
        } else if (size < 0) {
          if (!self->pipeline_.empty()) ++self->owner_->counters_.disconnects;
          self->Close();
        }
      });
}

bool Connection::WantsReading() const {
  const Limits& limits = owner_->settings_.limits;
  if (peer_ended_) return false;
  if (input_ended_) return discarded_bytes_ <= limits.linger_bytes_max;
  return stash_.size() < kStashBytesMax && unwritten_bytes() <= limits.write_buffer_bytes_max;
}

bool Connection::MayTake() const {
  const Limits& limits = owner_->settings_.limits;
  return pipeline_.size() < limits.pipeline_depth_max && !pipeline_.holds_next() &&
         pipeline_.request_bytes() <= limits.body_bytes_max &&
         pipeline_.response_bytes() + unwritten_bytes() <= limits.write_buffer_bytes_max;
}

size_t Connection::UnreadBytes() const {
  int in_kernel = 0;
  ioctl(fd(), FIONREAD, &in_kernel);
  return static_cast<size_t>(in_kernel);
}

void Connection::OnWire(std::string_view bytes) {
  owner_->counters_.bytes_in += bytes.size();
  if (tls_ != nullptr) return OnSealed(bytes);
  OnRead(bytes);
}

void Connection::OnRead(std::string_view bytes) {
  if (input_ended_) {
    discarded_bytes_ += bytes.size();
    if (lingering_ && !WantsReading()) return Close();
  } else if (stash_.empty()) {
    TakeInput(bytes);
  } else {
    stash_.append(bytes);
    TakeStash();
  }
  if (state_ == State::kClosed) return;
  if (!dirty_) return Settle();
  // Flush will settle it; until then libuv may go on reading in this very turn.
  SetReading(WantsReading());
}

void Connection::OnReadEnd() {
  peer_left_ = peer_ended_ = true;
  SetReading(false);
  if (lingering_ || handshaking()) return Close();
  if (stash_.empty()) EndInput();
  if (!pipeline_.empty()) {
    ++owner_->counters_.disconnects;
    TellDisconnected();
  }
  if (!dirty_) Settle();
}

void Connection::EndInput() {
  input_ended_ = true;
  continue_owed_ = false;
  stash_ = std::string();
  DropArriving();
}

void Connection::TakeStash() {
  if (stash_.empty() || !MayTake()) return;
  const std::string input = std::exchange(stash_, std::string());
  TakeInput(input);
}

void Connection::TakeInput(std::string_view input) {
  // The client did not wait for its 100.
  continue_owed_ = false;
  while (!input.empty() && !input_ended_ && MayTake()) {
    const Parser::Event event = parser_.Next(input);
    const bool head_only =
        event == Parser::Event::kBodyFollows || event == Parser::Event::kContinueExpected;
    if (head_only && RefuseBody()) continue;
    if (!ChargeArriving()) {
      RefuseArriving();
      continue;
    }
    switch (event) {
      case Parser::Event::kNeedMore:
      case Parser::Event::kBodyFollows:
        break;
      case Parser::Event::kContinueExpected:
        if (!input.empty()) break;
        if (!HasRoomForBody(parser_.body_announced())) {
          RefuseArriving();
          break;
        }
        continue_owed_ = true;
        owner_->MarkDirty(*this);
        break;
      case Parser::Event::kRequest:
        Dispatch(parser_.Take());
        if (state_ == State::kClosed) return;
        break;
      case Parser::Event::kRefused:
        ++owner_->counters_.parse_errors;
        AnswerError(parser_.refusal());
        break;
    }
  }
  if (input_ended_) {
    discarded_bytes_ += input.size();
  } else {
    stash_.assign(input);
  }
  if (peer_ended_ && stash_.empty()) EndInput();
}

// Serving.

// A reply is owed to `request` from now on.
uint64_t Connection::Begin(const Request& request) {
  Pipeline::Traits traits;
  traits.without_body = request.method() == Method::kHead;
  traits.close = !request.keep_alive();
  traits.announce_keep_alive = request.keep_alive() && request.version_minor() == 0;
  traits.request_bytes = request.body().size();
  traits.allowed_origin = owner_->AllowedOrigin(request);
  served_ = true;
  if (traits.close || owner_->draining_) EndInput();
  return pipeline_.Begin(traits);
}

void Connection::Dispatch(Request request) {
  ++owner_->counters_.requests;
  active_ = true;
  const size_t charge = std::exchange(arriving_charge_, 0);
  assert(unfinished_charge_ == 0);
  FollowUpload();  // another body may begin in the same turn, with a clock of its own
  const uint64_t sequence = Begin(request);
  if (!peer_) peer_ = std::make_shared<const Peer>(MakePeer());
  request.SetPeer(peer_);
  if (charge > 0) owed_charges_.emplace_back(sequence, charge);
  // A handler that throws destroys its Reply, which answers 500.
  try {
    owner_->handler_(std::move(request), Reply(shared_from_this(), sequence));
  } catch (const std::exception& error) {
    log::ErrorRarely("a request handler threw", {{"what", error.what()}});
  } catch (...) {
    log::ErrorRarely("a request handler threw");
  }
}

void Connection::ReturnCharge(uint64_t sequence) {
  const auto owed = std::find_if(owed_charges_.begin(), owed_charges_.end(),
                                 [&](const auto& charge) { return charge.first == sequence; });
  if (owed == owed_charges_.end()) return;
  budgets_->requests.Return(owed->second);
  owed_charges_.erase(owed);
}

void Connection::AnswerLast(Response response) {
  Pipeline::Traits traits;
  traits.close = true;
  traits.allowed_origin = owner_->AllowedOrigin(parser_.arriving());
  EndInput();
  Deliver(pipeline_.Begin(traits), std::move(response));
}

Status Connection::TakeRoom(uint64_t sequence, size_t bytes, RoomFor what) {
  if (state_ == State::kClosed) return Status::Ok();  // nothing of the reply will be kept
  owner_->loop_.AssertOwner();
  ReplyBudget& replies = budgets_->replies;
  if (bytes > (what == RoomFor::kPage ? replies.largest_page() : replies.largest())) {
    return Status(Code::kPayloadTooLarge,
                  "The reply is larger than the room that the broker has for replies");
  }
  EndPromise(sequence);
  const size_t total = ReplyBytes() + bytes;
  const size_t page = what == RoomFor::kPage && ReplyBudget::IsLarge(total) ? bytes : 0;
  if (page > 0 && !replies.TryTakePage(page)) {
    ChargeReplies();
    return Status(Code::kOverloaded, "Too many bytes of pages are waiting to be read");
  }
  page_charge_ += page;
  if (!replies.TryChange(reply_charge_, total)) {
    ChargeReplies();
    return Status(Code::kOverloaded, "Too many bytes of replies are waiting");
  }
  reply_charge_ = total;
  promises_.emplace_back(sequence, bytes);
  promised_bytes_ += bytes;
  return Status::Ok();
}

void Connection::EndPromise(uint64_t sequence) {
  const auto promise = std::find_if(promises_.begin(), promises_.end(),
                                    [&](const auto& made) { return made.first == sequence; });
  if (promise == promises_.end()) return;
  promised_bytes_ -= promise->second;
  promises_.erase(promise);
}

void Connection::Deliver(uint64_t sequence, Response response) {
  ReturnCharge(sequence);
  if (state_ == State::kClosed) return;
  owner_->loop_.AssertOwner();
  EndPromise(sequence);
  pipeline_.Answer(sequence, std::move(response));
  CollectReplies();
  ChargeReplies();
}

void Connection::Abandon(uint64_t sequence) {
  ReturnCharge(sequence);
  if (state_ == State::kClosed) return;
  owner_->loop_.AssertOwner();
  EndPromise(sequence);
  const Pipeline::Slot* slot = pipeline_.Find(sequence);
  if (slot == nullptr) return;
  if (!slot->disconnect_told) {
    log::WarnRarely("a request was dropped without a reply");
    return Deliver(sequence, ErrorResponse(Status(Code::kInternal)));
  }
  pipeline_.Drop(sequence);
  CollectReplies();
}

void Connection::OnDisconnect(uint64_t sequence, UniqueFunction<void()> callback) {
  Pipeline::Slot* slot = state_ == State::kClosed ? nullptr : pipeline_.Find(sequence);
  if (slot != nullptr && connected()) {
    std::swap(slot->on_disconnect, callback);
    return;
  }
  if (slot != nullptr) slot->disconnect_told = true;
  RunCallback(callback);
}

void Connection::HoldNext(uint64_t sequence) {
  if (state_ != State::kClosed) pipeline_.HoldNext(sequence);
}

void Connection::TellDisconnected() {
  for (auto& callback : pipeline_.TakeDisconnectCallbacks()) RunCallback(callback);
}

void Connection::CollectReplies() {
  owner_->MarkDirty(*this);
  while (auto slot = pipeline_.TakeFront()) {
    if (slot->state == Pipeline::Slot::State::kDropped) {
      EndInput();
      pipeline_.Clear();
      return;
    }
    Render(*std::move(slot));
  }
}

void Connection::Render(Pipeline::Slot slot) {
  HeadTraits traits;
  traits.close = slot.traits.close || (input_ended_ && pipeline_.empty());
  traits.announce_keep_alive = slot.traits.announce_keep_alive;
  traits.allowed_origin = slot.traits.allowed_origin;
  traits.fixed_headers = owner_->FixedHeaders();
  AppendHead(slot.response, traits, output_.Tail(owner_->buffers_));
  if (StatusHasBody(slot.response.status) && !slot.traits.without_body) {
    output_.Append(std::move(slot.response.body), owner_->buffers_);
  }
  owner_->counters_.CountReply(slot.response.status);
  if (slot.response.status >= 400 && owner_->settings_.on_refused) {
    owner_->settings_.on_refused(slot.response, *this);
  }
}

std::string Connection::client() const { return peer_ ? peer_->name : PeerOf(tcp_).name; }

void Connection::SendContinue() {
  continue_owed_ = false;
  output_.Tail(owner_->buffers_).append(kContinue);
  owner_->counters_.CountReply(100);
}

// Writing.

size_t Connection::unwritten_bytes() const {
  return output_.size() + (pending_write_ ? uv_stream_get_write_queue_size(stream()) : 0);
}

void Connection::Flush() {
  dirty_ = false;
  if (state_ == State::kClosed) return;
  if (continue_owed_ && pipeline_.empty()) SendContinue();
  Write();
  if (state_ == State::kClosed) return;
  ChargeReplies();
  TakeStash();
  if (!dirty_) Settle();
}

// All that is in memory, where a write that goes on keeps what was written of it, and all that is
// promised.
size_t Connection::ReplyBytes() const {
  return pipeline_.response_bytes() + output_.memory() +
         (pending_write_ ? pending_write_->output.memory() : 0) + promised_bytes_;
}

void Connection::ChargeReplies() {
  const size_t bytes = ReplyBytes();
  budgets_->replies.Change(reply_charge_, bytes);
  reply_charge_ = bytes;
  if (page_charge_ <= bytes) return;
  budgets_->replies.ReturnPages(page_charge_ - bytes);
  page_charge_ = bytes;
}

void Connection::Write() {
  if (pending_write_) return;
  if (tls_ != nullptr) return WriteSealed();
  if (output_.empty()) return;
  std::array<uv_buf_t, kBuffersPerTry> buffers;
  const size_t count = output_.Describe(buffers.data(), buffers.size());
  const int written = uv_try_write(stream(), buffers.data(), static_cast<unsigned>(count));
  if (written < 0 && written != UV_EAGAIN) return Close();
  if (written > 0) {
    owner_->counters_.bytes_out += static_cast<uint64_t>(written);
    output_.Consume(static_cast<size_t>(written), owner_->buffers_);
  }
  if (!output_.empty()) WriteLater(std::exchange(output_, Output()));
}

// libuv writes it as the client makes room.
void Connection::WriteLater(Output output) {
  pending_write_ = std::make_unique<PendingWrite>();
  pending_write_->output = std::move(output);
  pending_write_->request.data = this;
  std::vector<uv_buf_t> rest(pending_write_->output.buffer_count());
  pending_write_->output.Describe(rest.data(), rest.size());
  const int error =
      uv_write(&pending_write_->request, stream(), rest.data(), static_cast<unsigned>(rest.size()),
               [](uv_write_t* request, int status) {
                 static_cast<Connection*>(request->data)->OnWritten(status);
               });
  if (error != 0) {
    pending_write_.reset();
    return Close();
  }
  untaken_bytes_ = UntakenBytes();
}

// The kernel says that there is room only once a good part of its megabytes is free, so its queue
// counts too: a slow reader is not a dead one.
size_t Connection::UntakenBytes() const {
  int in_kernel = 0;
  ioctl(fd(), SIOCOUTQ, &in_kernel);
  return uv_stream_get_write_queue_size(stream()) + static_cast<size_t>(in_kernel);
}

void Connection::OnWritten(int status) {
  const auto done = std::move(pending_write_);
  if (state_ == State::kClosed) return;
  if (status != 0) {
    if (!pipeline_.empty()) ++owner_->counters_.disconnects;
    return Close();
  }
  owner_->counters_.bytes_out += done->output.size();
  // It took all of that, so its clock starts anew for the next.
  if (state_ == State::kWriting) owner_->Place(*this, State::kWriting);
  owner_->MarkDirty(*this);
}

void Connection::StartLingering() {
  lingering_ = true;
  if (tls_ != nullptr) {
    tls_->End();
    WriteSealed();
    if (state_ == State::kClosed) return;
  }
  if (shutdown(fd(), SHUT_WR) != 0) Close();
}

// The life of the connection.

Connection::State Connection::CurrentState() const {
  if (lingering_) return State::kLingering;
  if (handshaking()) return State::kHandshaking;
  if (pending_write_) return State::kWriting;
  if (!pipeline_.empty() || !output_.empty()) return State::kWaiting;
  if (parser_.started() || !stash_.empty()) return State::kReceiving;
  return served_ ? State::kIdle : State::kNew;
}

void Connection::Settle() {
  if (state_ == State::kClosed) return;
  if (owner_->drain_grace_over_ && OwesNothing() && CurrentState() != State::kReceiving) EndInput();
  if (!lingering_ && input_ended_ && OwesNothing()) {
    if (peer_ended_) return Close();
    StartLingering();
    if (state_ == State::kClosed) return;
  }
  SetReading(WantsReading());
  FollowUpload();
  const State state = CurrentState();
  // A new request starts its clock anew; only what the client takes restarts that of writing.
  if (state != state_ || (active_ && state != State::kWriting)) owner_->Place(*this, state);
  active_ = false;
}

void Connection::OnRequestTimeout() {
  ++owner_->counters_.request_timeouts;
  AnswerError(Status(Code::kRequestTimeout));
  Settle();
}

void Connection::OnWriteTimeout() {
  const size_t untaken = UntakenBytes();
  if (untaken < untaken_bytes_) {
    untaken_bytes_ = untaken;
    owner_->Place(*this, State::kWriting);
    return;
  }
  ++owner_->counters_.write_timeouts;
  Close();
}

void Connection::CheckPeer() {
  if (peer_left_) return;
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return;
  if (info.tcpi_state == TCP_ESTABLISHED) return;
  ++owner_->counters_.disconnects;
  if (info.tcpi_state == TCP_CLOSE) return Close();
  peer_left_ = true;
  TellDisconnected();
}

void Connection::Drain() {
  // A client that was not told of the end may be sending its next request.
  if (!pipeline_.empty()) EndInput();
}

void Connection::GiveWay() {
  if (state_ == State::kReceiving) {
    AnswerError(Status(Code::kOverloaded, "Too many connections"));
    Flush();
  }
  Close();
}

// What a client that is not too slow moves in the time since it entered its state.
size_t Connection::BytesAtMinimumRate() const {
  const int64_t age_ms = owner_->loop_.NowMillis() - since_ms_;
  return static_cast<size_t>(owner_->settings_.limits.upload_bytes_per_second_min * age_ms / 1000);
}

bool Connection::MayBeSpared() const {
  switch (state_) {
    case State::kHandshaking:
    case State::kNew:
    case State::kIdle:
    case State::kLingering:
      return counted_ && UnreadBytes() == 0;
    case State::kReceiving:
      return counted_ && parser_.body_received() <= BytesAtMinimumRate();
    case State::kWriting:
      return counted_ && untaken_bytes_ <= UntakenBytes() + BytesAtMinimumRate();
    case State::kWaiting:
    case State::kClosed:
      break;
  }
  return false;
}

void Connection::Close() {
  if (state_ == State::kClosed) return;
  Connections& owner = *owner_;
  if (!reading_) --owner.unread_open_;
  DropArriving();
  owner.Remove(*this);
  owner_ = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(&tcp_), [](uv_handle_t* handle) {
    // May be the last reference.
    const auto self = std::move(static_cast<Connection*>(handle->data)->self_);
  });
  stash_ = std::string();
  output_ = Output();
  auto callbacks = pipeline_.TakeDisconnectCallbacks();
  pipeline_.Clear();
  promises_.clear();
  promised_bytes_ = 0;
  ChargeReplies();
  for (auto& callback : callbacks) RunCallback(callback);
}

}  // namespace queen::http
