// Random numbers. Ids come from the operating system's generator; jitter and tests from a seeded
// one, so that a test can print its seed and be replayed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace queen {

// Fills `out` with bytes from the operating system; aborts if it has none to give.
void SecureRandomBytes(void* out, size_t size);

// A fast generator seeded from the operating system, one per thread.
std::mt19937_64& ThreadRandom();

// A number in [low, high], inclusive. REQUIRES: low <= high
int64_t RandomBetween(std::mt19937_64& random, int64_t low, int64_t high);

}  // namespace queen
