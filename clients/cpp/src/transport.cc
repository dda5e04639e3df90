#include "transport.h"

#include <curl/curl.h>

#include <cctype>
#include <charconv>
#include <string_view>

namespace queen::client {
namespace {

constexpr size_t kIdleConnectionsMax = 16;

// curl_global_init is to be called once, before any other thread uses the library.
void InitOnce() {
  [[maybe_unused]] static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
}

class Headers {
 public:
  ~Headers() { curl_slist_free_all(list_); }
  void Add(const std::string& line) { list_ = curl_slist_append(list_, line.c_str()); }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

// The value of a header line if it begins with `name` ("date:"), in any case of letters.
std::optional<std::string_view> ValueOf(std::string_view line, std::string_view name) {
  if (line.size() < name.size()) return std::nullopt;
  for (size_t i = 0; i < name.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(line[i])) != name[i]) return std::nullopt;
  }
  line.remove_prefix(name.size());
  while (line.starts_with(' ')) line.remove_prefix(1);
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Delivery DeliveryOf(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return Delivery::kAnswered;
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return Delivery::kNotSent;
    default:
      return Delivery::kLost;
  }
}

}  // namespace

// One request at a time. The multi handle keeps the TCP connections and can be woken.
class Transport::Connection {
 public:
  Connection() : multi_(curl_multi_init()), easy_(curl_easy_init()) {}
  ~Connection() {
    curl_easy_cleanup(easy_);
    curl_multi_cleanup(multi_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  HttpExchange Perform(const HttpRequest& request, const std::string& token,
                       std::chrono::milliseconds connect_timeout, const TransportTls& tls,
                       const std::stop_token& stop) {
    exchange_ = {};
    begun_ = false;
    error_text_[0] = '\0';
    Headers headers;
    headers.Add("Content-Type: application/json");
    headers.Add("Expect:");  // without it a large body waits for a "100 Continue"
    if (!token.empty()) headers.Add("Authorization: Bearer " + token);
    SetUp(request, headers, connect_timeout);
    SetUpTls(tls);
    curl_multi_add_handle(multi_, easy_);
    const CURLcode code = RunUntilDone(stop);
    curl_multi_remove_handle(multi_, easy_);
    curl_easy_reset(easy_);
    if (exchange_.delivery == Delivery::kStopped) return std::move(exchange_);
    exchange_.delivery = DeliveryOf(code);
    if (code != CURLE_OK) {
      exchange_.fault = error_text_[0] != '\0' ? error_text_ : curl_easy_strerror(code);
    }
    return std::move(exchange_);
  }

 private:
  void SetUp(const HttpRequest& request, const Headers& headers,
             std::chrono::milliseconds connect_timeout) {
    curl_easy_setopt(easy_, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(easy_, CURLOPT_PATH_AS_IS, 1L);  // "." and ".." are names like others
    curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy_, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_text_);
    curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connect_timeout.count()));
    curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
    if (request.method != "GET") {
      curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request.body.size()));
      curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, request.body.data());
    }
    curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &Connection::OnBody);
    curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &Connection::OnHeader);
    curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  }

  void SetUpTls(const TransportTls& tls) {
    if (!tls.ca_file.empty()) curl_easy_setopt(easy_, CURLOPT_CAINFO, tls.ca_file.c_str());
    if (!tls.certificate_file.empty()) {
      curl_easy_setopt(easy_, CURLOPT_SSLCERT, tls.certificate_file.c_str());
    }
    if (!tls.key_file.empty()) curl_easy_setopt(easy_, CURLOPT_SSLKEY, tls.key_file.c_str());
  }

  // How the transfer ended; exchange_.delivery is kStopped if it was `stop` that ended it.
  CURLcode RunUntilDone(const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] { curl_multi_wakeup(multi_); });
    for (;;) {
      int running = 0;
      curl_multi_perform(multi_, &running);
      int left = 0;
      while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        long status = 0;
        curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
        exchange_.status = static_cast<int>(status);
        return message->data.result;
      }
      if (stop.stop_requested() && !begun_) {
        exchange_.delivery = Delivery::kStopped;
        exchange_.fault = "stopped";
        return CURLE_ABORTED_BY_CALLBACK;
      }
      curl_multi_poll(multi_, nullptr, 0, 1'000, nullptr);
    }
  }

  static size_t OnBody(char* data, size_t size, size_t count, void* self) {
    auto* const connection = static_cast<Connection*>(self);
    connection->begun_ = true;
    connection->exchange_.body.append(data, size * count);
    return size * count;
  }

  static size_t OnHeader(char* data, size_t size, size_t count, void* self) {
    auto* const connection = static_cast<Connection*>(self);
    connection->begun_ = true;
    const std::string_view line(data, size * count);
    if (const auto date = ValueOf(line, "date:")) connection->exchange_.date = *date;
    if (const auto wait = ValueOf(line, "retry-after:")) {
      int seconds = 0;
      const auto [end, fault] = std::from_chars(wait->data(), wait->data() + wait->size(), seconds);
      if (fault == std::errc() && seconds >= 0) {
        connection->exchange_.retry_after = std::chrono::seconds(seconds);
      }
    }
    return size * count;
  }

  CURLM* multi_;
  CURL* easy_;
  HttpExchange exchange_;
  bool begun_ = false;  // a byte of the reply is here
  char error_text_[CURL_ERROR_SIZE] = {};
};

Transport::Transport(std::string token, std::chrono::milliseconds connect_timeout, TransportTls tls)
    : token_(std::move(token)), connect_timeout_(connect_timeout), tls_(std::move(tls)) {
  InitOnce();
}

Transport::~Transport() = default;

std::unique_ptr<Transport::Connection> Transport::Take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Connection>();
  auto connection = std::move(idle_.back());
  idle_.pop_back();
  return connection;
}

void Transport::PutBack(std::unique_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kIdleConnectionsMax) idle_.push_back(std::move(connection));
}

HttpExchange Transport::Send(const HttpRequest& request, const std::stop_token& stop) {
  if (stop.stop_requested()) return {Delivery::kStopped, 0, "", {}, "", "stopped"};
  auto connection = Take();
  HttpExchange exchange = connection->Perform(request, token_, connect_timeout_, tls_, stop);
  if (exchange.delivery == Delivery::kAnswered) PutBack(std::move(connection));
  return exchange;
}

}  // namespace queen::client
