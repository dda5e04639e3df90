// The Authorization header, tokens without an issuer, and what is remembered of tokens.

#include "auth/authenticator.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "auth/jwks.h"
#include "auth/test_tokens.h"
#include "auth/tokens_file.h"

namespace queen::auth {
namespace {

constexpr int64_t kNow = 1'800'000'000;

StoredToken Stored(std::string_view token, Role role, int64_t expires = INT64_MAX) {
  StoredToken stored;
  stored.hash = HashToken(token);
  stored.identity.role = role;
  stored.identity.subject = "somebody";
  stored.identity.until_seconds = expires;
  return stored;
}

class AuthenticatorTest : public testing::Test {
 protected:
  // The role, or why not.
  std::string Ask(std::optional<std::string_view> header, int64_t now = kNow) {
    const Result<IdentityRef> who = authenticator_.Authenticate(header, now);
    return who.ok() ? std::string(RoleName((*who)->role)) : who.status().message();
  }
  std::string AskWith(const std::string& token, int64_t now = kNow) {
    return Ask("Bearer " + token, now);
  }

  std::unique_ptr<Authority> authority_ = *Authority::Make({.stored_tokens = true});
  Authenticator authenticator_{*authority_};
};

TEST_F(AuthenticatorTest, TheHeaderIsABearerToken) {
  const std::string token = MakeToken();
  authority_->tokens().ReplaceStored({Stored(token, Role::kReadOnly)});
  EXPECT_EQ(Ask(std::nullopt), "Authentication required");
  for (const std::string& header : {std::string(), std::string("Bearer"), std::string("Bearer "),
                                    "Basic " + token, token, "Bearer" + token}) {
    EXPECT_TRUE(Ask(header).starts_with("Authentication required")) << header;
  }
  EXPECT_EQ(Ask("Bearer " + token), "read-only");
  EXPECT_EQ(Ask("bearer  " + token + " "), "read-only");
  EXPECT_EQ(Ask("Bearer " + token + "x"), "Unknown or revoked token");
  EXPECT_EQ(Ask("Bearer " + token + " " + token), "Unknown or revoked token");
}

TEST_F(AuthenticatorTest, ARevokedTokenIsRefusedAtOnce) {
  const std::string token = MakeToken();
  EXPECT_EQ(AskWith(token), "The tokens have not been read yet");
  authority_->tokens().ReplaceStored({Stored(token, Role::kReadWrite)});
  EXPECT_EQ(AskWith(token), "read-write");
  authority_->tokens().ReplaceStored({Stored(token, Role::kAdmin)});
  EXPECT_EQ(AskWith(token), "admin");
  authority_->tokens().ReplaceStored({});
  EXPECT_EQ(AskWith(token), "Unknown or revoked token");
}

TEST_F(AuthenticatorTest, WhatIsRememberedEndsWithTheToken) {
  const std::string token = MakeToken();
  authority_->tokens().ReplaceStored({Stored(token, Role::kReadWrite, kNow + 10)});
  EXPECT_EQ(AskWith(token, kNow + 9), "read-write");
  EXPECT_EQ(AskWith(token, kNow + 10), "The token has expired");
  EXPECT_EQ(AskWith(token, kNow + 9), "read-write");
}

TEST_F(AuthenticatorTest, TokensOfAnIssuerNeedOne) {
  authority_->tokens().ReplaceStored({});
  EXPECT_EQ(AskWith(std::string(kHs256Token)), "Unknown or revoked token");
}

// ---- keys that are fetched

Jwt TokenOf(std::string_view token) { return *ParseJwt(token); }

TEST(KeyRingTest, AnUnknownKeyIsTriedAgainUntilTheSetWasFetched) {
  KeyRing ring({}, true);
  int wishes = 0;
  ring.OnUnknownId([&] { ++wishes; });
  const Jwt token = TokenOf(kEs256Token);
  EXPECT_EQ(ring.Verify(token, 1'000).code(), Code::kOverloaded);
  const Result<std::vector<VerifyKey>> others =
      ParseJwks(R"({"keys":[{"kid":"x","kty":"OKP","crv":"Ed25519",)"
                R"("x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]})");
  ASSERT_TRUE(others.ok());
  ring.Replace(*others, 999);  // was asked for before
  EXPECT_EQ(ring.Verify(token, 1'001).code(), Code::kOverloaded);
  EXPECT_EQ(wishes, 2);
  ring.Replace(*others, 1'002);
  EXPECT_EQ(ring.Verify(token, 1'003).code(), Code::kUnauthenticated);
  EXPECT_EQ(wishes, 2);
  ring.Replace(*ParseJwks(kTestJwks), 1'004);
  EXPECT_TRUE(ring.Verify(token, 1'005).ok());
  EXPECT_TRUE(ring.Verify(TokenOf(kEdDsaToken), 1'005).ok());
}

TEST(KeyRingTest, StrangersCannotMakeItRememberWithoutEnd) {
  KeyRing ring({}, true);
  ring.Replace(*ParseJwks(kTestJwks), 0);
  Jwt token = TokenOf(kEs256Token);
  for (size_t i = 0; i < 2 * KeyRing::kUnknownIdsMax; ++i) {
    token.key_id = "stranger-" + std::to_string(i);
    EXPECT_EQ(ring.Verify(token, 1'000).code(), Code::kOverloaded);
    EXPECT_LE(ring.unknown_ids(), KeyRing::kUnknownIdsMax);
  }
  ring.Replace(*ParseJwks(kTestJwks), 1'001);
  EXPECT_EQ(ring.Verify(token, 1'002).code(), Code::kUnauthenticated);
  EXPECT_EQ(ring.Verify(token, 1'001 + KeyRing::kForgetUnknownMs).code(), Code::kOverloaded);
}

TEST(KeyRingTest, StrangersCannotHideANewKey) {
  KeyRing ring({}, true);
  int wishes = 0;
  ring.OnUnknownId([&] { ++wishes; });
  ring.Replace({}, 0);
  Jwt stranger = TokenOf(kEs256Token);
  for (size_t i = 0; i < KeyRing::kUnknownIdsMax; ++i) {
    stranger.key_id = "stranger-" + std::to_string(i);
    EXPECT_EQ(ring.Verify(stranger, 1'000).code(), Code::kOverloaded);
  }
  // Whoever has a token of a key that was published since is not refused, and it is asked for.
  wishes = 0;
  EXPECT_EQ(ring.Verify(TokenOf(kEs256Token), 1'001).code(), Code::kOverloaded);
  EXPECT_EQ(wishes, 1);
  ring.Replace(*ParseJwks(kTestJwks), 1'002);
  EXPECT_TRUE(ring.Verify(TokenOf(kEs256Token), 1'003).ok());
}

TEST(KeyRingTest, NoIssuerPublishesASecret) {
  KeyRing ring({}, true);
  EXPECT_EQ(ring.Verify(TokenOf(kHs256Token), 0).code(), Code::kUnauthenticated);
}

// ---- QUEEN_TOKENS_FILE

TEST(TokensFileTest, ALineIsATokenARoleAndWhatItMay) {
  const auto tokens = ParseTokensFile(
      "# of the shop\n\n"
      "a-long-enough-token  read-write sub=worker-1 push=orders.*,audit pop=orders.*\r\n"
      "sha256:9F86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 admin");
  ASSERT_TRUE(tokens.ok()) << tokens.status().message();
  ASSERT_EQ(tokens->size(), 2U);
  const StoredToken& first = (*tokens)[0];
  EXPECT_EQ(first.hash, HashToken("a-long-enough-token"));
  EXPECT_EQ(first.identity.subject, "worker-1");
  EXPECT_EQ(first.identity.role, Role::kReadWrite);
  EXPECT_EQ(first.identity.queues.push, std::vector<std::string>({"orders.*", "audit"}));
  EXPECT_FALSE(first.identity.queues.Allow(Verb::kAdmin, "orders.eu"));
  EXPECT_EQ((*tokens)[1].hash, HashToken("test"));
  EXPECT_FALSE((*tokens)[1].identity.queues.limited);
}

TEST(TokensFileTest, ErrorsNameTheLineAndNotTheToken) {
  for (const std::string line :
       {"a-long-enough-token", "a-long-enough-token owner", "short admin",
        "a-long-enough-token admin push", "a-long-enough-token admin pull=x", "sha256:12 admin",
        "a-long-enough-token admin\na-long-enough-token read-only"}) {
    const auto tokens = ParseTokensFile("# first\n" + line);
    ASSERT_FALSE(tokens.ok()) << line;
    EXPECT_TRUE(tokens.status().message().starts_with("line ")) << tokens.status().message();
    EXPECT_EQ(tokens.status().message().find("a-long"), std::string::npos);
  }
}

TEST(TokensFileTest, OthersMayNotReadIt) {
  std::string path = "/tmp/queen-tokens-test.XXXXXX";
  const int fd = mkstemp(path.data());
  ASSERT_GE(fd, 0);
  close(fd);
  std::ofstream(path) << "a-long-enough-token admin\n";
  for (const auto& [mode, fine] : {std::pair{0600, true},
                                   {0640, true},
                                   {0400, true},
                                   {0644, false},
                                   {0660, false},
                                   {0602, false}}) {
    ASSERT_EQ(chmod(path.c_str(), static_cast<mode_t>(mode)), 0);
    EXPECT_EQ(ReadTokensFile(path).ok(), fine) << std::oct << mode;
  }
  unlink(path.c_str());
  EXPECT_FALSE(ReadTokensFile(path).ok());
}

}  // namespace
}  // namespace queen::auth
