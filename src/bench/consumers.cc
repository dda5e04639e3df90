#include "bench/consumers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "bench/client.h"
#include "bench/replies.h"
#include "loop/timer.h"

namespace queen::bench {
namespace {

constexpr int64_t kRetryMs = 200;
constexpr int kOk = 200;
constexpr int kNoContent = 204;
// Of a sweep for what should not be there.
constexpr int kSweepsMax = 100;
constexpr const char* kAckPath = "/api/v1/ack/batch";

}  // namespace

void Consumers::Meters::Reset() {
  cycle.Reset();
  pop.Reset();
  ack.Reset();
  delivery.Reset();
}

class Consumers::Consumer final : public Client::Listener {
 public:
  Consumer(Consumers& all, int64_t group)
      : all_(all),
        group_(group),
        pop_request_(all.workload_.run.target().GetHead(all.PopPath(group, true))),
        client_(all.workload_.run.loop(), all.workload_.run.target(), *this),
        retry_(all.workload_.run.loop(), [this] { Next(); }) {
    if (all.shape_.groups > 1) group_json_ = fmt::format("\"g{}\"", group);
  }

  Client& client() { return client_; }

  void Start() {
    ++all_.busy_;
    step_ = Step::kPop;
    Next();
  }

  void OnReply(const Reply& reply) override {
    if (step_ == Step::kPop) {
      OnPop(reply);
    } else {
      OnAck(reply);
    }
  }

 private:
  enum class Step { kNone, kPop, kAck };

  void Next() {
    if (!all_.running_ || all_.pops_left_ == 0) {
      End();
      return;
    }
    step_ = Step::kPop;
    client_.Send(pop_request_);
  }

  void End() {
    if (step_ == Step::kNone) return;
    step_ = Step::kNone;
    --all_.busy_;
  }

  void OnPop(const Reply& reply) {
    if (reply.status == kNoContent) {
      Next();
      return;
    }
    if (reply.status != kOk) {
      Fail("pop: " + reply.Describe());
      return;
    }
    if (const Status read = ReadPopReply(reply.body, messages_); !read.ok()) {
      Fail("pop: " + read.message());
      return;
    }
    if (messages_.empty()) {
      Fail("pop: a 200 without messages");
      return;
    }
    if (all_.pops_left_ > 0) --all_.pops_left_;
    pop_reply_ = {reply.status, {}, reply.sent_us, reply.done_us};
    all_.meters_.pop.Record(messages_.size(), 1, reply.micros());
    all_.Receive(group_, messages_);
    WriteAckBody(messages_, group_json_, ack_body_);
    ack_head_ = all_.workload_.run.target().PostHead(kAckPath, ack_body_.size());
    step_ = Step::kAck;
    ++all_.acking_;
    client_.Send(ack_head_, ack_body_);
  }

  void OnAck(const Reply& reply) {
    --all_.acking_;
    if (reply.status != kOk) {
      Fail("ack: " + reply.Describe());
      return;
    }
    const Result<AckOutcome> outcome = ReadAckReply(reply.body);
    if (!outcome.ok()) {
      Fail("ack: " + outcome.status().message());
      return;
    }
    if (outcome->failed > 0) {
      all_.workload_.run.errors().Add("ack: " + outcome->first_error, outcome->failed);
    }
    if (outcome->succeeded + outcome->failed != messages_.size()) {
      all_.workload_.run.errors().Add("ack: the reply has another number of items");
    }
    all_.workload_.run.Moved();
    all_.meters_.ack.Record(outcome->succeeded, 1, reply.micros());
    all_.meters_.cycle.Record(outcome->succeeded, 2, reply.done_us - pop_reply_.sent_us);
    Next();
  }

  void Fail(const std::string& problem) {
    all_.workload_.run.errors().Add(problem);
    step_ = Step::kPop;
    retry_.Start(kRetryMs);
  }

  Consumers& all_;
  const int64_t group_;
  const std::string pop_request_;
  std::string group_json_;  // "" = none
  Step step_ = Step::kNone;
  Reply pop_reply_;                  // the times of the last one with messages
  std::vector<Delivered> messages_;  // slices of a reply that is gone once the ack is written
  std::string ack_head_;
  std::string ack_body_;
  Client client_;
  Timer retry_;
};

Consumers::Consumers(Workload& workload, const Shape& shape) : workload_(workload), shape_(shape) {
  for (int64_t i = 0; i < shape.connections; ++i) {
    consumers_.push_back(std::make_unique<Consumer>(*this, i % shape.groups));
  }
}

Consumers::~Consumers() = default;

bool Consumers::Open() {
  return workload_.run.Until([this] {
    return std::ranges::all_of(consumers_, [](const auto& consumer) {
      consumer->client().Open();
      return consumer->client().open();
    });
  });
}

void Consumers::Start(uint64_t pops) {
  running_ = true;
  pops_left_ = pops;
  for (const auto& consumer : consumers_) consumer->Start();
}

std::string Consumers::PopPath(int64_t group, bool wait) const {
  std::string path =
      fmt::format("/api/v1/pop/queue/{}?batch={}", PercentEncode(workload_.queue), shape_.batch);
  if (shape_.partitions_per_pop > 1)
    path += fmt::format("&partitions={}", shape_.partitions_per_pop);
  if (shape_.groups > 1) path += fmt::format("&consumerGroup=g{}", group);
  if (wait) path += fmt::format("&wait=true&timeout={}", shape_.wait_ms);
  return path;
}

void Consumers::Receive(int64_t group, const std::vector<Delivered>& messages) {
  const int64_t now = SteadyMicros();
  for (const Delivered& message : messages) {
    const auto stamp = ReadStamp(message.payload);
    if (!stamp) {
      workload_.ledger.ReceiveForeign();
    } else if (workload_.ledger.Receive(static_cast<uint32_t>(group), *stamp)) {
      meters_.delivery.Record(1, 0, now - stamp->sent_us);
    }
  }
  if (on_receipt_) on_receipt_();
}

void Consumers::SweepExtras() {
  Run& run = workload_.run;
  std::vector<Delivered> messages;
  for (int64_t group = 0; group < shape_.groups; ++group) {
    const std::string head = run.target().GetHead(PopPath(group, false) + "&autoAck=true");
    for (int sweep = 0; sweep < kSweepsMax; ++sweep) {
      const Run::Answer answer = run.Call(head);
      if (answer.status == kNoContent) break;
      if (answer.status != kOk || !ReadPopReply(answer.body, messages).ok()) {
        run.errors().Add(Reply{.status = answer.status, .body = answer.body}.Describe());
        break;
      }
      Receive(group, messages);
    }
  }
}

}  // namespace queen::bench
