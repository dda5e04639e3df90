// OtlpClient: posts one body after the other to one URL, on one thread (libcurl only here). It
// keeps its connection, follows no redirects and reads nothing of a reply but its head.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace queen::observe {

class OtlpClient {
 public:
  struct Answer {
    int status = 0;       // 0: none came
    std::string problem;  // why
    int64_t retry_after_ms = 0;

    bool ok() const { return status >= 200 && status < 300; }
    // Whether the same may be sent again, as OTLP says.
    bool retryable() const {
      return status == 0 || status == 429 || status == 502 || status == 503 || status == 504;
    }
  };

  // `certificates` is a file of those to trust, "" = the system's.
  OtlpClient(const std::string& url,
             const std::vector<std::pair<std::string, std::string>>& headers,
             const std::string& certificates);
  ~OtlpClient();
  OtlpClient(const OtlpClient&) = delete;
  OtlpClient& operator=(const OtlpClient&) = delete;

  // Within `timeout_ms`. `give_up` is asked about every second, and ends it.
  Answer Post(const std::string& body, int64_t timeout_ms, const std::function<bool()>& give_up);

 private:
  struct Handles;
  std::unique_ptr<Handles> handles_;
};

}  // namespace queen::observe
