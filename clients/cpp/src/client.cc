#include "queen/client.h"

#include <atomic>
#include <random>

#include "backoff.h"
#include "codec.h"
#include "queen/admin.h"
#include "transport.h"
#include "wait.h"

namespace queen::client {
namespace {

// A broker ends a long poll at its own time; so much later its silence is a lost reply.
constexpr std::chrono::milliseconds kPollGrace{10'000};

bool IsTemporary(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

ErrorKind KindOf(int status) {
  if (status == 400 || status == 413) return ErrorKind::kInvalidArgument;
  if (status == 401 || status == 403) return ErrorKind::kDenied;
  if (status == 404) return ErrorKind::kNotFound;
  if (IsTemporary(status)) return ErrorKind::kUnavailable;
  return ErrorKind::kRefused;
}

Error ErrorOf(const HttpExchange& exchange, const std::string& url) {
  switch (exchange.delivery) {
    case Delivery::kAnswered: {
      std::string text = TextField(exchange.body, "error");
      if (text.empty()) text = "HTTP status " + std::to_string(exchange.status);
      return {KindOf(exchange.status), std::move(text), TextField(exchange.body, "code"),
              exchange.status};
    }
    case Delivery::kNotSent:
      return {ErrorKind::kUnreachable, url + ": " + exchange.fault, "", 0};
    case Delivery::kLost:
      return {ErrorKind::kUnknownOutcome, url + ": " + exchange.fault, "", 0};
    case Delivery::kStopped:
      break;
  }
  return {ErrorKind::kStopped, "stopped", "", 0};
}

Error BadReply(const std::string& what) {
  return {ErrorKind::kBadReply, "the reply to a " + what + " is not one of a broker", "", 0};
}

Error Invalid(std::string why) { return {ErrorKind::kInvalidArgument, std::move(why), "", 0}; }

std::vector<std::string> WithoutSlashes(std::vector<std::string> urls) {
  for (std::string& url : urls) {
    while (url.ends_with('/')) url.pop_back();
  }
  return urls;
}

std::string PathOf(const PopRequest& request) {
  Path path(request.queue.empty() ? "/api/v1/pop" : "/api/v1/pop/queue");
  if (!request.queue.empty()) {
    path.Segment(request.queue);
    if (!request.partition.empty()) path.Segment("partition").Segment(request.partition);
  }
  path.Query("namespace", request.name_space).Query("task", request.task);
  path.Query("consumerGroup", request.group).Query("batch", request.batch);
  if (request.partitions != 1) path.Query("partitions", request.partitions);
  if (request.wait.count() > 0) path.Query("wait", "true").Query("timeout", request.wait.count());
  if (request.auto_ack) path.Query("autoAck", "true");
  path.Query("subscriptionMode", request.subscription_mode);
  path.Query("subscriptionFrom", request.subscription_from);
  if (request.lease_seconds > 0) path.Query("leaseTime", request.lease_seconds);
  return path.text();
}

}  // namespace

Transaction& Transaction::Push(NewMessage message) {
  pushes_.push_back(std::move(message));
  if (pushes_.back().transaction_id.empty()) pushes_.back().transaction_id = NewId();
  return *this;
}

Transaction& Transaction::Ack(const Message& message, Verdict verdict, std::string error) {
  acks_.push_back(Acknowledgment::Of(message, verdict, std::move(error)));
  return *this;
}

class Client::Impl {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)),
        urls_(WithoutSlashes(options_.urls)),
        transport_(options_.token, options_.connect_timeout,
                   {options_.ca_file, options_.certificate_file, options_.key_file}) {}

  Result<Reply> Send(const Call& call, const std::stop_token& stop) {
    if (urls_.empty()) return Invalid("no broker is named");
    Backoff backoff(options_.retry);
    bool maybe_done = false;  // a reply was lost
    for (int round = 1;; ++round) {
      HttpExchange last;
      for (size_t tried = 0; tried < urls_.size(); ++tried) {
        const size_t place = current_;
        last = transport_.Send({call.method, urls_[place] + call.path, call.body,
                                options_.request_timeout + call.wait},
                               stop);
        if (last.delivery == Delivery::kAnswered && last.status < 400) {
          return Reply{last.status, std::move(last.body), std::move(last.date)};
        }
        maybe_done = maybe_done || last.delivery == Delivery::kLost;
        if (!MayTryAgain(call, last)) return Final(last, urls_[place], maybe_done);
        size_t expected = place;
        current_.compare_exchange_strong(expected, (place + 1) % urls_.size());
      }
      const std::string url = urls_[(current_ + urls_.size() - 1) % urls_.size()];
      if (round >= options_.retry.rounds_max) return Final(last, url, maybe_done);
      if (options_.on_retry) options_.on_retry(ErrorOf(last, url));
      thread_local std::mt19937_64 random{std::random_device{}()};
      if (!SleepFor(backoff.Next(random, last.retry_after), stop)) {
        return Error{ErrorKind::kStopped, "stopped", "", 0};
      }
    }
  }

