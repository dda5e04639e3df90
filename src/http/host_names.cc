#include "http/host_names.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace queen::http {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool IsPort(std::string_view text) {
  return text.size() <= 5 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// The name of "name:port", in lower case and without the dot at the end that a full name may have.
std::string NameOf(std::string_view host) {
  const size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && IsPort(host.substr(colon + 1))) {
    host = host.substr(0, colon);
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  return Lower(host);
}

bool IsAddress(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  if (name.starts_with('[') && name.ends_with(']')) {
    return inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), bytes.data()) == 1;
  }
  return inet_pton(AF_INET, name.c_str(), bytes.data()) == 1;
}

}  // namespace

HostNames::HostNames(const std::vector<std::string>& names) {
  suffixes_.emplace_back(".localhost");
  for (const std::string& given : names) {
    std::string name = Lower(given);
    if (name.ends_with('.')) name.pop_back();
    if (name == "*") {
      any_ = true;
    } else if (name.starts_with('.')) {
      suffixes_.push_back(std::move(name));
    } else {
      names_.push_back(std::move(name));
    }
  }
}

bool HostNames::AreOurs(std::string_view host) const {
  if (any_) return true;
  const std::string name = NameOf(host);
  if (name.empty()) return false;
  if (IsAddress(name)) return true;
  if (name.find_first_of(".:[]") == std::string::npos) return true;
  if (std::ranges::find(names_, name) != names_.end()) return true;
  return std::ranges::any_of(suffixes_, [&](const std::string& suffix) {
    return name.size() > suffix.size() && name.ends_with(suffix);
  });
}

bool IsSameOrigin(std::string_view origin, std::string_view host) {
  const size_t at = origin.find("://");
  return at != std::string_view::npos && !host.empty() &&
         Lower(origin.substr(at + 3)) == Lower(host);
}

}  // namespace queen::http
