#include "cluster/hmac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstdlib>

#include "base/log.h"

namespace queen::cluster {

Mac ComputeMac(std::string_view key, std::string_view data) {
  Mac mac{};
  // OpenSSL takes no null key, also when it is empty.
  const char* const bytes = key.empty() ? "" : key.data();
  const unsigned char* const made =
      HMAC(EVP_sha256(), bytes, static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(data.data()), data.size(),
           reinterpret_cast<unsigned char*>(mac.data()), nullptr);
  if (made == nullptr) {  // out of memory or broken
    log::Error("OpenSSL cannot compute HMAC-SHA256");
    std::abort();
  }
  return mac;
}

bool SameMac(const Mac& mac, std::string_view other) {
  return other.size() == mac.size() && CRYPTO_memcmp(mac.data(), other.data(), mac.size()) == 0;
}

}  // namespace queen::cluster
