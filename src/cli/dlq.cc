// `queen dlq list|redrive|purge`. Redriving and purging go in steps, each one call, so that a
// progress bar can be shown and an interrupt ends between two steps.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "cli/confirm.h"
#include "cli/families.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/progress_bar.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/units.h"

namespace queen::cli {
namespace {

constexpr int64_t kStep = 1'000;

struct DlqOptions {
  client::Filter filter;
  int64_t limit = 0;  // 0: 100 in a list, all in bulk
  bool yes = false;
};

int List(Session& session, DlqOptions& options) {
  if (options.limit > 0) options.filter.limit = options.limit;
  return session.Show(session.admin().DeadLetters(options.filter), [&](const JsonValue& root) {
    Table table({{"FAILED"},
                 {"QUEUE"},
                 {"PARTITION"},
                 {"GROUP"},
                 {"TRIES", true},
                 {"PARTITION ID"},
                 {"TRANSACTION"},
                 {"ERROR"}});
    int64_t shown = 0;
    for (const JsonValue& letter : JsonElements(root.Find("messages"))) {
      table.Add({ShowTime(TextAt(letter, "failedAt")), TextAt(letter, "queue"),
                 TextAt(letter, "partition"), TextAt(letter, "consumerGroup"),
                 ShowCount(CountAt(letter, "retryCount")), TextAt(letter, "partitionId"),
                 TextAt(letter, "transactionId"), OrDash(TextAt(letter, "errorMessage"))});
      ++shown;
    }
    if (shown == 0) {
      Session::Print("There are no dead letters.\n");
      return kDone;
    }
    Session::Print(table.Show(session.out()));
    const int64_t total = CountAt(root, "total");
    if (total > shown) {
      Session::Print(fmt::format("{} of {}; --limit and --offset show others\n", ShowCount(shown),
                                 ShowCount(total)));
    }
    return kDone;
  });
}

// What a step is about: how to call it, and the words for it.
struct Bulk {
  std::string verb;      // "redrive"
  std::string past;      // "Redriven"
  std::string_view key;  // of the count in the reply
  client::Admin::Json (client::Admin::*call)(const client::Filter&);
};

client::Result<int64_t> CountMatching(Session& session, client::Filter filter) {
  filter.limit = 1;
  const auto reply = session.admin().DeadLetters(filter);
  if (!reply.ok()) return reply.error();
  const auto root = ParseJson(*reply);
  return root.ok() ? CountAt(*root, "total") : 0;
}

int Summarize(const Session& session, const Bulk& bulk, int64_t done, bool interrupted) {
  if (session.json()) {
    std::string out;
    JsonWriter writer(out);
    writer.BeginObject();
    writer.Field(bulk.key, done);
    writer.Field("interrupted", interrupted);
    writer.EndObject();
    Session::Print(out + "\n");
  } else {
    Session::Print(
        fmt::format("{} {}.\n", bulk.past, ShowCount(done, "dead letter", "dead letters")));
  }
  return interrupted ? kInterrupted : kDone;
}

int RunBulk(Session& session, DlqOptions& options, const Bulk& bulk) {
  auto matching = CountMatching(session, options.filter);
  if (!matching.ok()) return session.Fail(matching.error());
  const int64_t goal = options.limit > 0 ? std::min(options.limit, *matching) : *matching;
  if (goal == 0) return Summarize(session, bulk, 0, false);
  if (!Confirmed(fmt::format("{} {}", bulk.verb, ShowCount(goal, "dead letter", "dead letters")),
                 options.yes)) {
    return kFailed;
  }
  const Interrupt interrupt;
  int64_t done = 0;
  {
    ProgressBar bar(bulk.verb, goal);
    while (done < goal && !interrupt.asked()) {
      bar.Update(done);
      options.filter.limit = std::min(kStep, goal - done);
      const auto reply = (session.admin().*bulk.call)(options.filter);
      if (!reply.ok()) {
        if (done > 0)
          Say(fmt::format("queen: after {}:\n", ShowCount(done, "dead letter", "dead letters")));
        return session.Fail(reply.error());
      }
      const auto root = ParseJson(*reply);
      const int64_t step = root.ok() ? CountAt(*root, bulk.key) : 0;
      if (step == 0) break;  // others were faster
      done += step;
      // What fails again meanwhile is not for this run: the first step says up to when it looked.
      options.filter.to = TextAt(*root, "to");
    }
  }
  return Summarize(session, bulk, done, interrupt.asked());
}

std::vector<Option> FilterOptions(DlqOptions& options) {
  client::Filter& filter = options.filter;
  return {{"--queue", "NAME", "only of this queue", &filter.queue, {}, Offer::kQueue},
          {"-p,--partition", "NAME", "only of this partition", &filter.partition},
          {"-g,--group", "NAME", "only of this consumer group", &filter.group, {}, Offer::kGroup},
          {"--from", "TIME", "failed at or after", &filter.from},
          {"--to", "TIME", "failed before", &filter.to},
          {"-n,--limit", "N", "at most so many", AtLeastOne(&options.limit)}};
}

}  // namespace

Command DlqCommand() {
  auto options = std::make_shared<DlqOptions>();
  std::vector<Option> listing = FilterOptions(*options);
  listing.push_back(
      {"--offset", "N", "leave out so many first", NumberTarget{&options->filter.offset}});
  std::vector<Option> bulk = FilterOptions(*options);
  bulk.push_back({"-y,--yes", "", "do not ask", &options->yes});
  return {
      "dlq",
      "list, redrive or purge dead letters",
      "",
      {},
      {},
      {},
      {{"list",
        "messages that failed too often, newest failure first",
        "",
        {},
        listing,
        [options](Session& session) { return List(session, *options); }},
       {"redrive",
        "put dead letters back into their queue",
        "Each goes to the end of its partition, for the group in which it died.\n",
        {},
        bulk,
        [options](Session& session) {
          return RunBulk(session, *options,
                         {"redrive", "Redriven:", "redriven", &client::Admin::Redrive});
        }},
       {"purge",
        "delete dead letters",
        "",
        {},
        bulk,
        [options](Session& session) {
          return RunBulk(session, *options, {"purge", "Purged:", "purged", &client::Admin::Purge});
        }}},
  };
}

}  // namespace queen::cli
