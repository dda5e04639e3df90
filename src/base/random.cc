#include "base/random.h"

#include <sys/random.h>

#include <cassert>
#include <cerrno>
#include <cstdlib>

namespace queen {

void SecureRandomBytes(void* out, size_t size) {
  auto* bytes = static_cast<unsigned char*>(out);
  while (size > 0) {
    const ssize_t got = getrandom(bytes, size, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      std::abort();
    }
    bytes += got;
    size -= static_cast<size_t>(got);
  }
}

std::mt19937_64& ThreadRandom() {
  thread_local std::mt19937_64 random = [] {
    uint64_t seed = 0;
    SecureRandomBytes(&seed, sizeof seed);
    return std::mt19937_64(seed);
  }();
  return random;
}

int64_t RandomBetween(std::mt19937_64& random, int64_t low, int64_t high) {
  assert(low <= high);
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

}  // namespace queen
