// `queen tail`: follows a queue without taking anything from its consumers. It reads as a consumer
// group of its own, which is removed at the end. Brokers know these groups by the beginning of
// their name: neither maxSize nor the retention of consumed messages waits for them, so that a tail
// that is paused, or was killed, is in nobody's way.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
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
  if (session.json()) {
    Session::Print(MessageJson(message) + "\n");
    return;
  }
  const std::string time = message.created_at.size() > 23 ? message.created_at.substr(11, 12) : "";
  Session::Print(fmt::format("{}  {}  {}\n", session.out().Paint(Colour::kDim, time),
                             session.out().Paint(Colour::kCyan, Printable(PlaceOf(message))),
                             Printable(message.payload)));
}

// Until `count` messages, an interrupt, an error, or nobody reads what is printed; the exit code.
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
    if ((count > 0 && seen >= count) || std::ferror(stdout) != 0) return kDone;
  }
  return kDone;  // an interrupt is how a tail ends
}

client::PopRequest RequestOf(const TailOptions& options) {
  client::PopRequest request;
  request.queue = options.queue;
  request.partition = options.partition;
  request.group = options.group.empty() ? "queen-tail-" + client::NewId() : options.group;
  request.batch = kBatch;
  request.partitions = kBatch;
  request.auto_ack = true;
  request.subscription_mode = options.all ? "all" : options.from.empty() ? "new" : "";
  request.subscription_from = options.from;
  return request;
}

// The first pop records where the group starts; from then on nothing is missed. The exit code.
int Begin(Session& session, client::PopRequest first, const Interrupt& interrupt) {
  first.batch = 1;
  const auto started = session.client().Pop(first, interrupt.token());
  if (!started.ok()) return session.Fail(started.error());
  for (const client::Message& message : *started) PrintLine(session, message);
  if (!session.json()) Say(fmt::format("Following {} (Ctrl-C ends)\n", Printable(first.queue)));
  return kDone;
}

// Whoever started a tail knows nothing of its group, unless it stays behind.
int RemoveGroup(Session& session, const client::PopRequest& request) {
  const auto removed = session.admin().DeleteGroup(request.group, request.queue);
  if (removed.ok()) return kDone;
  const int code = session.Fail(removed.error());
  Say(
      fmt::format("The consumer group of this tail may be left. To remove it:\n"
                  "  queen group delete {} --queue {} --yes\n",
                  request.group, Printable(ShellWord(request.queue))));
  return code;
}

int Tail(Session& session, const TailOptions& options) {
  const Interrupt interrupt;
  std::signal(SIGPIPE, SIG_IGN);  // the group is to be removed also when `head` has seen enough
  client::PopRequest request = RequestOf(options);
  const bool begins_now = !options.all && options.from.empty();
  int code = begins_now ? Begin(session, request, interrupt) : int{kDone};
  if (code == kUnreachable) return code;  // no broker has heard of the group
  if (code == kDone) {
    request.wait = kWait;
    code = Follow(session, request, options.count, interrupt);
  }
  if (!options.group.empty()) return code;
  const int removed = RemoveGroup(session, request);
  return code == kDone ? removed : code;
}

}  // namespace

Command TailCommand() {
  auto options = std::make_shared<TailOptions>();
  return {
      "tail",
      "print the messages of a queue as they come",
      "Consumers are not disturbed: tail reads as a consumer group of its own, which is removed\n"
      "at the end and named if it cannot be. No limit and no retention waits for that group: a\n"
      "tail that is paused misses what is deleted meanwhile. Ctrl-C is how a tail ends: exit code\n"
      "0.\n",
      {{"QUEUE", "", &options->queue, true, Offer::kQueue}},
      {{"-p,--partition", "NAME", "this one only", &options->partition},
       {"--all", "", "begin with the oldest message that is stored", &options->all},
       {"--from", "TIME", "begin there: a time, or \"10m ago\"", &options->from},
       {"-n,--count", "N", "end after so many", AtLeastOne(&options->count)},
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
