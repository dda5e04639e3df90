#include "cli/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/json_reader.h"

namespace queen::cli {
namespace {

using client::ErrorKind;

constexpr int kQuickRounds = 2;
constexpr int kPatientRounds = 30;

int output_fault = 0;  // the errno of the first text that could not be printed

std::string ValueOf(const config::Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    if (comma > at) parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

ExitCode CodeOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUnreachable:
    case ErrorKind::kUnavailable:
    case ErrorKind::kUnknownOutcome:
      return kUnreachable;
    case ErrorKind::kNotFound:
      return kNothing;
    case ErrorKind::kDenied:
      return kDenied;
    case ErrorKind::kStopped:
      return kInterrupted;
    case ErrorKind::kInvalidArgument:
    case ErrorKind::kRefused:
    case ErrorKind::kBadReply:
      return kFailed;
  }
  return kFailed;
}

std::string TextOf(const client::Error& error) {
  if (error.kind == ErrorKind::kUnreachable) return "no broker answers: " + error.message;
  const bool unknown = error.http_status == 404 && error.message == "HTTP status 404";
  return unknown ? "the broker does not know this" : error.message;
}

std::string HintOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUnreachable:
      return "Is it running (`queen serve`)? Name another with --url or QUEEN_URL.";
    case ErrorKind::kUnavailable:
      return "The broker runs but cannot do this at the moment; `queen doctor` says more.";
    case ErrorKind::kUnknownOutcome:
      return "The connection was lost before the reply: it was done, or it was not.";
    case ErrorKind::kDenied:
      return "The token comes from QUEEN_TOKEN, QUEEN_TOKEN_FILE or --token-file.";
    case ErrorKind::kBadReply:
      return "Is there a broker at this address?";
    default:
      return "";
  }
}

}  // namespace

