#include "server/banner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/comma_list.h"

namespace queen::server {

std::string MakeBanner(const BannerFacts& facts) {
  return fmt::format(
      "\nQueen {} is ready at {}\n"
      "  data  {}\n"
      "  push  {} -X POST {}/api/v1/push -d "
      "'{{\"items\":[{{\"queue\":\"hello\",\"payload\":{{\"text\":\"Hello, Queen\"}}}}]}}'\n"
      "  pop   {} '{}/api/v1/pop/queue/hello?autoAck=true'\n"
      "  psql  {}\n\n",
      facts.version, facts.url, facts.data, facts.curl, facts.url, facts.curl, facts.url,
      facts.psql);
}

std::string LocalUrl(std::string_view scheme, const std::string& hosts, int port) {
  constexpr std::array<std::string_view, 5> kReachedAsLocalhost = {"0.0.0.0", "::", "127.0.0.1",
                                                                   "::1", "localhost"};
  std::string first;
  for (const std::string& host : SplitCommaList(hosts)) {
    if (std::ranges::find(kReachedAsLocalhost, host) != kReachedAsLocalhost.end()) {
      return fmt::format("{}://localhost:{}", scheme, port);
    }
    if (first.empty()) first = host.find(':') == std::string::npos ? host : "[" + host + "]";
  }
  return fmt::format("{}://{}:{}", scheme, first, port);
}

}  // namespace queen::server
