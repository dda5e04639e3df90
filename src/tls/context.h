// Context: what the broker shows its clients in a handshake and what it asks of them: certificate
// and key, the versions and ciphers it speaks, the authorities whose client certificates it
// believes. Made once from files and never changed; new files make a new one (certificates.h), and
// sessions that have begun keep theirs. Any thread.
//
//   versions      TLS 1.2 and 1.3; no renegotiation, no compression
//   ciphers       with forward secrecy and authentication only; AES-GCM first, ChaCha20 for clients
//                 that prefer it because they have no AES in hardware
//   resumption    by tickets, whose keys live and die with the Context: a client that comes back
//                 after new files, or to another broker, makes a full handshake
//   ALPN          http/1.1; a client that speaks only something else is refused
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "tls/handles.h"

namespace queen::tls {

struct Files {
  std::string certificate;  // PEM: the server's, then those between it and the root
  std::string key;          // PEM, without a passphrase
  std::string client_ca;    // PEM; "" asks clients for no certificate
  // With client_ca: whether a client without a certificate is refused.
  bool client_certificate_required = true;
};

class Context {
 public:
  // kInvalidRequest with a text that names the file.
  static Result<std::shared_ptr<const Context>> Load(const Files& files);

  SSL_CTX* get() const { return context_.get(); }
  // Of the server's certificate: its subject, and when it ends, in seconds since 1970.
  const std::string& subject() const { return subject_; }
  int64_t expires_at() const { return expires_at_; }

 private:
  explicit Context(SslContextPtr context) : context_(std::move(context)) {}

  SslContextPtr context_;
  std::string subject_;
  int64_t expires_at_ = 0;
};

// The name a certificate gives its owner: the common name of its subject, or all of the subject
// where it has none (RFC 2253); "" where the subject is empty. nullopt: a name that cannot stand
// for anybody, because there are several, it is no UTF-8, holds control characters or is longer
// than kNameBytesMax. Context refuses such clients in the handshake.
inline constexpr size_t kNameBytesMax = 255;
std::optional<std::string> NameOf(const X509* certificate);

// The first protocol of a client's list (ALPN: each a byte that says how long, then its name) that
// is ours, as it stands in the list; empty: there is none.
std::string_view ChooseProtocol(std::string_view offered);

}  // namespace queen::tls
