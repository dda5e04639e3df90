#include "bench/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "base/clock.h"
#include "http/response_parser.h"

namespace queen::bench {

using http::ResponseParser;

struct Client::State {
  uv_tcp_t tcp{};
  uv_connect_t connect{};
  uv_write_t write{};
  Client* owner = nullptr;  // null once the client has given it up
  ResponseParser parser;

  uv_handle_t* handle() { return reinterpret_cast<uv_handle_t*>(&tcp); }
  uv_stream_t* stream() { return reinterpret_cast<uv_stream_t*>(&tcp); }
};

namespace {

constexpr size_t kReadBytes = 256 << 10;
constexpr size_t kDescribeBytes = 200;

// All clients of a thread read into the same buffer: what was read is parsed before the next read.
char* ReadBuffer() {
  thread_local std::array<char, kReadBytes> buffer;
  return buffer.data();
}

uv_buf_t BufferOf(std::string_view bytes) {
  // libuv takes the bytes of a write as char* and does not change them.
  return uv_buf_init(const_cast<char*>(bytes.data()), static_cast<unsigned>(bytes.size()));
}

}  // namespace

std::string Reply::Describe() const {
  const std::string_view beginning = body.substr(0, kDescribeBytes);
  return status == 0 ? std::string(beginning) : fmt::format("{}: {}", status, beginning);
}

Client::Client(Loop& loop, const Target& target, Listener& listener)
    : loop_(loop), target_(target), listener_(listener) {}

Client::~Client() { Close(); }

void Client::Open() {
  loop_.AssertOwner();
  if (state_ != nullptr) return;
  state_ = new State;
  state_->owner = this;
  state_->tcp.data = state_;
  uv_tcp_init(loop_.uv(), &state_->tcp);
  uv_tcp_nodelay(&state_->tcp, 1);
  state_->connect.data = state_;
  const int begun = uv_tcp_connect(&state_->connect, &state_->tcp, target_.address(),
                                   [](uv_connect_t* connect, int status) {
                                     auto* const state = static_cast<State*>(connect->data);
                                     if (state->owner != nullptr) state->owner->OnConnected(status);
                                   });
  if (begun != 0) OnConnected(begun);
}

void Client::OnConnected(int status) {
  if (status != 0) {
    OnEnd(uv_strerror(status));
    return;
  }
  connected_ = true;
  uv_read_start(
      state_->stream(),
      [](uv_handle_t*, size_t, uv_buf_t* buffer) {
        *buffer = uv_buf_init(ReadBuffer(), kReadBytes);
      },
      [](uv_stream_t* stream, ssize_t size, const uv_buf_t* buffer) {
        auto* const state = static_cast<State*>(stream->data);
        if (state->owner != nullptr && size != 0) state->owner->OnRead(size, buffer->base);
      });
  if (busy_) Write();
}

void Client::Send(std::string_view head, std::string_view body) {
  loop_.AssertOwner();
  assert(!busy_);
  busy_ = true;
  sent_us_ = SteadyMicros();
  head_ = head;
  body_ = body;
  if (connected_) {
    Write();
  } else {
    Open();
  }
}

void Client::Write() {
  std::array<uv_buf_t, 2> buffers = {BufferOf(head_), BufferOf(body_)};
  const int written = uv_try_write(state_->stream(), buffers.data(), 2);
  size_t done = written > 0 ? static_cast<size_t>(written) : 0;
  if (done == head_.size() + body_.size()) return;
  for (uv_buf_t& buffer : buffers) {
    const size_t part = std::min(done, static_cast<size_t>(buffer.len));
    buffer.base += part;
    buffer.len -= part;
    done -= part;
  }
  // A write that fails loses the connection, which the read side reports.
  const int begun =
      uv_write(&state_->write, state_->stream(), buffers.data(), 2, [](uv_write_t*, int) {});
  if (begun != 0) OnEnd(uv_strerror(begun));
}

void Client::OnRead(ssize_t size, const char* data) {
  if (size > 0) {
    OnInput({data, static_cast<size_t>(size)});
    return;
  }
  if (size == UV_EOF && busy_ && state_->parser.Finish() == ResponseParser::Event::kResponse) {
    Deliver(state_->parser.status(), state_->parser.body());
    return;
  }
  OnEnd(size == UV_EOF ? "the connection was closed by the broker"
                       : uv_strerror(static_cast<int>(size)));
}

void Client::OnInput(std::string_view input) {
  ResponseParser& parser = state_->parser;
  switch (parser.Next(input)) {
    case ResponseParser::Event::kNeedMore:
      return;
    case ResponseParser::Event::kBroken:
      OnEnd(fmt::format("a reply that is not HTTP: {}", parser.problem()));
      return;
    case ResponseParser::Event::kResponse:
      if (!busy_ || !input.empty()) {
        OnEnd("a reply that nobody asked for");
      } else {
        Deliver(parser.status(), parser.body());
      }
      return;
  }
}

// The parser's memory, which holds the body, must outlive the listener's use of it: a connection
// that ends with its reply is only unlinked here and freed by the loop later. One whose request was
// answered before all of it was sent ends too, since the caller may write over the rest.
void Client::Deliver(int status, std::string_view body) {
  if (!state_->parser.keep_alive() || uv_stream_get_write_queue_size(state_->stream()) > 0) Drop();
  busy_ = false;
  listener_.OnReply({status, body, sent_us_, SteadyMicros()});
}

void Client::OnEnd(std::string_view reason) {
  Drop();
  if (!busy_) return;
  busy_ = false;
  listener_.OnReply({0, reason, sent_us_, SteadyMicros()});
}

void Client::Close() {
  busy_ = false;
  if (state_ != nullptr) Drop();
}

void Client::Drop() {
  State* const state = state_;
  state_ = nullptr;
  connected_ = false;
  state->owner = nullptr;
  uv_close(state->handle(), [](uv_handle_t* handle) { delete static_cast<State*>(handle->data); });
}

}  // namespace queen::bench
