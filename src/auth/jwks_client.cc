#include "auth/jwks_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include "auth/jwks.h"
#include "base/clock.h"
#include "base/log.h"

namespace queen::auth {
namespace {

constexpr int64_t kRetryMs = 5'000;  // after a failure

size_t Collect(char* data, size_t size, size_t count, void* user) {
  auto& body = *static_cast<std::string*>(user);
  if (body.size() + size * count > JwksClient::kBytesMax) return 0;
  body.append(data, size * count);
  return size * count;
}

}  // namespace

JwksClient::JwksClient(JwksOptions options, KeyRing& keys)
    : options_(std::move(options)), keys_(keys) {}

JwksClient::~JwksClient() { Stop(); }

void JwksClient::Start() {
  thread_ = std::thread([this] { Run(); });
}

void JwksClient::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void JwksClient::Wish() {
  {
    const std::lock_guard lock(mutex_);
    if (wished_) return;
    wished_ = true;
  }
  changed_.notify_all();
}

void JwksClient::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wished_ = false;
    lock.unlock();
    FetchOnce();
    lock.lock();
    changed_.wait_for(lock, std::chrono::milliseconds(kPauseMs), [this] { return stopping_; });
    changed_.wait_for(lock, std::chrono::milliseconds(options_.interval_ms),
                      [this] { return stopping_ || wished_; });
  }
}

void JwksClient::FetchOnce() {
  const int64_t begun_ms = SteadyMillis();
  const Result<std::string> text = Get();
  Status problem = text.ok() ? Status::Ok() : text.status();
  if (text.ok()) {
    Result<std::vector<VerifyKey>> keys = ParseJwks(*text);
    if (keys.ok()) return keys_.Replace(*std::move(keys), begun_ms);
    problem = keys.status();
  }
  std::unique_lock lock(mutex_);
  if (stopping_) return;
  log::WarnRarely("the keys of the issuer (JWT_JWKS_URL) could not be fetched",
                  {{"url", options_.url}, {"error", problem.message()}});
  changed_.wait_for(lock, std::chrono::milliseconds(kRetryMs - kPauseMs),
                    [this] { return stopping_; });
  wished_ = true;
}

Result<std::string> JwksClient::Get() const {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy(curl_easy_init(),
                                                                 &curl_easy_cleanup);
  std::string body;
  std::array<char, CURL_ERROR_SIZE> problem{};
  const auto give_up = [](void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const auto& client = *static_cast<const JwksClient*>(user);
    const std::lock_guard lock(client.mutex_);
    return client.stopping_ ? 1 : 0;
  };
  curl_easy_setopt(easy.get(), CURLOPT_URL, options_.url.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_PROTOCOLS_STR, "https");
  if (!options_.certificates.empty()) {
    curl_easy_setopt(easy.get(), CURLOPT_CAINFO, options_.certificates.c_str());
  }
  curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(options_.timeout_ms));
  curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, problem.data());
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, Collect);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, &body);
  curl_easy_setopt(easy.get(), CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy.get(), CURLOPT_XFERINFOFUNCTION,
                   static_cast<curl_xferinfo_callback>(give_up));
  curl_easy_setopt(easy.get(), CURLOPT_XFERINFODATA, this);
  const CURLcode code = curl_easy_perform(easy.get());
  if (code != CURLE_OK) {
    return Status(Code::kOverloaded,
                  problem[0] != '\0' ? problem.data() : curl_easy_strerror(code));
  }
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) return Status(Code::kOverloaded, fmt::format("it answered {}", status));
  return body;
}

}  // namespace queen::auth
