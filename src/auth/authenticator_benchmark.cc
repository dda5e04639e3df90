// What a token costs: remembered, which is every request of a client but its first, and verified.

#include <benchmark/benchmark.h>

#include <string>

#include "auth/authenticator.h"
#include "auth/test_tokens.h"

namespace queen::auth {
namespace {

constexpr int64_t kNow = 1'800'000'000;

std::unique_ptr<Authority> MakeAuthority(std::string_view pem) {
  return *Authority::Make(
      {.jwt = true, .secret = std::string(kTestSecret), .public_key = std::string(pem)});
}

void Remembered(benchmark::State& state, std::string_view token, std::string_view pem) {
  const auto authority = MakeAuthority(pem);
  Authenticator authenticator(*authority);
  const std::string header = "Bearer " + std::string(token);
  while (state.KeepRunning()) {
    benchmark::DoNotOptimize(authenticator.Authenticate(header, kNow));
  }
}

void Verified(benchmark::State& state, std::string_view token, std::string_view pem) {
  const auto authority = MakeAuthority(pem);
  const TokenHash hash = HashToken(token);
  while (state.KeepRunning()) benchmark::DoNotOptimize(authority->Verify(token, hash, kNow));
}

BENCHMARK_CAPTURE(Remembered, HS256, kHs256Token, kEs256Pem);
BENCHMARK_CAPTURE(Remembered, RS256, kRs256Token, kRs256Pem);
BENCHMARK_CAPTURE(Verified, HS256, kHs256Token, kEs256Pem);
BENCHMARK_CAPTURE(Verified, RS256, kRs256Token, kRs256Pem);
BENCHMARK_CAPTURE(Verified, ES256, kEs256Token, kEs256Pem);
BENCHMARK_CAPTURE(Verified, EdDSA, kEdDsaToken, kEdDsaPem);

}  // namespace
}  // namespace queen::auth

BENCHMARK_MAIN();
