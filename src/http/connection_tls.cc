// A connection's TLS: what arrives passes the session before the parser, and what leaves passes it
// after the pipeline, some at a time: however large a reply is, little of it is in memory twice.
#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "http/connections.h"
#include "http/refusal.h"

namespace queen::http {
namespace {

// Plain bytes that are encrypted for one write: a few records at first, and more for a client that
// took all of those. What it does not take stays in memory twice.
constexpr size_t kSealedBytesFirst = size_t{64} << 10;
constexpr size_t kSealedBytesMax = size_t{256} << 10;
constexpr size_t kBuffersPerSeal = 16;
// Room for what is added to the text of so many records.
constexpr size_t kSealedOverheadBytes = size_t{4} << 10;

}  // namespace

Peer Connection::MakePeer() const {
  Peer peer = PeerOf(tcp_);
  if (tls_ == nullptr || tls_->client_name().empty()) return peer;
  auth::Identity identity;
  identity.source = auth::Identity::Source::kCertificate;
  identity.role = owner_->settings_.certificate_role;
  identity.subject = tls_->client_name();
  peer.certificate = std::make_shared<const auth::Identity>(std::move(identity));
  return peer;
}

void Connection::OnSealed(std::string_view bytes) {
  using Session = tls::Session;
  if (tls_->state() != Session::State::kHandshaking && input_ended_) return OnRead(bytes);
  const bool was_handshaking = handshaking();
  const auto keep = shared_from_this();
  tls_->Receive(bytes);
  for (;;) {
    const std::string_view plain =
        tls_->Read(owner_->plain_buffer_.get(), Connections::kReadBufferBytes);
    if (plain.empty()) break;
    OnRead(plain);
    if (state_ == State::kClosed) return;
  }
  if (tls_->state() == Session::State::kFailed) return OnTlsFailure();
  if (was_handshaking && !handshaking()) OnHandshaken();
  if (tls_->state() == Session::State::kEnded && !peer_ended_) return OnReadEnd();
  if (!tls_->output().empty()) owner_->MarkDirty(*this);
  if (!dirty_) Settle();
}

void Connection::OnHandshaken() {
  ++owner_->counters_.handshakes;
  if (tls_->resumed()) ++owner_->counters_.handshakes_resumed;
  owner_->MarkDirty(*this);  // a refusal may wait for it
}

// The alert says why; whatever is owed cannot be sent any more.
void Connection::OnTlsFailure() {
  const bool handshake = state_ == State::kHandshaking;
  if (handshake) ++owner_->counters_.handshake_failures;
  log::WriteRarely(log::Level::kInfo,
                   handshake ? "a TLS handshake failed" : "a TLS connection failed",
                   {{"reason", tls_->failure()}, {"client", client()}});
  if (!pipeline_.empty()) ++owner_->counters_.disconnects;
  if (tls_->met_plain_http()) {
    tls_->output().clear();
    tls_->output().append(RefusalBytes(
        Status(Code::kInvalidRequest, "This port speaks HTTPS, and the request came without TLS"),
        owner_->FixedHeaders()));
  }
  output_ = Output();
  // The alert would have to wait behind what the client does not take.
  if (pending_write_) return Close();
  WriteSealed();
  if (state_ == State::kClosed) return;
  EndInput();
  peer_left_ = true;
  TellDisconnected();
  pipeline_.Clear();
  ChargeReplies();
  // Lingers: a socket closed with unread bytes in it would take the alert back.
  if (!dirty_) Settle();
}

void Connection::Seal(size_t room) {
  while (room > 0 && !output_.empty() && tls_->may_send()) {
    std::array<uv_buf_t, kBuffersPerSeal> buffers;
    const size_t count = output_.Describe(buffers.data(), buffers.size());
    size_t taken = 0;
    for (size_t i = 0; i < count && room > 0 && tls_->may_send(); ++i) {
      const size_t size = std::min(room, static_cast<size_t>(buffers[i].len));
      tls_->Send({buffers[i].base, size});
      taken += size;
      room -= size;
    }
    output_.Consume(taken, owner_->buffers_);
  }
}

// The worker's one large buffer goes from session to session: its memory is there already.
void Connection::LendSealBuffer() {
  if (!tls_->output().empty()) return;
  std::string& lent = owner_->seal_buffer_;
  lent.reserve(kSealedBytesMax + kSealedOverheadBytes);
  tls_->output().swap(lent);
}

void Connection::ReturnSealBuffer() {
  std::string& sealed = tls_->output();
  sealed.clear();
  if (sealed.capacity() > owner_->seal_buffer_.capacity()) sealed.swap(owner_->seal_buffer_);
  sealed = std::string();
}

void Connection::WriteSealed() {
  size_t room = kSealedBytesFirst;
  for (;;) {
    if (tls_->may_send() && !output_.empty()) {
      LendSealBuffer();
      Seal(std::exchange(room, kSealedBytesMax));
      if (!tls_->may_send()) return Close();
    }
    std::string& sealed = tls_->output();
    if (sealed.empty()) return;
    uv_buf_t buffer = uv_buf_init(sealed.data(), static_cast<unsigned>(sealed.size()));
    const int written = uv_try_write(stream(), &buffer, 1);
    if (written < 0 && written != UV_EAGAIN) return Close();
    const size_t done = written > 0 ? static_cast<size_t>(written) : 0;
    owner_->counters_.bytes_out += done;
    std::string left = sealed.substr(done);
    ReturnSealBuffer();
    if (left.empty()) continue;
    Output rest;
    rest.Append(std::move(left), owner_->buffers_);
    return WriteLater(std::move(rest));
  }
}

}  // namespace queen::http