  std::string url() const { return urls_.empty() ? "" : urls_[current_]; }

 private:
  static bool MayTryAgain(const Call& call, const HttpExchange& exchange) {
    switch (exchange.delivery) {
      case Delivery::kNotSent:
        return true;
      case Delivery::kLost:
        return call.repeatable;
      case Delivery::kStopped:
        return false;
      case Delivery::kAnswered:
        return IsTemporary(exchange.status) && (call.repeatable || exchange.status == 429);
    }
    return false;
  }

  // The last error, unless an earlier try may have been done.
  static Error Final(const HttpExchange& last, const std::string& url, bool maybe_done) {
    Error error = ErrorOf(last, url);
    if (maybe_done &&
        (error.kind == ErrorKind::kUnreachable || error.kind == ErrorKind::kUnavailable)) {
      error.kind = ErrorKind::kUnknownOutcome;
    }
    return error;
  }

  const Options options_;
  const std::vector<std::string> urls_;
  Transport transport_;
  std::atomic<size_t> current_ = 0;  // the broker to ask first
};

Client::Client(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Client::~Client() = default;

Result<Reply> Client::Send(const Call& call, const std::stop_token& stop) {
  return impl_->Send(call, stop);
}

std::string Client::url() const { return impl_->url(); }

Result<std::vector<PushOutcome>> Client::Push(std::vector<NewMessage> messages,
                                              const std::stop_token& stop) {
  for (NewMessage& message : messages) {
    if (message.transaction_id.empty()) message.transaction_id = NewId();
    if (std::string problem = ProblemOf(message); !problem.empty()) return Invalid(problem);
  }
  const auto reply = Send({"POST", "/api/v1/push", EncodePush(messages)}, stop);
  if (!reply.ok()) return reply.error();
  auto outcomes = DecodePush(reply->body, messages.size());
  if (!outcomes) return BadReply("push");
  for (size_t i = 0; i < messages.size(); ++i) {
    (*outcomes)[i].transaction_id = messages[i].transaction_id;
  }
  return std::move(*outcomes);
}

Result<std::vector<Message>> Client::Pop(const PopRequest& request, const std::stop_token& stop) {
  const auto wait = request.wait.count() > 0 ? request.wait + kPollGrace : request.wait;
  const auto reply = Send({"GET", PathOf(request), "", wait}, stop);
  if (!reply.ok()) return reply.error();
  if (reply->status == 204) return std::vector<Message>();
  auto messages = DecodePop(reply->body);
  if (!messages) return BadReply("pop");
  return std::move(*messages);
}

Result<std::vector<AckOutcome>> Client::Ack(const std::vector<Acknowledgment>& acks,
                                            const std::stop_token& stop) {
  const auto reply = Send({"POST", "/api/v1/ack/batch", EncodeAcks(acks)}, stop);
  if (!reply.ok()) return reply.error();
  auto outcomes = DecodeAcks(reply->body, acks.size());
  if (!outcomes) return BadReply("batch of acknowledgments");
  return std::move(*outcomes);
}

Result<std::string> Client::ExtendLease(const std::string& lease_id, int seconds,
                                        const std::stop_token& stop) {
  const Path path = Path("/api/v1/lease").Segment(lease_id).Segment("extend");
  const std::string body = seconds > 0 ? R"({"seconds":)" + std::to_string(seconds) + "}" : "{}";
  const auto reply = Send({"POST", path.text(), body}, stop);
  if (!reply.ok()) return reply.error();
  return TextField(reply->body, "expiresAt");
}

Result<std::vector<PushOutcome>> Client::Commit(const Transaction& transaction,
                                                const std::stop_token& stop) {
  for (const NewMessage& message : transaction.pushes()) {
    if (std::string problem = ProblemOf(message); !problem.empty()) return Invalid(problem);
  }
  const auto reply = Send({"POST", "/api/v1/transaction", EncodeTransaction(transaction)}, stop);
  if (!reply.ok()) return reply.error();
  auto answer = DecodeTransaction(reply->body);
  if (!answer) return BadReply("transaction");
  if (!answer->success) {
    return Error{ErrorKind::kRefused, std::move(answer->error), "", reply->status};
  }
  return std::move(answer->pushes);
}

}  // namespace queen::client
