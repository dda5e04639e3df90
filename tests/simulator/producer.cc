#include "simulator/producer.h"

#include <fmt/format.h>

#include "base/uuid.h"

namespace queen::simulator {

sidecar::PushRequest PushOf(const Truth& truth, const std::vector<int>& messages) {
  // Longer than what a string holds in itself, so that views stay good when it is moved.
  std::string body(64, ' ');
  struct Span {
    size_t from;
    size_t length;
  };
  std::vector<Span> spans;
  const auto add = [&](std::string_view text) {
    spans.push_back({body.size(), text.size()});
    body += text;
  };
  for (const int message : messages) {
    const PartitionName& partition =
        truth.partitions()[static_cast<size_t>(truth.PartitionOfMessage(message))];
    add(partition.queue);
    add(partition.name);
    add(std::to_string(message));
    add(truth.TxnOf(message));
  }
  sidecar::PushRequest request;
  request.body = std::move(body);
  const std::string_view text = request.body;
  for (size_t i = 0; i < spans.size(); i += 4) {
    const auto view = [&](size_t j) { return text.substr(spans[j].from, spans[j].length); };
    sidecar::PushItem item;
    item.queue = view(i);
    item.partition = view(i + 1);
    item.payload = view(i + 2);
    item.txn = view(i + 3);
    request.items.push_back(std::move(item));
  }
  return request;
}

void Producer::NextSoon() {
  const auto pause = static_cast<uint64_t>(world_.plan().push_micros);
  world_.time().After(static_cast<int64_t>(world_.Draw(pause)), [this] { Next(); });
}

int Producer::MakeOne() {
  Truth& truth = world_.truth();
  if (!used_.empty() && world_.OneIn(20)) {
    const int again = used_[world_.Draw(used_.size())];
    return truth.Make(truth.PartitionOfMessage(again), truth.TxnOf(again));
  }
  const auto partition = static_cast<int>(world_.Draw(truth.partitions().size()));
  std::string txn;
  switch (world_.Draw(4)) {
    case 0:
      break;
    case 1:
      txn = fmt::format("key-{}-{}", number_, ++keys_made_);
      break;
    default:
      txn = MakeUuidV7(world_.Now() / 1000).ToString();
  }
  const int message = truth.Make(partition, txn);
  if (!txn.empty()) {
    if (used_.size() < 64) {
      used_.push_back(message);
    } else {
      used_[world_.Draw(used_.size())] = message;
    }
  }
  return message;
}

void Producer::Next() {
  if (world_.draining()) return;
  std::vector<int> messages;
  const uint64_t count = world_.OneIn(4) ? 1 + world_.Draw(20) : 1 + world_.Draw(3);
  for (uint64_t i = 0; i < count; ++i) messages.push_back(MakeOne());
  Send(std::move(messages), 0);
}

void Producer::Send(std::vector<int> messages, int repeats) {
  for (const int message : messages) world_.truth().OnPushSent(message);
  const int64_t sent_at = world_.Now();
  sidecar::PushRequest request = PushOf(world_.truth(), messages);
  world_.wire().Push(world_.AnyAddress(), std::move(request),
                     [this, messages = std::move(messages), sent_at, repeats](auto answer) {
                       OnAnswer(messages, sent_at, repeats, std::move(answer));
                     });
}

void Producer::OnAnswer(const std::vector<int>& messages, int64_t sent_at, int repeats,
                        std::optional<Result<std::vector<sidecar::PushOutcome>>> answer) {
  std::vector<int> again;
  for (size_t i = 0; i < messages.size(); ++i) {
    const int message = messages[i];
    world_.truth().OnPushOver(message);
    if (answer && answer->ok()) {
      world_.truth().OnPushed(message, sent_at, (**answer)[i]);
      if ((**answer)[i].status != sidecar::PushOutcome::Status::kFailed) continue;
    } else {
      world_.history().Note(world_.truth().PartitionOfMessage(message), "push {} {}", message,
                            answer ? answer->status().ToString() : "lost");
    }
    if (!world_.truth().TxnOf(message).empty()) again.push_back(message);
  }
  if (again.empty() || repeats >= kRepeatsMax) return NextSoon();
  world_.time().After(
      static_cast<int64_t>(10'000 + world_.Draw(200'000)),
      [this, again = std::move(again), repeats]() mutable { Send(std::move(again), repeats + 1); });
}

}  // namespace queen::simulator
