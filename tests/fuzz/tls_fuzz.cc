// Fuzzes the TLS of clients. The first byte of the input says how the rest is used and seeds the
// places where it is cut into reads:
//
//   0  the first bytes of a client, instead of its handshake
//   1  bytes behind a handshake that was made
//   2  the plain text of records that a real client seals
//   3  a certificate in DER, whose owner is named
//
// Checked: nothing crashes; a session that has failed stays so; what no client sealed is never
// read; what one sealed is read as it was, wherever it is cut; names are UTF-8 without NUL.
#include <openssl/x509.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "require.h"
#include "tls/session.h"
#include "tls/testing.h"

namespace queen::tls {
namespace {

constexpr size_t kOutputBytesMax = 16 << 10;

const std::shared_ptr<const Context>& TheContext() {
  static const std::shared_ptr<const Context> context = [] {
    const TestFiles files;
    auto loaded = Context::Load(files.Pair("server"));
    Require(loaded.ok(), "a certificate of our own is loaded");
    return *std::move(loaded);
  }();
  return context;
}

std::string ReadInPieces(Session& server, std::string_view bytes, std::minstd_rand& cuts) {
  std::string read;
  while (!bytes.empty()) {
    const size_t size = std::min<size_t>(bytes.size(), 1 + cuts() % 300);
    // An allocation of its own, so that reading beyond it is noticed.
    const std::string piece(bytes.substr(0, size));
    bytes.remove_prefix(size);
    read += TestClient::ReadAll(server, piece);
    if (server.state() != Session::State::kFailed) continue;
    Require(TestClient::ReadAll(server, piece).empty(), "nothing is read after a failure");
    Require(server.state() == Session::State::kFailed, "a failure is final");
  }
  return read;
}

void TryFirstBytes(std::string_view bytes, std::minstd_rand& cuts) {
  Session server(TheContext());
  Require(ReadInPieces(server, bytes, cuts).empty(), "no text without a handshake");
  Require(server.output().size() <= kOutputBytesMax, "little is said to strangers");
  server.End();
}

void TryBehindHandshake(std::string_view bytes, std::minstd_rand& cuts) {
  Session server(TheContext());
  TestClient client;
  client.Exchange(server);
  Require(server.state() == Session::State::kOpen, "a handshake is made");
  Require(ReadInPieces(server, bytes, cuts).empty(), "what no client sealed is not read");
  Require(server.output().size() <= kOutputBytesMax, "little is said");
  if (server.may_send()) server.Send("x");
  server.End();
}

void TrySealed(std::string_view text, std::minstd_rand& cuts) {
  Session server(TheContext());
  TestClient client;
  client.Exchange(server);
  std::string sealed;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t size = std::min<size_t>(rest.size(), 1 + cuts() % 2000);
    sealed += client.Seal(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  Require(ReadInPieces(server, sealed, cuts) == text, "what was sealed is read");
  if (!text.empty()) {
    server.Send(text);
    client.Give(std::exchange(server.output(), {}));
    Require(client.Read() == text, "and the other way");
  }
}

void TryCertificate(std::string_view bytes) {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  const CertificatePtr certificate(d2i_X509(nullptr, &at, static_cast<long>(bytes.size())));
  ERR_clear_error();
  if (!certificate) return;
  const std::string name = NameOf(certificate.get()).value_or("");
  Require(IsValidUtf8(name), "a name is UTF-8");
  Require(name.find('\0') == std::string::npos, "without NUL");
}

}  // namespace
}  // namespace queen::tls

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace queen::tls;
  if (size == 0) return 0;
  std::minstd_rand cuts(data[0] + 1U);
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      TryFirstBytes(rest, cuts);
      break;
    case 1:
      TryBehindHandshake(rest, cuts);
      break;
    case 2:
      TrySealed(rest, cuts);
      break;
    default:
      TryCertificate(rest);
  }
  return 0;
}
