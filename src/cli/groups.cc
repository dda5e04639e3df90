// `queen groups`, `queen group show|delete` and `queen seek`.
#include <fmt/format.h>

#include <memory>

#include "base/json_reader.h"
#include "cli/confirm.h"
#include "cli/families.h"
#include "cli/json_text.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/units.h"

namespace queen::cli {
namespace {

struct GroupOptions {
  std::string group;
  std::string queue;
  bool lagging = false;
  bool refresh = false;
  int64_t limit = 0;
  bool keep_start = false;
  bool yes = false;
};

Cell StateCell(const std::string& state) {
  if (state == "Stable") return {state, Colour::kGreen};
  if (state == "Lagging") return {state, Colour::kYellow};
  return {state, Colour::kRed};
}

int ShowGroups(Session& session, const GroupOptions& options) {
  const auto is_meant = [&](const JsonValue& group) {
    return (options.queue.empty() || TextAt(group, "queueName") == options.queue) &&
           (!options.lagging || CountAt(group, "totalLag") > 0);
  };
  const auto ask = [&] {
    const auto all = session.admin().Groups();
    return all.ok() ? client::Admin::Json(OnlyElements(*all, "", is_meant)) : all;
  };
  return session.ShowMeasured(options.refresh, ask, [&](const JsonValue& root) {
    Table table({{"GROUP"},
                 {"QUEUE"},
                 {"STATE"},
                 {"MEMBERS", true},
                 {"LAG", true},
                 {"BEHIND", true},
                 {"PARTITIONS BEHIND", true},
                 {"LAST CONSUMED"},
                 {"STARTED"}});
    for (const JsonValue& group : JsonElements(root)) {
      const int64_t lag = CountAt(group, "totalLag");
      table.Add({TextAt(group, "name"), TextAt(group, "queueName"),
                 StateCell(TextAt(group, "state")), ShowCount(CountAt(group, "members")),
                 ShowCount(lag), ShowSeconds(NumberOf(group.Find("maxTimeLag"))),
                 ShowCount(CountAt(group, "partitionsWithLag")),
                 OrDash(ShowTime(TextAt(group, "lastConsumedAt"))),
                 OrDash(TextAt(group, "subscriptionMode"))});
    }
    Session::Print(table.empty() ? "There are no consumer groups.\n" : table.Show(session.out()));
    return kDone;
  });
}

// Whether a report about a group is about this queue ("": about any).
bool IsOf(const JsonValue& root, const std::string& queue) {
  for (const JsonField& field : JsonFields(root)) {
    if (queue.empty() || field.key == queue) return true;
  }
  return false;
}

int FailUnknown(const Session& session, const GroupOptions& options) {
  return session.Fail(fmt::format("there is no consumer group {}{}", Printable(options.group),
                                  options.queue.empty() ? "" : " on " + Printable(options.queue)),
                      kNothing);
}

int ShowGroup(Session& session, const GroupOptions& options) {
  client::Filter page;
  if (options.limit > 0) page.limit = options.limit;
  const auto show = [&](const JsonValue& root) {
    Table table({{"QUEUE"},
                 {"PARTITION"},
                 {"LAG", true},
                 {"BEHIND", true},
                 {"CONSUMED", true},
                 {"LEASED"},
                 {"LAST CONSUMED"},
                 {"CONSUMER"}});
    for (const JsonField& queue : JsonFields(root)) {
      const std::string name(queue.key);
      if (!options.queue.empty() && name != options.queue) continue;
      for (const JsonValue& partition : JsonElements(queue.value.Find("partitions"))) {
        table.Add({name, TextAt(partition, "partition"), ShowCount(CountAt(partition, "offsetLag")),
                   ShowSeconds(NumberOf(partition.Find("timeLagSeconds"))),
                   ShowCount(CountAt(partition, "totalConsumed")),
                   TruthAt(partition, "leaseActive") ? "yes" : "no",
                   OrDash(ShowTime(TextAt(partition, "lastConsumedAt"))),
                   OrDash(TextAt(partition, "workerId"))});
      }
    }
    Session::Print(table.Show(session.out()));
    return kDone;
  };
  return session.Show(session.admin().Group(options.group, page), show, [&](const JsonValue& root) {
    return IsOf(root, options.queue) ? int{kDone} : FailUnknown(session, options);
  });
}

int DeleteGroup(Session& session, const GroupOptions& options) {
  const std::string where = options.queue.empty() ? "every queue" : options.queue;
  const std::string what = fmt::format("the positions of the group {} on {}", options.group, where);
  if (!Confirmed("Delete " + what, options.yes)) return kFailed;
  // The broker forgets whom it never knew without a word, and also who has only begun to wait.
  client::Filter page;
  page.limit = 1;
  const auto before = session.admin().Group(options.group, page);
  if (!before.ok()) return session.Fail(before.error());
  const auto root_before = ParseJson(*before);
  const bool known = root_before.ok() && IsOf(*root_before, options.queue);
  const auto show = [&](const JsonValue& root) {
    Session::Print(
        fmt::format("Deleted {}: {}.\n", Printable(what),
                    ShowCount(CountAt(root, "deletedPartitions"), "partition", "partitions")));
    return kDone;
  };
  return session.Show(session.admin().DeleteGroup(options.group, options.queue, options.keep_start),
                      show, [&](const JsonValue& root) {
                        const bool deleted = known || CountAt(root, "deletedPartitions") > 0;
                        return deleted ? int{kDone} : FailUnknown(session, options);
                      });
}

struct SeekOptions {
  std::string group;
  std::string queue;
  std::string partition;
  std::string time;
  std::string offset;
  bool to_end = false;
  bool yes = false;
};

int Seek(Session& session, const SeekOptions& options) {
  client::SeekTarget target;
  target.to_end = options.to_end;
  target.timestamp = options.time;
  const int ways = int{options.to_end} + int{!options.time.empty()} + int{!options.offset.empty()};
  if (ways != 1) return session.Fail("name one of --to-end, --time and --offset", kUsage);
  if (!options.offset.empty()) {
    try {
      target.offset = std::stoll(options.offset);
    } catch (const std::exception&) {
      return session.Fail("--offset: \"" + options.offset + "\" is not a whole number", kUsage);
    }
  }
  const auto show = [&](const JsonValue& root) {
    const int64_t moved = CountAt(root, "partitionsUpdated");
    Session::Print(fmt::format("Moved {} in {}: {} partition{}.\n", Printable(options.group),
                               Printable(options.queue), ShowCount(moved), moved == 1 ? "" : "s"));
    return kDone;
  };
  return session.Show(session.admin().Seek(options.group, options.queue, options.partition, target),
                      show, [&](const JsonValue& root) {
                        if (CountAt(root, "partitionsUpdated") > 0) return int{kDone};
                        return session.Fail("there is no such queue or partition", kNothing);
                      });
}

}  // namespace

Command GroupsCommand() {
  auto options = std::make_shared<GroupOptions>();
  return {
      "groups",
      "list the consumer groups with their lag",
      "",
      {{"QUEUE", "only of this queue", &options->queue, false, Offer::kQueue}},
      {{"--lagging", "", "only those that are behind", &options->lagging},
       {"--refresh", "", "measure now; else the numbers are some seconds old", &options->refresh}},
      [options](Session& session) { return ShowGroups(session, *options); }};
}

Command GroupCommand() {
  auto options = std::make_shared<GroupOptions>();
  const Argument group = {"GROUP", "", &options->group, true, Offer::kGroup};
  const Option queue = {"--queue",       "NAME", "only on this queue",
                        &options->queue, {},     Offer::kQueue};
  return {
      "group",
      "show or delete one consumer group",
      "",
      {},
      {},
      {},
      {{"show",
        "where it stands in each partition",
        "",
        {group},
        {queue, {"-n,--limit", "N", "most partitions", AtLeastOne(&options->limit)}},
        [options](Session& session) { return ShowGroup(session, *options); }},
       {"delete",
        "forget where it stands",
        "",
        {group},
        {queue,
         {"--keep-start", "", "keep where it started; it begins there again", &options->keep_start},
         {"-y,--yes", "", "do not ask", &options->yes}},
        [options](Session& session) { return DeleteGroup(session, *options); }}},
  };
}

Command SeekCommand() {
  auto options = std::make_shared<SeekOptions>();
  return {
      "seek",
      "move a consumer group forwards or back",
      "Its leases are cancelled and its failures forgotten. Without --partition it is moved in\n"
      "every partition of the queue.\n",
      {{"GROUP", "", &options->group, true, Offer::kGroup},
       {"QUEUE", "", &options->queue, true, Offer::kQueue}},
      {{"--to-end", "", "behind the newest message", &options->to_end},
       {"--time", "TIME", "to the first message after a time (RFC 3339)", &options->time},
       {"--offset", "N", "to an offset; 0 is the oldest", &options->offset},
       {"-p,--partition", "NAME", "in this one only", &options->partition}},
      [options](Session& session) { return Seek(session, *options); }};
}

}  // namespace queen::cli
