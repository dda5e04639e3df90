// Sessions against OpenSSL's own client, without sockets: every version, cut everywhere, refused,
// ended, failed.
#include "tls/session.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "tls/testing.h"

namespace queen::tls {
namespace {

using State = Session::State;

std::shared_ptr<const Context> Load(const Files& files) {
  auto context = Context::Load(files);
  EXPECT_TRUE(context.ok()) << context.status().message();
  return context.ok() ? *context : nullptr;
}

class SessionVersions : public testing::TestWithParam<int> {};

TEST_P(SessionVersions, RequestsAndRepliesPass) {
  const TestFiles files;
  Session server(Load(files.Pair("server")));
  TestClient client(GetParam());
  EXPECT_EQ(client.Exchange(server), "");
  ASSERT_EQ(server.state(), State::kOpen) << server.failure();
  EXPECT_TRUE(client.connected());
  EXPECT_FALSE(server.resumed());
  EXPECT_EQ(server.client_name(), "");
  EXPECT_EQ(TestClient::ReadAll(server, client.Seal("hello")), "hello");
  const std::string large(300'000, 'x');
  EXPECT_EQ(TestClient::ReadAll(server, client.Seal(large)), large);
  server.Send(large);
  client.Give(std::exchange(server.output(), {}));
  EXPECT_EQ(client.Read(), large);
  // Small texts do not each cost a record of their own.
  server.Send("");
  EXPECT_TRUE(server.output().empty());
}

TEST_P(SessionVersions, EveryCutReadsTheSame) {
  const TestFiles files;
  const auto context = Load(files.Pair("server"));
  for (size_t piece = 1; piece < 40; piece += 3) {
    Session server(context);
    TestClient client(GetParam());
    std::string read;
    SSL_do_handshake(client.ssl());
    while (!client.connected() || server.state() == State::kHandshaking) {
      const std::string up = client.TakeOutput();
      for (size_t at = 0; at < up.size(); at += piece) {
        read += TestClient::ReadAll(server, std::string_view(up).substr(at, piece));
      }
      client.Give(std::exchange(server.output(), {}));
      SSL_do_handshake(client.ssl());
      ASSERT_NE(server.state(), State::kFailed) << server.failure();
    }
    const std::string sealed = client.Seal("cut " + std::string(2000, 'y'));
    for (size_t at = 0; at < sealed.size(); at += piece) {
      read += TestClient::ReadAll(server, std::string_view(sealed).substr(at, piece));
    }
    EXPECT_EQ(read, "cut " + std::string(2000, 'y'));
  }
}

TEST_P(SessionVersions, TheClientEndsAndIsStillAnswered) {
  const TestFiles files;
  Session server(Load(files.Pair("server")));
  TestClient client(GetParam());
  client.Exchange(server);
  std::string last = client.Seal("last");
  SSL_shutdown(client.ssl());
  last += client.TakeOutput();
  EXPECT_EQ(TestClient::ReadAll(server, last), "last");
  EXPECT_EQ(server.state(), State::kEnded);
  ASSERT_TRUE(server.may_send());
  server.Send("reply");
  server.End();
  client.Give(std::exchange(server.output(), {}));
  EXPECT_EQ(client.Read(), "reply");
  EXPECT_NE(SSL_get_shutdown(client.ssl()) & SSL_RECEIVED_SHUTDOWN, 0);
}

TEST_P(SessionVersions, AChangedRecordFails) {
  const TestFiles files;
  Session server(Load(files.Pair("server")));
  TestClient client(GetParam());
  client.Exchange(server);
  std::string sealed = client.Seal("secret");
  sealed.back() = static_cast<char>(sealed.back() ^ 1);
  EXPECT_EQ(TestClient::ReadAll(server, sealed), "");
  EXPECT_EQ(server.state(), State::kFailed);
  EXPECT_FALSE(server.output().empty()) << "an alert";
  EXPECT_EQ(TestClient::ReadAll(server, client.Seal("more")), "") << "nothing follows a failure";
}

TEST_P(SessionVersions, ClientsComeBackWithTickets) {
  const TestFiles files;
  const auto context = Load(files.Pair("server"));
  Session first(context);
  TestClient client(GetParam());
  client.Exchange(first);
  first.Send("x");
  client.Give(std::exchange(first.output(), {}));
  client.Read();  // the tickets of TLS 1.3 come with the first data
  SSL_SESSION* const ticket = SSL_get1_session(client.ssl());
  Session second(context);
  TestClient again(GetParam());
  again.Resume(ticket);
  again.Exchange(second);
  EXPECT_EQ(second.state(), State::kOpen);
  EXPECT_TRUE(second.resumed());
  // Another broker does not know the ticket and makes a full handshake.
  Session other(Load(files.Pair("other")));
  TestClient stranger(GetParam());
  stranger.Resume(ticket);
  stranger.Exchange(other);
  EXPECT_EQ(other.state(), State::kOpen);
  EXPECT_FALSE(other.resumed());
  SSL_SESSION_free(ticket);
}

TEST_P(SessionVersions, ClientCertificates) {
  const TestFiles files;
  SelfSignedOptions owner;
  owner.common_name = "worker-7 \xC3\xA4";
  const Files client_files = files.Pair("client", owner);
  const Files stranger_files = files.Pair("stranger");
  for (const bool required : {true, false}) {
    Files server_files = files.Pair("server");
    server_files.client_ca = client_files.certificate;
    server_files.client_certificate_required = required;
    const auto context = Load(server_files);
    Session known(context);
    TestClient client(GetParam());
    client.ShowCertificate(client_files);
    client.Exchange(known);
    ASSERT_EQ(known.state(), State::kOpen) << known.failure();
    EXPECT_EQ(known.client_name(), owner.common_name);

    Session unknown(context);
    TestClient stranger(GetParam());
    stranger.ShowCertificate(stranger_files);
    stranger.Exchange(unknown);
    EXPECT_EQ(unknown.state(), State::kFailed);

    Session none(context);
    TestClient bare(GetParam());
    bare.Exchange(none);
    EXPECT_EQ(none.state(), required ? State::kFailed : State::kOpen);
    EXPECT_EQ(none.client_name(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, SessionVersions,
                         testing::Values(TLS1_2_VERSION, TLS1_3_VERSION));

TEST(Session, OlderVersionsAreRefused) {
  const TestFiles files;
  Session server(Load(files.Pair("server")));
  TestClient client(TLS1_1_VERSION);
  SSL_CTX_set_security_level(client.context(), 0);
  client.Exchange(server);
  EXPECT_EQ(server.state(), State::kFailed);
  EXPECT_FALSE(client.connected());
}

TEST(Session, RenegotiationIsRefused) {
  const TestFiles files;
  Session server(Load(files.Pair("server")));
  TestClient client(TLS1_2_VERSION);
  client.Exchange(server);
  ASSERT_EQ(server.state(), State::kOpen);
  SSL_renegotiate(client.ssl());
  SSL_do_handshake(client.ssl());
  EXPECT_EQ(TestClient::ReadAll(server, client.TakeOutput()), "");
  // Answered with a warning; the session goes on as it was.
  EXPECT_EQ(server.state(), State::kOpen);
  EXPECT_LT(server.output().size(), 100U) << "an alert and no second handshake";
}

TEST(Session, OtherProtocolsAreRefused) {
  const TestFiles files;
  const auto context = Load(files.Pair("server"));
  const auto offer = [](TestClient& client, std::string_view list) {
    SSL_CTX_set_alpn_protos(client.context(), reinterpret_cast<const unsigned char*>(list.data()),
                            static_cast<unsigned>(list.size()));
  };
  Session both(context);
  TestClient modern;
  offer(modern, "\x02h2\x08http/1.1");
  modern.Exchange(both);
  EXPECT_EQ(both.state(), State::kOpen);
  Session only(context);
  TestClient h2;
  offer(h2, "\x02h2");
  h2.Exchange(only);
  EXPECT_EQ(only.state(), State::kFailed);
}

// The list ends where memory ends: one byte read too far is noticed.
TEST(Session, AListOfProtocolsIsReadToItsEndAndNoFurther) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* const memory = static_cast<char*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory + page, page, PROT_NONE), 0);
  const auto choose = [&](std::string_view list) {
    char* const at = memory + page - list.size();
    memcpy(at, list.data(), list.size());
    return std::string(ChooseProtocol({at, list.size()}));
  };
  EXPECT_EQ(choose("\x02h2"), "");
  EXPECT_EQ(choose("\x02h2\x08http/1.1"), "http/1.1");
  EXPECT_EQ(choose("\x08http/1.1\x02h2"), "http/1.1");
  EXPECT_EQ(choose("\x09http/1.1"), "");
  EXPECT_EQ(choose("\xff"), "");
  EXPECT_EQ(choose(""), "");
  munmap(memory, 2 * page);
}

// A certificate for this subject: pairs of a name's part and its value.
std::optional<std::string> NameFor(
    const std::vector<std::pair<std::string, std::string>>& subject) {
  const CertificatePtr certificate(X509_new());
  X509_NAME* const name = X509_get_subject_name(certificate.get());
  for (const auto& [part, value] : subject) {
    X509_NAME_add_entry_by_txt(name, part.c_str(), V_ASN1_UTF8STRING,
                               reinterpret_cast<const unsigned char*>(value.data()),
                               static_cast<int>(value.size()), -1, 0);
  }
  return NameOf(certificate.get());
}

TEST(Session, NamesOfCertificatesThatCanStandForSomebody) {
  EXPECT_EQ(NameFor({{"CN", "worker-7"}}), "worker-7");
  EXPECT_EQ(NameFor({{"O", "Shop"}, {"CN", "\xC3\xA4"}}), "\xC3\xA4");
  EXPECT_EQ(NameFor({{"O", "Shop"}, {"OU", "a"}}), "OU=a,O=Shop");
  EXPECT_EQ(NameFor({}), "");
  EXPECT_EQ(NameFor({{"CN", "admin"}, {"CN", "worker"}}), std::nullopt);
  EXPECT_EQ(NameFor({{"CN", std::string("admin\0.evil", 11)}}), std::nullopt);
  EXPECT_EQ(NameFor({{"CN", "admin\nrole=admin"}}), std::nullopt);
  EXPECT_EQ(NameFor({{"CN", "\x1b[2J"}}), std::nullopt);
  EXPECT_EQ(NameFor({{"CN", "a\x7f"}}), std::nullopt);
  EXPECT_EQ(NameFor({{"CN", "a\xC2\x85"}}), std::nullopt);
  const std::string longest(64, 'x');  // the most that a part may have
  EXPECT_EQ(NameFor({{"O", longest}, {"OU", longest}}), "OU=" + longest + ",O=" + longest);
  EXPECT_EQ(NameFor({{"O", longest}, {"OU", longest}, {"OU", longest}, {"OU", longest}}),
            std::nullopt);
}

TEST_P(SessionVersions, AClientWhoseNameCannotBeUsedIsRefused) {
  const TestFiles files;
  SelfSignedOptions owner;
  owner.common_name = "worker\nadmin";
  const Files client_files = files.Pair("client", owner);
  Files server_files = files.Pair("server");
  server_files.client_ca = client_files.certificate;
  server_files.client_certificate_required = false;
  Session server(Load(server_files));
  TestClient client(GetParam());
  client.ShowCertificate(client_files);
  client.Exchange(server);
  EXPECT_EQ(server.state(), State::kFailed);
}

TEST_P(SessionVersions, NoErrorIsLeftForOthersAndThoseOfOthersAreNotOurs) {
  const TestFiles files;
  const auto context = Load(files.Pair("server"));
  const auto put_error = [] { ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR); };
  Session fine(context);
  TestClient client(GetParam());
  put_error();
  client.Exchange(fine);
  ASSERT_EQ(fine.state(), State::kOpen) << fine.failure();
  const std::string sealed = client.Seal("hello");
  put_error();
  EXPECT_EQ(TestClient::ReadAll(fine, sealed), "hello");
  EXPECT_EQ(ERR_peek_error(), 0U);

  std::string broken = client.Seal("hello");
  broken.back() = static_cast<char>(broken.back() ^ 1);
  put_error();
  TestClient::ReadAll(fine, broken);
  EXPECT_EQ(fine.state(), State::kFailed);
  EXPECT_EQ(fine.failure().find("internal error"), std::string::npos) << fine.failure();
  EXPECT_EQ(ERR_peek_error(), 0U);
  EXPECT_FALSE(fine.output().empty()) << "the client is told";

  Session garbled(context);
  TestClient::ReadAll(garbled, std::string_view("\x16\x03\x01\x00\x05hello", 10));
  EXPECT_EQ(garbled.state(), State::kFailed);
  EXPECT_EQ(ERR_peek_error(), 0U);
}

TEST(Session, PlainHttpIsNoticed) {
  const TestFiles files;
  const auto context = Load(files.Pair("server"));
  Session http(context);
  EXPECT_EQ(TestClient::ReadAll(http, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"), "");
  EXPECT_EQ(http.state(), State::kFailed);
  EXPECT_TRUE(http.met_plain_http());
  Session noise(context);
  TestClient::ReadAll(noise, std::string(100, '\xff'));
  EXPECT_EQ(noise.state(), State::kFailed);
  EXPECT_FALSE(noise.met_plain_http());
}

}  // namespace
}  // namespace queen::tls
