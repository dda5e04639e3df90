// Fuzzes what strangers send in the Authorization header, and what an issuer or a file may hold.
// The first byte says which: a token, the claims of one, a set of keys, a file of tokens, a pattern
// and a name. Checked: nothing crashes, no token is accepted but those that were signed, and limits
// are read back as they are written.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "auth/authenticator.h"
#include "auth/jwks.h"
#include "auth/queue_pattern.h"
#include "auth/test_tokens.h"
#include "auth/tokens_file.h"
#include "base/json_reader.h"
#include "base/utf8.h"
#include "require.h"

namespace queen::auth {
namespace {

constexpr int64_t kNow = 1'800'000'000;

Authority& TestAuthority() {
  static const std::unique_ptr<Authority> authority =
      *Authority::Make({.jwt = true,
                        .secret = std::string(kTestSecret),
                        .public_key = std::string(kEs256Pem),
                        .stored_tokens = true});
  return *authority;
}

void TryToken(std::string_view header) {
  Authenticator authenticator(TestAuthority());
  const Result<IdentityRef> who = authenticator.Authenticate(header, kNow);
  if (!who.ok()) return;
  const bool known =
      header.find(kHs256Token) != header.npos || header.find(kEs256Token) != header.npos;
  Require(known, "only what was signed is accepted");
  Require(IsValidUtf8((*who)->subject), "a subject is text");
}

void TryClaims(std::string_view claims) {
  const Result<Claims> read = ReadClaims(claims, {});
  if (!read.ok()) return;
  Require(read->subject.size() <= kSubjectBytesMax && IsValidUtf8(read->subject),
          "a subject is a short text");
  const std::string written = WriteQueueLimits(read->queues);
  const Result<JsonValue> value = ParseJson(written);
  Require(value.ok(), "limits are written as JSON");
  const Result<QueueLimits> again = ReadQueueLimits(*value);
  Require(again.ok() && *again == read->queues, "limits are read as they are written");
  static_cast<void>(CheckClaims(*read, {.issuer = "i", .audience = "a", .skew_seconds = 30}, kNow));
}

void TryKeys(std::string_view text) {
  const Result<std::vector<VerifyKey>> keys = ParseJwks(text);
  if (!keys.ok()) return;
  Require(!keys->empty() && keys->size() <= kJwksKeysMax, "a set has keys, and not too many");
  for (const VerifyKey& key : *keys) {
    Require(key.algorithm() != Algorithm::kHs256, "no secret is published");
    Require(!key.Verify("text", "signature"), "nothing signs by chance");
  }
}

void TryFile(std::string_view text) {
  const Result<std::vector<StoredToken>> tokens = ParseTokensFile(text);
  if (!tokens.ok()) return;
  for (const StoredToken& token : *tokens) {
    Require(token.identity.role != Role::kAnybody, "every token of a file has a role");
  }
}

void TryPattern(std::string_view text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view pattern = text.substr(0, end);
  const std::string_view queue = text.substr(std::min(end + 1, text.size()));
  const bool matches = MatchesPattern(pattern, queue);
  if (pattern.find('*') == pattern.npos) Require(matches == (pattern == queue), "a name is itself");
  Require(MatchesPattern("*", queue), "a star is everything");
}

}  // namespace
}  // namespace queen::auth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace queen::auth;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 't':
      TryToken(text);
      break;
    case 'c':
      TryClaims(text);
      break;
    case 'k':
      TryKeys(text);
      break;
    case 'f':
      TryFile(text);
      break;
    case 'p':
      if (size < 2'000) TryPattern(text);
      break;
    default:
      TryToken(text);
      TryClaims(text);
      TryKeys(text);
      TryFile(text);
  }
  return 0;
}
