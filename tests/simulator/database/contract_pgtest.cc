// The simulated database is kept honest: the same random calls are made of it and of the real
// PostgreSQL with the real procedures, and both answer the same, cell by cell.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "simulator/database/testing/random_calls.h"

namespace queen::simulator {
namespace {

uint64_t Seed() {
  const char* given = std::getenv("QUEEN_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

TEST(Contract, BothAnswerTheSame) {
  constexpr int kCalls = 2'000;
  const uint64_t seed = Seed();
  fmt::print("QUEEN_TEST_SEED={}\n", seed);
  Twins twins(seed);
  RandomCalls calls(twins, seed);
  for (int i = 0; i < kCalls && !HasFailure(); ++i) calls.CallOne();
  EXPECT_FALSE(HasFailure()) << "replay it with QUEEN_TEST_SEED=" << seed;
  for (const auto& [name, count] : calls.counts()) fmt::print("{:5} {}\n", count, name);
  fmt::print("{:5} calls, {} refused by both\n", twins.calls(), twins.refused());
}

}  // namespace
}  // namespace queen::simulator
