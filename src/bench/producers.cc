#include "bench/producers.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/client.h"
#include "bench/push_request.h"
#include "bench/replies.h"
#include "loop/timer.h"

namespace queen::bench {
namespace {

constexpr int64_t kRetryMs = 200;
constexpr int kCreated = 201;

}  // namespace

class Producers::Producer final : public Client::Listener {
 public:
  Producer(Producers& all, uint32_t id)
      : all_(all),
        id_(id),
        request_(all.workload_.run.target(), {.queue = all.workload_.queue,
                                              .batch = all.shape_.batch,
                                              .payload_bytes = all.shape_.payload_bytes,
                                              .transaction_ids = all.shape_.transaction_ids}),
        partitions_(request_.size()),
        client_(all.workload_.run.loop(), all.workload_.run.target(), *this),
        retry_(all.workload_.run.loop(), [this] { client_.Send(request_.bytes()); }) {}

  Client& client() { return client_; }

  // Sends the next push, if one is due; else joins the free ones and returns false.
  bool Next() {
    const auto due = all_.source_ == nullptr ? std::nullopt : all_.source_->Next();
    if (!due) {
      all_.free_.push_back(this);
      return false;
    }
    ++all_.busy_;
    due_us_ = *due;
    tries_ = 1;
    Prepare();
    client_.Send(request_.bytes());
    return true;
  }

  void GiveUpRetry() {
    if (!retry_.IsActive()) return;
    retry_.Stop();
    End();
  }

  void OnReply(const Reply& reply) override {
    const std::string problem = Check(reply);
    if (problem.empty()) {
      Confirm(reply);
      End();
      return;
    }
    all_.workload_.run.errors().Add(problem);
    if (all_.source_ == nullptr) {
      End();
      return;
    }
    ++tries_;
    retry_.Start(kRetryMs);
  }

 private:
  void Prepare() {
    const auto spread = static_cast<size_t>(all_.shape_.partitions_per_push);
    const size_t items = request_.size();
    size_t run = 0;  // items of this partition done so far are those before this run's end
    for (size_t part = 0; part < spread; ++part) {
      const uint32_t partition = all_.NextPartition();
      const size_t end = (part + 1) * items / spread;
      for (; run < end; ++run) {
        partitions_[run] = partition;
        const uint32_t seq = all_.workload_.ledger.Send(id_, partition);
        request_.Set(run,
                     {.run = all_.workload_.run.id(),
                      .producer = id_,
                      .partition = partition,
                      .seq = seq,
                      .sent_us = due_us_},
                     all_.workload_.ids.Next());
      }
    }
  }

  // What is wrong with the reply, or "".
  std::string Check(const Reply& reply) const {
    if (reply.status != kCreated) return "push: " + reply.Describe();
    const Result<PushOutcome> outcome = ReadPushReply(reply.body);
    if (!outcome.ok()) return "push: " + outcome.status().message();
    if (outcome->failed > 0) return "push: an item failed: " + outcome->first_error;
    if (outcome->items() != request_.size()) {
      return fmt::format("push: {} items are answered with {}", request_.size(), outcome->items());
    }
    if (outcome->duplicate > 0 && tries_ == 1) return "push: a new message is called a duplicate";
    return "";
  }

  void Confirm(const Reply& reply) {
    for (const uint32_t partition : partitions_) {
      all_.workload_.ledger.Confirm(id_, partition, 1);
    }
    all_.workload_.run.Moved();
    all_.stats_->Record(request_.size(), 1, reply.done_us - due_us_);
  }

  void End() {
    --all_.busy_;
    Next();
  }

  Producers& all_;
  const uint32_t id_;
  PushRequest request_;
  std::vector<uint32_t> partitions_;  // of the items in flight
  int64_t due_us_ = 0;
  int tries_ = 0;
  Client client_;
  Timer retry_;
};

Producers::Producers(Workload& workload, const Shape& shape) : workload_(workload), shape_(shape) {
  for (int64_t i = 0; i < shape.connections; ++i) {
    producers_.push_back(std::make_unique<Producer>(*this, static_cast<uint32_t>(i)));
    free_.push_back(producers_.back().get());
  }
}

Producers::~Producers() = default;

bool Producers::Open() {
  for (const auto& producer : producers_) producer->client().Open();
  return workload_.run.Until([this] {
    return std::ranges::all_of(producers_, [](const auto& producer) {
      producer->client().Open();
      return producer->client().open();
    });
  });
}

void Producers::Start(Source& source, Stats& stats) {
  source_ = &source;
  stats_ = &stats;
  Kick();
}

void Producers::Kick() {
  for (bool due = true; due && !free_.empty();) {
    Producer* const longest_free = free_.front();
    free_.pop_front();
    due = longest_free->Next();
  }
}

void Producers::Stop() {
  source_ = nullptr;
  for (const auto& producer : producers_) producer->GiveUpRetry();
}

uint32_t Producers::NextPartition() {
  return static_cast<uint32_t>(cursor_++ % static_cast<uint64_t>(shape_.partitions));
}

}  // namespace queen::bench
