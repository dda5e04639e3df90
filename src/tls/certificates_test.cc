// Files that change under a broker, good ones and bad ones; certificates made for trying out.
#include "tls/certificates.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ctime>

#include "tls/testing.h"

namespace queen::tls {
namespace {

SelfSignedOptions Named(const std::string& name) {
  SelfSignedOptions options;
  options.common_name = name;
  return options;
}

TEST(Certificates, AChangedPairIsTaken) {
  const TestFiles files;
  const auto opened = Certificates::Open(files.Pair("server", Named("first")));
  ASSERT_TRUE(opened.ok());
  Certificates& certificates = **opened;
  const auto first = certificates.current();
  EXPECT_EQ(first->subject(), "CN=first");
  EXPECT_GT(first->expires_at(), time(nullptr));
  EXPECT_FALSE(certificates.Refresh());
  EXPECT_EQ(certificates.current(), first);
  files.Pair("server", Named("second"));
  EXPECT_TRUE(certificates.Refresh());
  EXPECT_EQ(certificates.current()->subject(), "CN=second");
  EXPECT_FALSE(certificates.Refresh());
  EXPECT_EQ(certificates.reloads(), 1U);
  // Who began with the first goes on with it.
  Session session(first);
  TestClient client;
  client.Exchange(session);
  EXPECT_EQ(session.state(), Session::State::kOpen);
}

TEST(Certificates, ABadPairChangesNothing) {
  const TestFiles files;
  const auto opened = Certificates::Open(files.Pair("server", Named("good")));
  ASSERT_TRUE(opened.ok());
  Certificates& certificates = **opened;
  const auto good = certificates.current();
  const auto other = MakeSelfSigned(Named("other"));
  files.Write("server.crt", other->certificate);  // the key is not of this one
  EXPECT_FALSE(certificates.Refresh());
  files.Write("server.crt", "");
  EXPECT_FALSE(certificates.Refresh());
  files.Write("server.crt", other->certificate.substr(0, other->certificate.size() / 2));
  EXPECT_FALSE(certificates.Refresh());
  std::filesystem::remove(files.Path("server.crt"));
  EXPECT_FALSE(certificates.Refresh());
  EXPECT_EQ(certificates.current(), good);
  EXPECT_EQ(certificates.failed_reloads(), 4U);
  EXPECT_FALSE(certificates.Refresh()) << "said once for one change";
  EXPECT_EQ(certificates.failed_reloads(), 4U);
  files.Write("server.crt", other->certificate);
  files.Write("server.key", other->key);
  EXPECT_TRUE(certificates.Refresh());
  EXPECT_EQ(certificates.current()->subject(), "CN=other");
}

TEST(Certificates, AnErrorNamesTheFile) {
  const TestFiles files;
  Files pair = files.Pair("server");
  for (std::string Files::*file : {&Files::certificate, &Files::key, &Files::client_ca}) {
    Files broken = pair;
    broken.*file = files.Write("broken.pem", "-----BEGIN NOTHING-----\n");
    const auto opened = Certificates::Open(broken);
    ASSERT_FALSE(opened.ok());
    EXPECT_NE(opened.status().message().find("broken.pem"), std::string::npos);
    broken.*file = files.Path("missing.pem");
    EXPECT_NE(Certificates::Open(broken).status().message().find("missing.pem"), std::string::npos);
  }
}

TEST(SelfSigned, IsKeptAndMadeAnew) {
  const TestFiles files;
  const std::string directory = files.Path("data/tls");
  const auto first = KeepSelfSigned(directory, Named("one"));
  ASSERT_TRUE(first.ok()) << first.status().message();
  struct stat info {};
  ASSERT_EQ(stat(first->key.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  Files pair;
  pair.certificate = first->certificate;
  pair.key = first->key;
  const auto subject = [&] { return (*Context::Load(pair))->subject(); };
  EXPECT_EQ(subject(), "CN=one");
  ASSERT_TRUE(KeepSelfSigned(directory, Named("two")).ok());
  EXPECT_EQ(subject(), "CN=one");
  SelfSignedOptions old = Named("old");
  old.days = 3;
  const auto ending = MakeSelfSigned(old);
  files.Write("data/tls/self-signed.crt", ending->certificate);
  files.Write("data/tls/self-signed.key", ending->key);
  ASSERT_TRUE(KeepSelfSigned(directory, Named("three")).ok());
  EXPECT_EQ(subject(), "CN=three");
  EXPECT_FALSE(KeepSelfSigned("/proc/nowhere", {}).ok());
}

}  // namespace
}  // namespace queen::tls
