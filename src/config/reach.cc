#include "config/reach.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <string>

#include "base/comma_list.h"

namespace queen::config {
namespace {

bool IsThisMachine(std::string host) {
  if (host == "localhost") return true;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) {
    return (ntohl(four.s_addr) >> 24) == IN_LOOPBACKNET;
  }
  in6_addr six{};
  if (inet_pton(AF_INET6, host.c_str(), &six) != 1) return false;
  return IN6_IS_ADDR_LOOPBACK(&six) ||
         (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == IN_LOOPBACKNET);
}

}  // namespace

bool IsReachedFromElsewhere(std::string_view hosts) {
  return !std::ranges::all_of(SplitCommaList(hosts), IsThisMachine);
}

}  // namespace queen::config
