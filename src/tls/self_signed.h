// A certificate that nobody has signed but its owner, for trying TLS out and for tests: clients
// must be told to trust the file itself.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace queen::tls {

struct SelfSignedOptions {
  std::string common_name = "queen";
  // DNS names and IP addresses that the certificate is for.
  std::vector<std::string> names = {"localhost", "127.0.0.1", "::1"};
  int days = 365;
};

struct PemPair {
  std::string certificate;
  std::string key;
};

// A new key (P-256) and a certificate for it.
Result<PemPair> MakeSelfSigned(const SelfSignedOptions& options);

struct PemFiles {
  std::string certificate;
  std::string key;  // only its owner may read it
};

// The pair in `directory`, made with it where one is missing, cannot be read or ends within a week.
Result<PemFiles> KeepSelfSigned(const std::string& directory, const SelfSignedOptions& options);

}  // namespace queen::tls
