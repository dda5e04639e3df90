#include "tls/context.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>
#include <string_view>

#include "base/utf8.h"
#include "tls/openssl_error.h"

namespace queen::tls {
namespace {

constexpr const char* kCiphers12 = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr const char* kCiphers13 =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kGroups = "X25519:P-256:P-384";
// How long a client may come back without showing its certificate again.
constexpr long kTicketSeconds = 3600;
constexpr std::string_view kSessionIdContext = "queen";
constexpr std::string_view kHttp11 = "http/1.1";

Status Unusable(std::string_view what, const std::string& file) {
  return Status(Code::kInvalidRequest, fmt::format("{} {}: {}", what, file, TakeError()));
}

int OnProtocols(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                const unsigned char* offered, unsigned int offered_size, void*) {
  const std::string_view name =
      ChooseProtocol({reinterpret_cast<const char*>(offered), offered_size});
  if (name.empty()) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = reinterpret_cast<const unsigned char*>(name.data());
  *chosen_size = static_cast<unsigned char>(name.size());
  return SSL_TLSEXT_ERR_OK;
}

// Of a client's chain that is to be believed, whether its owner can be named.
int OnClientCertificate(int believed, X509_STORE_CTX* chain) {
  if (believed != 1 || X509_STORE_CTX_get_error_depth(chain) != 0) return believed;
  if (NameOf(X509_STORE_CTX_get_current_cert(chain))) return 1;
  X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

// Nobody is there to type a passphrase in.
int NoPassphrase(char*, int, int, void*) { return -1; }

Status UseFiles(SSL_CTX* context, const Files& files) {
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
    return Unusable("the certificate", files.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return Unusable("the key", files.key);
  }
  if (SSL_CTX_check_private_key(context) != 1) return Unusable("the key", files.key);
  if (files.client_ca.empty()) return Status::Ok();
  STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(files.client_ca.c_str());
  if (names == nullptr ||
      SSL_CTX_load_verify_locations(context, files.client_ca.c_str(), nullptr) != 1) {
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    return Unusable("the authorities of clients", files.client_ca);
  }
  SSL_CTX_set_client_CA_list(context, names);
  SSL_CTX_set_verify(
      context,
      SSL_VERIFY_PEER | (files.client_certificate_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
      OnClientCertificate);
  return Status::Ok();
}

int64_t ExpiryOf(const X509* certificate) {
  tm parts{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &parts) != 1) return 0;
  return static_cast<int64_t>(timegm(&parts));
}

std::string WholeSubject(const X509* certificate) {
  const BioPtr text(BIO_new(BIO_s_mem()));
  if (X509_NAME_print_ex(text.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253) < 0) {
    return {};
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : std::string();
}

}  // namespace

std::string_view ChooseProtocol(std::string_view offered) {
  while (!offered.empty()) {
    const size_t size = static_cast<unsigned char>(offered.front());
    offered.remove_prefix(1);
    if (size > offered.size()) return {};
    if (offered.substr(0, size) == kHttp11) return offered.substr(0, size);
    offered.remove_prefix(size);
  }
  return {};
}

std::optional<std::string> NameOf(const X509* certificate) {
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at >= 0 && X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0) return std::nullopt;
  std::string name;
  if (at < 0) {
    name = WholeSubject(certificate);
  } else {
    unsigned char* text = nullptr;
    const int size =
        ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (size > 0) name.assign(reinterpret_cast<char*>(text), static_cast<size_t>(size));
    if (size >= 0) OPENSSL_free(text);
  }
  ERR_clear_error();
  const bool named = at < 0 || !name.empty();
  const bool usable = name.size() <= kNameBytesMax && IsValidUtf8(name) && !HasControls(name);
  return named && usable ? std::optional(std::move(name)) : std::nullopt;
}

Result<std::shared_ptr<const Context>> Context::Load(const Files& files) {
  SslContextPtr made(SSL_CTX_new(TLS_server_method()));
  if (!made) return Status(Code::kInternal, TakeError());
  SSL_CTX* const context = made.get();
  SSL_CTX_set_default_passwd_cb(context, NoPassphrase);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  if (SSL_CTX_set_cipher_list(context, kCiphers12) != 1 ||
      SSL_CTX_set_ciphersuites(context, kCiphers13) != 1 ||
      SSL_CTX_set1_groups_list(context, kGroups) != 1) {
    return Status(Code::kInternal, TakeError());
  }
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(context, kTicketSeconds);
  SSL_CTX_set_session_id_context(context,
                                 reinterpret_cast<const unsigned char*>(kSessionIdContext.data()),
                                 static_cast<unsigned>(kSessionIdContext.size()));
  SSL_CTX_set_alpn_select_cb(context, OnProtocols, nullptr);
  QUEEN_RETURN_IF_ERROR(UseFiles(context, files));
  std::shared_ptr<Context> done(new Context(std::move(made)));
  const X509* const certificate = SSL_CTX_get0_certificate(done->get());
  done->subject_ = WholeSubject(certificate);
  done->expires_at_ = ExpiryOf(certificate);
  return std::shared_ptr<const Context>(std::move(done));
}

}  // namespace queen::tls
