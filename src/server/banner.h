// What `queen serve` says on standard output to the person who has started it (LOG_FORMAT=text):
// one banner when it is ready, and one line when it has stopped. Programs read log lines instead.
#pragma once

#include <string>
#include <string_view>

namespace queen::server {

struct BannerFacts {
  std::string version;
  std::string url;
  std::string curl = "curl";  // with what it needs to trust the broker
  std::string data;           // where the messages are
  std::string psql;           // the command that shows them
};

// Ends with an empty line.
std::string MakeBanner(const BannerFacts& facts);

// The URL for somebody on this machine, when the broker listens on `hosts` (HOST).
std::string LocalUrl(std::string_view scheme, const std::string& hosts, int port);

}  // namespace queen::server
