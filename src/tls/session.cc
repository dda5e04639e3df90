#include "tls/session.h"

#include <openssl/err.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "tls/openssl_error.h"

namespace queen::tls {

// The two ends of a session's bytes, as OpenSSL sees them: straight from Session::input_ and
// straight to Session::output_.

int ReadBio(BIO* bio, char* buffer, int size) {
  auto* const session = static_cast<Session*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (session->input_.empty()) {
    BIO_set_retry_read(bio);
    return -1;
  }
  const size_t taken = std::min(session->input_.size(), static_cast<size_t>(size));
  memcpy(buffer, session->input_.data(), taken);
  session->input_.remove_prefix(taken);
  return static_cast<int>(taken);
}

int WriteBio(BIO* bio, const char* bytes, int size) {
  static_cast<Session*>(BIO_get_data(bio))->output_.append(bytes, static_cast<size_t>(size));
  return size;
}

namespace {

long ControlBio(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* MakeBioMethod() {
  BIO_METHOD* const method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "session");
  BIO_meth_set_read(method, ReadBio);
  BIO_meth_set_write(method, WriteBio);
  BIO_meth_set_ctrl(method, ControlBio);
  return method;
}

BIO* MakeBio(Session& session) {
  // Never freed: sessions may outlive any other place for it.
  static BIO_METHOD* const method = MakeBioMethod();
  BIO* const bio = BIO_new(method);
  BIO_set_data(bio, &session);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace

Session::Session(std::shared_ptr<const Context> context)
    : context_(std::move(context)), ssl_(SSL_new(context_->get())) {
  BIO* const bio = MakeBio(*this);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_accept_state(ssl_.get());
}

Session::~Session() = default;

void Session::Fail() {
  state_ = State::kFailed;
  input_ = {};
  met_plain_http_ = LastErrorIs(SSL_R_HTTP_REQUEST);
  failure_ = TakeError();
}

void Session::Handshake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_.get());
  if (done != 1) {
    if (SSL_get_error(ssl_.get(), done) != SSL_ERROR_WANT_READ) Fail();
    return;
  }
  state_ = State::kOpen;
  resumed_ = SSL_session_reused(ssl_.get()) == 1;
  const X509* const certificate = SSL_get0_peer_certificate(ssl_.get());
  if (certificate != nullptr) client_name_ = NameOf(certificate).value_or("");
  ERR_clear_error();
}

std::string_view Session::Read(char* buffer, size_t size) {
  if (state_ == State::kHandshaking) Handshake();
  size_t total = 0;
  while (state_ == State::kOpen && total < size) {
    ERR_clear_error();
    size_t count = 0;
    const int done = SSL_read_ex(ssl_.get(), buffer + total, size - total, &count);
    if (done == 1) {
      total += count;
      continue;
    }
    const int error = SSL_get_error(ssl_.get(), done);
    if (error == SSL_ERROR_WANT_READ) break;
    if (error == SSL_ERROR_ZERO_RETURN) {
      state_ = State::kEnded;
      input_ = {};
    } else {
      Fail();
    }
  }
  // Others of this thread read the queue of errors, too.
  ERR_clear_error();
  return {buffer, total};
}

void Session::Send(std::string_view plain) {
  assert(may_send());
  if (plain.empty()) return;
  ERR_clear_error();
  size_t written = 0;
  // The other end takes everything, so it is all or an error.
  if (SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &written) != 1) Fail();
}

void Session::End() {
  if (!may_send()) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

}  // namespace queen::tls
