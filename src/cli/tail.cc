// `queen tail`: follows a queue without taking anything from its consumers. It reads as a consumer
// group of its own, which is removed at the end.
#include <fmt/format.h>

#include <memory>

#include "cli/families.h"
#include "cli/interrupt.h"
#include "cli/message_text.h"
#include "cli/session.h"
#include "cli/units.h"

namespace queen::cli {
namespace {

constexpr int kBatch = 200;
constexpr std::chrono::milliseconds kWait{20'000};

struct TailOptions {
  std::string queue;
  std::string partition;
  std::string group;
  std::string from;
  bool all = false;
  int64_t count = 0;
};

void PrintLine(const Session& session, const client::Message& message) {
  if (session.json()) return Session::Print(MessageJson(message) + "\n");
  const std::string time = message.created_at.size() > 23 ? message.created_at.substr(11, 12) : "";
  Session::Print(fmt::format("{}  {}  {}\n", session.out().Paint(Colour::kDim, time),
                             session.out().Paint(Colour::kCyan, Printable(PlaceOf(message))),
                             Printable(message.payload)));
}

// Until `count` messages, an interrupt or an error; the exit code.
int Follow(Session& session, client::PopRequest request, int64_t count,
           const Interrupt& interrupt) {
  client::Client client = session.PatientClient();
  int64_t seen = 0;
  while (!interrupt.asked()) {
    if (count > 0) request.batch = static_cast<int>(std::min<int64_t>(kBatch, count - seen));
    const auto messages = client.Pop(request, interrupt.token());
    if (!messages.ok()) {
      if (messages.error().kind == client::ErrorKind::kStopped) break;
      return session.Fail(messages.error());
    }
    for (const client::Message& message : *messages) PrintLine(session, message);
    seen += static_cast<int64_t>(messages->size());
    if (count > 0 && seen >= count) return kDone;
  }
  return kDone;  // an interrupt is how a tail ends
}

int Tail(Session& session, const TailOptions& options) {
  const Interrupt interrupt;
  const bool own_group = options.group.empty();
  client::PopRequest request;
  request.queue = options.queue;
  request.partition = options.partition;
  request.group = own_group ? "queen-tail-" + client::NewId() : options.group;
  request.batch = kBatch;
  request.partitions = kBatch;
  request.auto_ack = true;
  request.subscription_mode = options.all ? "all" : options.from.empty() ? "new" : "";
  request.subscription_from = options.from;
  // The first pop records where the group starts; from here on nothing is missed.
  client::PopRequest first = request;
  first.batch = 1;
  if (!options.all && options.from.empty()) {
    const auto started = session.client().Pop(first, interrupt.token());
    if (!started.ok()) return session.Fail(started.error());
    for (const client::Message& message : *started) PrintLine(session, message);
    if (!session.json()) {
      fmt::print(stderr, "Following {} (Ctrl-C ends)\n", Printable(options.queue));
    }
  }
  request.wait = kWait;
  const int code = Follow(session, request, options.count, interrupt);
  if (own_group) (void)session.admin().DeleteGroup(request.group, options.queue).ok();
  return code;
}

}  // namespace

Command TailCommand() {
  auto options = std::make_shared<TailOptions>();
  return {
      "tail",
      "print the messages of a queue as they come",
      "Consumers are not disturbed: tail reads as a consumer group of its own, which is removed "
      "at\n"
      "the end.\n",
      {{"QUEUE", "", &options->queue, true, Offer::kQueue}},
      {{"-p,--partition", "NAME", "this one only", &options->partition},
       {"--all", "", "begin with the oldest message that is stored", &options->all},
       {"--from", "TIME", "begin there: a time, or \"10m ago\"", &options->from},
       {"-n,--count", "N", "end after so many", NumberTarget{&options->count}},
       {"-g,--group",
        "NAME",
        "read as this group, which is kept and goes on where it was",
        &options->group,
        {},
        Offer::kGroup}},
      [options](Session& session) { return Tail(session, *options); },
  };
}

}  // namespace queen::cli