std::vector<Option> SharedOptionRows(SharedOptions& options) {
  return {
      {"--url", "URL", "the broker, or several with commas (QUEEN_URL; http://127.0.0.1:6632)",
       &options.url},
      {"--token-file",
       "FILE",
       "a file with the token (QUEEN_TOKEN_FILE; or QUEEN_TOKEN itself)",
       &options.token_file,
       {},
       Offer::kFile},
      {"--ca",
       "FILE",
       "with https: the certificates to trust (QUEEN_CA; those of the system)",
       &options.ca_file,
       {},
       Offer::kFile},
      {"--cert",
       "FILE",
       "with https: the certificate to show the broker (QUEEN_CERT)",
       &options.certificate_file,
       {},
       Offer::kFile},
      {"--key", "FILE", "the key of --cert (QUEEN_KEY)", &options.key_file, {}, Offer::kFile},
      {"-o,--output",
       "FORMAT",
       "table for people, json for scripts",
       &options.output,
       {"table", "json"}},
      {"--timeout", "SECONDS", "how long a reply may take (30)",
       NumberTarget{&options.timeout_seconds, 86'400}},
      {"--no-color", "", "no colours on a terminal either (NO_COLOR)", &options.no_colour},
  };
}

Session::Session(SharedOptions options, const config::Environment& environment)
    : options_(std::move(options)),
      environment_(environment),
      out_(stdout, !options_.no_colour && ValueOf(environment, "NO_COLOR").empty()) {
  const std::string url = options_.url.empty() ? ValueOf(environment, "QUEEN_URL") : options_.url;
  urls_ = SplitAtCommas(url.empty() ? "http://127.0.0.1:6632" : url);
  for (const std::string& one : urls_) {
    if (!one.starts_with("http://") && !one.starts_with("https://")) {
      problem_ = fmt::format("--url: \"{}\" does not begin with http:// or https://", one);
    }
  }
  const auto given_or = [&](std::string& given, std::string_view name) {
    if (given.empty()) given = ValueOf(environment, name);
  };
  given_or(options_.ca_file, "QUEEN_CA");
  given_or(options_.certificate_file, "QUEEN_CERT");
  given_or(options_.key_file, "QUEEN_KEY");
  token_ = ValueOf(environment, "QUEEN_TOKEN");
  const std::string file =
      options_.token_file.empty() ? ValueOf(environment, "QUEEN_TOKEN_FILE") : options_.token_file;
  if (!file.empty() && (token_.empty() || !options_.token_file.empty())) {
    std::ifstream stream(file);
    if (!std::getline(stream, token_)) problem_ = "cannot read a token from " + file;
  }
  while (!token_.empty() && isspace(static_cast<unsigned char>(token_.back())) != 0) {
    token_.pop_back();
  }
  if (std::ranges::any_of(token_, [](unsigned char c) { return c <= ' ' || c == 0x7F; })) {
    problem_ = "the token has a space, a line break or a control character in it";
  }
  client_ = std::make_unique<client::Client>(ClientOptions(kQuickRounds));
  admin_ = std::make_unique<client::Admin>(*client_);
}

Session::~Session() = default;

client::Options Session::ClientOptions(int rounds) const {
  client::Options options;
  options.urls = urls_;
  options.token = token_;
  options.ca_file = options_.ca_file;
  options.certificate_file = options_.certificate_file;
  options.key_file = options_.key_file;
  options.request_timeout = std::chrono::seconds(options_.timeout_seconds);
  options.retry.rounds_max = rounds;
  return options;
}

client::Client Session::NewClient(int64_t tries) const {
  return client::Client(ClientOptions(static_cast<int>(tries)));
}

client::Client Session::PatientClient() const {
  client::Options options = ClientOptions(kPatientRounds);
  options.on_retry = [said = std::make_shared<std::atomic_flag>()](const client::Error& error) {
    if (said->test_and_set()) return;
    Say(fmt::format("queen: {}; trying again for some minutes (Ctrl-C ends)\n", TextOf(error)));
  };
  return client::Client(std::move(options));
}

std::vector<client::Admin::Json> Session::FromEveryBroker(const std::string& path) const {
  std::vector<client::Admin::Json> replies;
  for (const std::string& url : urls_) {
    client::Options options = ClientOptions(1);
    options.urls = {url};
    client::Client one(options);
    replies.push_back(client::Admin(one).Get(path));
  }
  return replies;
}

std::string Session::url() const { return fmt::format("{}", fmt::join(urls_, ",")); }

int Session::Fail(const client::Error& error) const {
  Say(fmt::format("queen: {}\n", TextOf(error)));
  const std::string hint = HintOf(error.kind);
  if (!hint.empty()) Say(hint + "\n");
  return CodeOf(error.kind);
}

int Session::Fail(const std::string& why, ExitCode code) const {
  Say(fmt::format("queen: {}\n", why));
  return code;
}

int Session::Show(const client::Admin::Json& report, const Judge& show, const Judge& judge) const {
  if (!report.ok()) return Fail(report.error());
  const auto root = ParseJson(*report);
  if (!root.ok()) {
    return Fail({ErrorKind::kBadReply, "the reply is no JSON: " + root.status().message(), "", 0});
  }
  if (json()) Print(*report + "\n");
  const int code = judge ? judge(*root) : int{kDone};
  return json() || code != kDone ? code : show(*root);
}

int Session::ShowMeasured(bool refresh, const std::function<client::Admin::Json()>& ask,
                          const std::function<int(const JsonValue&)>& show) {
  if (refresh) {
    const auto refreshed = admin().RefreshStats();
    if (!refreshed.ok()) return Fail(refreshed.error());
  }
  return Show(ask(), show);
}

bool Session::Print(const std::string& text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written && output_fault == 0) output_fault = errno;
  return output_fault == 0;
}

int Session::Ended(int code) {
  if (output_fault == 0 || output_fault == EPIPE) return code;
  Say(fmt::format("queen: cannot write to standard output: {}\n", std::strerror(output_fault)));
  return code == kDone ? kFailed : code;
}

}  // namespace queen::cli
