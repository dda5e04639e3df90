// `queen pop`: takes messages, prints them, and says what becomes of them. What could not be
// printed is handed back, whatever was to become of it: nobody has seen it.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <memory>

#include "cli/families.h"
#include "cli/interrupt.h"
#include "cli/message_text.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/units.h"

namespace queen::cli {
namespace {

using client::Acknowledgment;
using client::Message;
using client::Verdict;

struct PopOptions {
  std::string queue;
  std::string partition;
  std::string group;
  std::string mode;
  std::string from;
  std::string then = "ack";
  std::string error;
  int64_t batch = 1;
  int64_t partitions = 1;
  int64_t wait_seconds = 0;
  int64_t lease_seconds = 0;
};

client::PopRequest RequestOf(const PopOptions& options) {
  client::PopRequest request;
  request.queue = options.queue;
  request.partition = options.partition;
  request.group = options.group;
  request.batch = static_cast<int>(options.batch);
  request.partitions = static_cast<int>(options.partitions);
  request.wait = std::chrono::seconds(options.wait_seconds);
  request.subscription_mode = options.mode;
  request.subscription_from = options.from;
  request.lease_seconds = static_cast<int>(options.lease_seconds);
  return request;
}

// Whether all were printed.
bool PrintMessages(const Session& session, const std::vector<Message>& messages) {
  if (session.json()) {
    return std::ranges::all_of(messages, [](const Message& message) {
      return Session::Print(MessageJson(message) + "\n");
    });
  }
  Table table({{"PARTITION"},
               {"OFFSET", true},
               {"CREATED"},
               {"TRIES", true},
               {"TRANSACTION"},
               {"PAYLOAD"}});
  for (const Message& message : messages) {
    table.Add({message.partition, ShowCount(message.offset), ShowTime(message.created_at),
               ShowCount(message.retry_count), message.transaction_id, message.payload});
  }
  return Session::Print(table.Show(session.out()));
}

Verdict VerdictOf(const std::string& then) {
  if (then == "fail") return Verdict::kFailed;
  if (then == "dlq") return Verdict::kDeadLetter;
  if (then == "return") return Verdict::kRetry;
  return Verdict::kCompleted;
}

int Settle(Session& session, const std::vector<Message>& messages, Verdict verdict,
           const std::string& error = "") {
  std::vector<Acknowledgment> acks;
  acks.reserve(messages.size());
  for (const Message& message : messages) {
    acks.push_back(Acknowledgment::Of(message, verdict, error));
  }
  const auto outcomes = session.client().Ack(acks);
  if (!outcomes.ok()) return session.Fail(outcomes.error());
  int code = kDone;
  for (const auto& outcome : *outcomes) {
    if (outcome.success) continue;
    code = session.Fail(fmt::format("{}: {}", Printable(outcome.transaction_id), outcome.error));
  }
  return code;
}

int Pop(Session& session, const PopOptions& options) {
  const Interrupt interrupt;
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is a print that fails
  const auto messages = session.client().Pop(RequestOf(options), interrupt.token());
  if (!messages.ok()) return session.Fail(messages.error());
  if (messages->empty()) {
    if (!session.json()) Say("queen: there is no message to take\n");
    return kNothing;
  }
  if (!PrintMessages(session, *messages)) {
    const int code = Settle(session, *messages, Verdict::kRetry);
    return code == kDone ? session.Fail("what could not be printed is back in its queue") : code;
  }
  if (options.then == "keep") return kDone;
  return Settle(session, *messages, VerdictOf(options.then), options.error);
}

}  // namespace

Command PopCommand() {
  auto options = std::make_shared<PopOptions>();
  return {
      "pop",
      "take messages from a queue and print them",
      "What is printed is acknowledged, unless --then says otherwise: return hands it back (to\n"
      "look without taking), fail and dlq say that it failed, keep leaves it leased. What cannot\n"
      "be printed is handed back.\n",
      {{"QUEUE", "", &options->queue, true, Offer::kQueue}},
      {{"-n,--batch", "N", "most messages (1)", AtLeastOne(&options->batch, 10'000)},
       {"-p,--partition", "NAME", "this one only", &options->partition},
       {"-g,--group", "NAME", "as this consumer group", &options->group, {}, Offer::kGroup},
       {"-w,--wait", "SECONDS", "wait for a message", NumberTarget{&options->wait_seconds, 600}},
       {"--then",
        "WHAT",
        "ack, return, fail, dlq or keep (ack)",
        &options->then,
        {"ack", "return", "fail", "dlq", "keep"}},
       {"--error", "TEXT", "why, with --then fail or dlq", &options->error},
       {"--partitions", "N", "take from up to so many at once (1)",
        AtLeastOne(&options->partitions, 10'000)},
       {"--subscription-mode", "MODE", "where a new group starts", &options->mode, {"all", "new"}},
       {"--subscription-from", "TIME", "or a time, such as \"10m ago\"", &options->from},
       {"--lease", "SECONDS", "the length of the lease",
        AtLeastOne(&options->lease_seconds, 86'400)}},
      [options](Session& session) { return Pop(session, *options); },
  };
}

}  // namespace queen::cli
