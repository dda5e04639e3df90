// For tests and fuzz targets: files of certificates, and a client that shakes hands with a Session
// without sockets.
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "tls/handles.h"
#include "tls/self_signed.h"
#include "tls/session.h"

namespace queen::tls {

// A directory of its own, gone with it.
class TestFiles {
 public:
  TestFiles() {
    std::string pattern = "/tmp/queen-tls-test.XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~TestFiles() { std::filesystem::remove_all(directory_); }
  TestFiles(const TestFiles&) = delete;
  TestFiles& operator=(const TestFiles&) = delete;

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  // Replaces the file as careful programs do: whole, under its name.
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name + ".new")) << text;
    std::filesystem::rename(Path(name + ".new"), Path(name));
    return Path(name);
  }
  Files Pair(const std::string& name, const SelfSignedOptions& options = {}) const {
    const auto made = MakeSelfSigned(options);
    Files pair;
    pair.certificate = Write(name + ".crt", made->certificate);
    pair.key = Write(name + ".key", made->key);
    return pair;
  }

 private:
  std::string directory_;
};

class TestClient {
 public:
  explicit TestClient(int version = TLS1_3_VERSION) : context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_min_proto_version(context_.get(), version);
    SSL_CTX_set_max_proto_version(context_.get(), version);
  }

  // Before the handshake.
  SSL_CTX* context() { return context_.get(); }
  void ShowCertificate(const Files& files) {
    SSL_CTX_use_certificate_chain_file(context_.get(), files.certificate.c_str());
    SSL_CTX_use_PrivateKey_file(context_.get(), files.key.c_str(), SSL_FILETYPE_PEM);
  }
  void Resume(SSL_SESSION* session) { resumed_ = session; }

  SSL* ssl() {
    if (!ssl_) {
      ssl_.reset(SSL_new(context_.get()));
      SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
      SSL_set_connect_state(ssl_.get());
      if (resumed_ != nullptr) SSL_set_session(ssl_.get(), resumed_);
    }
    return ssl_.get();
  }

  // Bytes for the server since the last call.
  std::string TakeOutput() {
    char* data = nullptr;
    const long size = BIO_get_mem_data(SSL_get_wbio(ssl()), &data);
    std::string bytes(data, static_cast<size_t>(size));
    (void)BIO_reset(SSL_get_wbio(ssl()));
    return bytes;
  }
  void Give(std::string_view bytes) {
    BIO_write(SSL_get_rbio(ssl()), bytes.data(), static_cast<int>(bytes.size()));
  }
  // What the server sent, decrypted.
  std::string Read() {
    std::string text;
    char buffer[4096];
    int size = 0;
    while ((size = SSL_read(ssl(), buffer, sizeof buffer)) > 0) {
      text.append(buffer, static_cast<size_t>(size));
    }
    return text;
  }
  std::string Seal(std::string_view plain) {
    SSL_write(ssl(), plain.data(), static_cast<int>(plain.size()));
    return TakeOutput();
  }
  bool connected() { return SSL_is_init_finished(ssl()) == 1; }

  // Passes bytes to and fro until neither side has any. Returns what the server read.
  std::string Exchange(Session& server) {
    std::string read;
    SSL_do_handshake(ssl());
    for (;;) {
      const std::string up = TakeOutput();
      read += ReadAll(server, up);
      const std::string down = std::exchange(server.output(), {});
      if (up.empty() && down.empty()) return read;
      Give(down);
      SSL_do_handshake(ssl());
      ERR_clear_error();
    }
  }

  static std::string ReadAll(Session& server, std::string_view bytes) {
    std::string text;
    char buffer[1000];
    server.Receive(bytes);
    for (;;) {
      const std::string_view plain = server.Read(buffer, sizeof buffer);
      if (plain.empty()) return text;
      text.append(plain);
    }
  }

 private:
  SslContextPtr context_;
  SSL_SESSION* resumed_ = nullptr;
  SslPtr ssl_;
};

}  // namespace queen::tls
