#include "observe/otlp_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <array>

#include "config/version.h"

namespace queen::observe {
namespace {

size_t Discard(char* /*data*/, size_t size, size_t count, void* /*user*/) { return size * count; }

int AskToGiveUp(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return (*static_cast<const std::function<bool()>*>(user))() ? 1 : 0;
}

}  // namespace

struct OtlpClient::Handles {
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
};

OtlpClient::OtlpClient(const std::string& url,
                       const std::vector<std::pair<std::string, std::string>>& headers,
                       const std::string& certificates)
    : handles_(std::make_unique<Handles>()) {
  handles_->easy = curl_easy_init();
  CURL* const easy = handles_->easy;
  const auto add = [this](const std::string& line) {
    handles_->headers = curl_slist_append(handles_->headers, line.c_str());
  };
  add("Content-Type: application/json");
  add("Expect:");  // a large body is not announced first
  add(fmt::format("User-Agent: queen/{}", config::Version()));
  for (const auto& [name, value] : headers) add(fmt::format("{}: {}", name, value));
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  if (!certificates.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, certificates.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, handles_->headers);
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);  // a name server that hangs is not waited for
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, Discard);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, AskToGiveUp);
}

OtlpClient::~OtlpClient() {
  curl_easy_cleanup(handles_->easy);
  curl_slist_free_all(handles_->headers);
}

OtlpClient::Answer OtlpClient::Post(const std::string& body, int64_t timeout_ms,
                                    const std::function<bool()>& give_up) {
  CURL* const easy = handles_->easy;
  std::array<char, CURL_ERROR_SIZE> problem{};
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, problem.data());
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_ms));
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &give_up);
  const CURLcode code = curl_easy_perform(easy);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, nullptr);
  Answer answer;
  if (code != CURLE_OK) {
    answer.problem = problem[0] != '\0' ? problem.data() : curl_easy_strerror(code);
    return answer;
  }
  long status = 0;
  curl_off_t retry_after_seconds = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &retry_after_seconds);
  answer.status = static_cast<int>(status);
  answer.retry_after_ms = retry_after_seconds * 1'000;
  return answer;
}

}  // namespace queen::observe
