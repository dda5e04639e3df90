// HostNames: under which names this broker is reached, as the Host header of a request says it. A
// web page of another site can make its own name lead to this machine (DNS rebinding) and then
// speak with the broker as if it were its own server; the name it must use gives it away.
//
// Ours are: addresses, because no page can make one lead elsewhere; names without a dot
// ("localhost", "queen", the name of a container), because nobody can register one; every name
// below "localhost"; the name of this machine; and what the operator names: "queen.example.org",
// ".example.org" for every name below it, "*" for any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace queen::http {

class HostNames {
 public:
  // `names` as the operator gives them, without ports.
  explicit HostNames(const std::vector<std::string>& names);

  // `host` is the value of a Host header: a name or an address, perhaps with a port.
  bool AreOurs(std::string_view host) const;

 private:
  std::vector<std::string> names_;     // in lower case, no dot at the end
  std::vector<std::string> suffixes_;  // ".example.org"
  bool any_ = false;
};

// Whether a page of `origin` ("https://host:port") was served under `host`, the Host header of its
// request.
bool IsSameOrigin(std::string_view origin, std::string_view host);

}  // namespace queen::http
