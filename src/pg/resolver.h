// Resolver: host names to addresses without blocking the loop. libpq itself calls getaddrinfo on
// the thread that connects, so we hand it the addresses (keyword hostaddr) beside the names, which
// it still needs for TLS, the password file and messages. A name with several addresses becomes
// several candidates, tried in order.
//
// One Resolver resolves one list once, on libuv's thread pool. Destroying it forgets the question;
// the callback does not run any more. Socket directories and numeric addresses need no question.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_function.h"
#include "loop/loop.h"
#include "pg/connect_options.h"

namespace queen::pg {

struct Candidate {
  std::string host;
  std::string hostaddr;  // empty when libpq needs none: a socket directory, or the default
  std::string port;      // empty for the default

  bool operator==(const Candidate&) const = default;
};

// The hosts in `keywords` (or in the libpq environment), unresolved; empty when the keywords leave
// the address to libpq (a service file), which then must resolve it itself.
Result<std::vector<Candidate>> CandidatesOf(const Keywords& keywords);

// `keywords` with host, hostaddr and port replaced by the candidates.
Keywords WithCandidates(Keywords keywords, const std::vector<Candidate>& candidates);

class Resolver {
 public:
  using Done = UniqueFunction<void(Result<std::vector<Candidate>>)>;

  // `done` runs later on the loop, once, with at least one candidate or kDatabaseUnavailable. Names
  // that do not resolve are left out as long as another one does. It may destroy the Resolver.
  Resolver(Loop& loop, std::vector<Candidate> hosts, Done done);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace queen::pg
