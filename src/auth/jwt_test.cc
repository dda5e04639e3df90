// Tokens of an issuer: each algorithm with a token that openssl made, and what is refused.

#include "auth/jwt.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "auth/authority.h"
#include "auth/jwks.h"
#include "auth/test_tokens.h"
#include "base/base64.h"

namespace queen::auth {
namespace {

constexpr int64_t kNow = 1'800'000'000;  // the tokens are valid from 1'000'000'000 to 2'000'000'000

struct Example {
  std::string_view token;
  VerifyKey key;
};

std::vector<Example> Examples() {
  return {{kHs256Token, VerifyKey::OfSecret(std::string(kTestSecret))},
          {kRs256Token, *VerifyKey::OfPem(kRs256Pem)},
          {kEs256Token, *VerifyKey::OfPem(kEs256Pem)},
          {kEdDsaToken, *VerifyKey::OfPem(kEdDsaPem)}};
}

std::string Encode(std::string_view text) {
  std::string out;
  AppendBase64Url(out, text);
  return out;
}

// The token with another part in the place of its header (0), claims (1) or signature (2).
std::string WithPart(std::string_view token, size_t part, const std::string& other) {
  const size_t first = token.find('.');
  const size_t second = token.find('.', first + 1);
  std::array<std::string, 3> parts = {std::string(token.substr(0, first)),
                                      std::string(token.substr(first + 1, second - first - 1)),
                                      std::string(token.substr(second + 1))};
  parts[part] = other;
  return parts[0] + "." + parts[1] + "." + parts[2];
}

bool IsSigned(std::string_view token, const VerifyKey& key) {
  const Result<Jwt> jwt = ParseJwt(token);
  return jwt.ok() && jwt->algorithm == key.algorithm() &&
         key.Verify(jwt->signed_part, jwt->signature);
}

std::unique_ptr<Authority> MakeAuthority(AuthorityOptions options) {
  options.jwt = true;
  Result<std::unique_ptr<Authority>> authority = Authority::Make(options);
  EXPECT_TRUE(authority.ok()) << authority.status().message();
  return *std::move(authority);
}

std::string Refusal(Authority& authority, std::string_view token, int64_t now = kNow) {
  const auto verified = authority.Verify(token, HashToken(token), now);
  return verified.ok() ? "" : verified.status().message();
}

TEST(JwtTest, EachAlgorithmHasItsKey) {
  const std::vector<Example> examples = Examples();
  for (const Example& token : examples) {
    for (const Example& key : examples) {
      EXPECT_EQ(IsSigned(token.token, key.key), token.token == key.token)
          << AlgorithmName(key.key.algorithm());
    }
  }
}

TEST(JwtTest, KeysOfAPublishedSetDoTheSame) {
  const Result<std::vector<VerifyKey>> keys = ParseJwks(kTestJwks);
  ASSERT_TRUE(keys.ok()) << keys.status().message();
  ASSERT_EQ(keys->size(), 3U);
  EXPECT_EQ((*keys)[0].id(), "key-RS256");
  EXPECT_TRUE(IsSigned(kRs256Token, (*keys)[0]));
  EXPECT_TRUE(IsSigned(kEs256Token, (*keys)[1]));
  EXPECT_TRUE(IsSigned(kEdDsaToken, (*keys)[2]));
}

TEST(JwtTest, AChangeOfAnyPartIsSeen) {
  for (const auto& [token, key] : Examples()) {
    for (size_t i = 0; i < token.size(); i += 7) {
      std::string other(token);
      other[i] = other[i] == 'A' ? 'B' : 'A';
      if (other[i] == token[i]) continue;
      EXPECT_FALSE(IsSigned(other, key)) << AlgorithmName(key.algorithm()) << " at " << i;
    }
    EXPECT_FALSE(IsSigned(WithPart(token, 2, ""), key));
    EXPECT_FALSE(IsSigned(WithPart(token, 2, Encode(std::string(64, '\0'))), key));
    EXPECT_FALSE(IsSigned(WithPart(token, 1, Encode(R"({"role":"admin"})")), key));
  }
}

TEST(JwtTest, NoneAndWhatIsNotOursAreRefusedBeforeAnyKeyIsTried) {
  for (const std::string header :
       {R"({"alg":"none"})", R"({"alg":"None"})", R"({"alg":"NONE"})", R"({"alg":""})", R"({})",
        R"({"alg":null})", R"({"alg":["HS256"]})", R"({"alg":"HS384"})", R"({"alg":"hs256"})",
        R"({"alg":"PS256"})", R"({"alg":"HS256","crit":["exp"]})", R"({"alg":"HS256","kid":7})",
        R"([])", R"("HS256")", R"({"alg":"HS256")", "", "null"}) {
    EXPECT_FALSE(ParseJwt(WithPart(kHs256Token, 0, Encode(header))).ok()) << header;
    EXPECT_FALSE(ParseJwt(WithPart(WithPart(kHs256Token, 0, Encode(header)), 2, "")).ok())
        << header;
  }
}

// The public key is public: a token that was signed with it as if it were the secret of HS256.
TEST(JwtTest, APublicKeyIsNoSecret) {
  const auto authority = MakeAuthority({.public_key = std::string(kRs256Pem)});
  const std::string header = Encode(R"({"alg":"HS256","typ":"JWT"})");
  const VerifyKey forger = VerifyKey::OfSecret(std::string(kRs256Pem));
  const std::string token = WithPart(kRs256Token, 0, header);
  EXPECT_NE(Refusal(*authority, token), "");
  EXPECT_EQ(Refusal(*authority, kRs256Token), "");
  EXPECT_NE(Refusal(*authority, WithPart(kHs256Token, 0, header)), "");
  EXPECT_EQ(forger.algorithm(), Algorithm::kHs256);
}

TEST(JwtTest, TheOneAlgorithmOfTheSettingsIsTheOnlyOne) {
  const auto authority = MakeAuthority({.algorithm = Algorithm::kEs256,
                                        .secret = std::string(kTestSecret),
                                        .public_key = std::string(kEs256Pem)});
  EXPECT_EQ(Refusal(*authority, kEs256Token), "");
  EXPECT_EQ(Refusal(*authority, kHs256Token), "Invalid token: its algorithm is not accepted");
}

TEST(JwtTest, WhatIsNoTokenIsRefused) {
  const auto authority = MakeAuthority({.secret = std::string(kTestSecret)});
  const std::string token(kHs256Token);
  for (const std::string& other :
       {std::string(), std::string("."), std::string(".."), std::string("..."), std::string("a.b"),
        token + ".", "." + token, token + "=", " " + token, token + "\n",
        std::string(kTokenBytesMax + 1, 'a'), token.substr(0, token.rfind('.'))}) {
    EXPECT_NE(Refusal(*authority, other), "") << other;
  }
}

TEST(JwtTest, ATokenHasItsTimeItsIssuerAndItsAudience) {
  const auto with = [](ClaimRules rules) {
    return MakeAuthority({.secret = std::string(kTestSecret), .rules = std::move(rules)});
  };
  const auto any = with({});
  EXPECT_EQ(Refusal(*any, kHs256Token, 2'000'000'029), "");
  EXPECT_EQ(Refusal(*any, kHs256Token, 2'000'000'030), "The token has expired");
  EXPECT_EQ(Refusal(*any, kHs256Token, 999'999'970), "");
  EXPECT_EQ(Refusal(*any, kHs256Token, 999'999'969), "The token is not valid yet");
  EXPECT_EQ(Refusal(*with({.issuer = "https://issuer.example"}), kHs256Token), "");
  EXPECT_EQ(Refusal(*with({.issuer = "https://issuer.example/"}), kHs256Token),
            "The token is from another issuer");
  EXPECT_EQ(Refusal(*with({.audience = "other"}), kHs256Token), "");
  EXPECT_EQ(Refusal(*with({.audience = "quee"}), kHs256Token), "The token is for another audience");
}

TEST(JwtTest, ClaimsMakeAnIdentity) {
  const auto authority = MakeAuthority({.secret = std::string(kTestSecret)});
  const auto verified = authority->Verify(kHs256Token, HashToken(kHs256Token), kNow);
  ASSERT_TRUE(verified.ok());
  const Identity& who = **verified;
  EXPECT_EQ(who.subject, "worker-1");
  EXPECT_EQ(who.role, Role::kReadWrite);
  EXPECT_EQ(who.source, Identity::Source::kJwt);
  EXPECT_EQ(who.queues.push, std::vector<std::string>({"orders.*"}));
  EXPECT_EQ(who.queues.pop, std::vector<std::string>({"orders.*", "mail"}));
  EXPECT_TRUE(who.queues.limited);
  EXPECT_EQ(who.until_seconds, 2'000'000'030);
}

TEST(ClaimsTest, RolesStandUnderEitherName) {
  const auto role = [](std::string_view claims) {
    const Result<Claims> read = ReadClaims(claims, {});
    return read.ok() ? std::string(RoleName(HighestRole(read->roles, {}))) : "refused";
  };
  EXPECT_EQ(role(R"({"role":"admin"})"), "admin");
  EXPECT_EQ(role(R"({"roles":["read-only","read-write"]})"), "read-write");
  EXPECT_EQ(role(R"({"role":"read-only","roles":["x"]})"), "read-only");
  EXPECT_EQ(role(R"({"role":["admin"]})"), "admin");
  EXPECT_EQ(role(R"({"role":"Admin"})"), "none");
  EXPECT_EQ(role(R"({})"), "none");
  EXPECT_EQ(role(R"({"role":null,"roles":null})"), "none");
  EXPECT_EQ(role(R"({"role":1})"), "refused");
  EXPECT_EQ(role(R"({"roles":[1]})"), "refused");
  EXPECT_EQ(role(R"({"roles":{"admin":true}})"), "refused");
}

TEST(ClaimsTest, WhatHasTheWrongFormIsNotTakenForAbsent) {
  for (const std::string_view claims :
       {R"([])", R"(7)", "", R"({"exp":"1"})", R"({"exp":null})", R"({"exp":1e999})",
        R"({"nbf":true})", R"({"iss":1})", R"({"aud":1})", R"({"aud":[1]})", R"({"sub":1})",
        R"({"sub":"a\u0000b"})", R"({"sub":"a\nb"})", R"({"queen":[]})", R"({"queen":"*"})",
        R"({"queen":{"push":"*"}})", R"({"queen":{"push":[1]}})", R"({"queen":{"pull":["*"]}})"}) {
    EXPECT_FALSE(ReadClaims(claims, {}).ok()) << claims;
  }
}

TEST(ClaimsTest, LimitsAreReadAsTheyAreWritten) {
  const QueueLimits limits{.limited = true, .push = {"a.*"}, .pop = {}, .admin = {"b", "\"c\""}};
  for (const QueueLimits& one : {limits, QueueLimits()}) {
    const std::string claims = R"({"queen":)" + WriteQueueLimits(one) + "}";
    const Result<Claims> read = ReadClaims(claims, {});
    ASSERT_TRUE(read.ok()) << claims;
    EXPECT_EQ(read->queues, one) << claims;
  }
}

TEST(JwksTest, OnlyKeysForOurSignaturesCount) {
  constexpr std::string_view kForEncryption =
      R"({"keys":[{"kty":"OKP","crv":"Ed25519","use":"enc",)"
      R"("x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]})";
  constexpr std::string_view kOfAnotherAlgorithm =
      R"({"keys":[{"kty":"OKP","crv":"Ed25519","alg":"RS256",)"
      R"("x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]})";
  for (const std::string_view text : std::initializer_list<std::string_view>{
           "", "[]", "{}", R"({"keys":7})", R"({"keys":[]})", R"({"keys":[7,null,"x",{}]})",
           R"({"keys":[{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ"}]})",
           R"({"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]})",
           R"({"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]})",
           R"({"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"}]})", kForEncryption,
           kOfAnotherAlgorithm}) {
    EXPECT_FALSE(ParseJwks(text).ok()) << text;
  }
}

// RFC 8037, appendix A.4.
TEST(JwksTest, TheExampleOfTheRfc) {
  const auto keys = ParseJwks(R"({"keys":[{"kty":"OKP","crv":"Ed25519",)"
                              R"("x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]})");
  ASSERT_TRUE(keys.ok());
  EXPECT_TRUE(
      IsSigned("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCj"
               "P0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
               (*keys)[0]));
}

}  // namespace
}  // namespace queen::auth
