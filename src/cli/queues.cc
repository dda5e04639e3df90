// `queen queues` and `queen queue show|configure|delete|clear`.
#include <fmt/format.h>

#include <memory>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "cli/confirm.h"
#include "cli/families.h"
#include "cli/json_text.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/units.h"

namespace queen::cli {
namespace {

constexpr int64_t kPartitionsShown = 100;

struct QueueOptions {
  std::string queue;
  std::string partition;
  std::string name_space;
  std::string task;
  std::vector<std::string> settings;
  bool replace = false;
  bool yes = false;
  bool refresh = false;
  int64_t limit = 0;
  int64_t offset = 0;
};

// People wonder about numbers that miss what they have just pushed.
void SayAge(const Session& session, const JsonValue& age) {
  if (!session.out().exists() || age.absent_or_null()) return;
  Say(fmt::format("Measured {} ago; --refresh measures now.\n", ShowSeconds(NumberOf(age))));
}

int ShowQueues(Session& session, const QueueOptions& options) {
  client::Filter filter;
  if (options.limit > 0) filter.limit = options.limit;
  filter.offset = options.offset;
  filter.name_space = options.name_space;
  filter.task = options.task;
  const auto ask = [&] { return session.admin().Queues(filter); };
  return session.ShowMeasured(options.refresh, ask, [&](const JsonValue& root) {
    Table table({{"QUEUE"},
                 {"NAMESPACE"},
                 {"TASK"},
                 {"PARTITIONS", true},
                 {"PENDING", true},
                 {"PROCESSING", true},
                 {"STORED", true},
                 {"CREATED"}});
    for (const JsonValue& queue : JsonElements(root.Find("queues"))) {
      const JsonValue messages = queue.Find("messages");
      const int64_t pending = CountAt(messages, "pending");
      table.Add({TextAt(queue, "name"), OrDash(TextAt(queue, "namespace")),
                 OrDash(TextAt(queue, "task")), ShowCount(CountAt(queue, "partitions")),
                 Cell(ShowCount(pending), pending > 0 ? Colour::kYellow : Colour::kNone),
                 ShowCount(CountAt(messages, "processing")), ShowCount(CountAt(messages, "total")),
                 ShowTime(TextAt(queue, "createdAt"))});
    }
    if (table.empty()) {
      Session::Print("There are no queues.\n");
    } else {
      Session::Print(table.Show(session.out()));
      if (!options.refresh) SayAge(session, root.Find("statsAge"));
    }
    return kDone;
  });
}

void PrintPartitions(const Session& session, const JsonValue& partitions) {
  Table table({{"PARTITION"},
               {"PENDING", true},
               {"PROCESSING", true},
               {"COMPLETED", true},
               {"DEAD", true},
               {"STORED", true},
               {"OLDEST"},
               {"NEWEST"}});
  for (const JsonValue& partition : JsonElements(partitions)) {
    const JsonValue stats = partition.Find("stats");
    const int64_t dead = CountAt(stats, "deadLetter");
    table.Add({TextAt(partition, "name"), ShowCount(CountAt(stats, "pending")),
               ShowCount(CountAt(stats, "processing")), ShowCount(CountAt(stats, "completed")),
               Cell(ShowCount(dead), dead > 0 ? Colour::kRed : Colour::kNone),
               ShowCount(CountAt(stats, "total")),
               OrDash(ShowTime(TextAt(partition, "oldestMessage"))),
               OrDash(ShowTime(TextAt(partition, "newestMessage")))});
  }
  if (!table.empty()) Session::Print("\n" + table.Show(session.out()));
}

// A person is shown a page of partitions; a script gets all unless it asks for a page.
client::Filter PartitionPage(const Session& session, const QueueOptions& options) {
  client::Filter page;
  page.offset = options.offset;
  if (options.limit > 0) page.limit = options.limit;
  if (!page.limit && !session.json()) page.limit = kPartitionsShown;
  return page;
}

int ShowQueue(Session& session, const QueueOptions& options) {
  const client::Filter page = PartitionPage(session, options);
  return session.Show(session.admin().Queue(options.queue, page), [&](const JsonValue& root) {
    std::vector<std::pair<std::string, Cell>> pairs = {
        {"Queue", TextAt(root, "name")},
        {"Namespace", OrDash(TextAt(root, "namespace"))},
        {"Task", OrDash(TextAt(root, "task"))},
        {"Created", ShowTime(TextAt(root, "createdAt"))}};
    for (const JsonField& field : JsonFields(root.Find("totals"))) {
      if (field.value.is_number()) {
        pairs.emplace_back(std::string("Messages ") + std::string(field.key),
                           ShowCount(static_cast<int64_t>(NumberOf(field.value))));
      }
    }
    for (const JsonField& field : JsonFields(root.Find("options"))) {
      pairs.emplace_back(std::string(field.key), OrDash(TextOf(field.value)));
    }
    Session::Print(ShowPairs(session.out(), pairs));
    PrintPartitions(session, root.Find("partitions"));
    const int64_t total = CountAt(root, "totalPartitions");
    if (total > page.offset + *page.limit) {
      Session::Print(fmt::format("There are {} partitions; --limit and --offset show others\n",
                                 ShowCount(total)));
    }
    return kDone;
  });
}

// `value` as JSON: a number, a boolean, null or JSON as it is, anything else as a string.
std::string AsJson(const std::string& value) {
  return ParseJson(value).ok() ? value : client::JsonString(value);
}

int Configure(Session& session, const QueueOptions& options) {
  std::string body;
  JsonWriter writer(body);
  writer.BeginObject();
  writer.Field("queue", options.queue);
  if (!options.name_space.empty()) writer.Field("namespace", options.name_space);
  if (!options.task.empty()) writer.Field("task", options.task);
  if (options.replace) writer.Field("mode", "replace");
  writer.Key("options");
  writer.BeginObject();
  for (const std::string& setting : options.settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      return session.Fail(fmt::format("\"{}\" is not OPTION=VALUE", setting), kUsage);
    }
    writer.Key(setting.substr(0, equals));
    writer.Raw(AsJson(setting.substr(equals + 1)));
  }
  writer.EndObject();
  writer.EndObject();
  const auto show = [&](const JsonValue& root) {
    std::vector<std::pair<std::string, Cell>> pairs = {
        {"Queue", TextAt(root, "queue")},
        {"Namespace", OrDash(TextAt(root, "namespace"))},
        {"Task", OrDash(TextAt(root, "task"))}};
    for (const JsonField& field : JsonFields(root.Find("options"))) {
      pairs.emplace_back(std::string(field.key), OrDash(TextOf(field.value)));
    }
    Session::Print(ShowPairs(session.out(), pairs));
    return kDone;
  };
  return session.Show(session.admin().Configure(body), show, [&](const JsonValue& root) {
    std::string unknown;
    for (const JsonValue& name : JsonElements(root.Find("ignored"))) {
      unknown += (unknown.empty() ? "" : ", ") + Printable(TextOf(name));
    }
    if (unknown.empty()) return int{kDone};
    return session.Fail("these options do not exist: " + unknown + "; the others are set", kUsage);
  });
}

int Delete(Session& session, const QueueOptions& options) {
  const std::string what =
      options.partition.empty()
          ? fmt::format("the queue {} with all of its messages and groups", options.queue)
          : fmt::format("the partition {} of {}", options.partition, options.queue);
  if (!Confirmed("Delete " + what, options.yes)) return kFailed;
  const auto reply = options.partition.empty()
                         ? session.admin().DeleteQueue(options.queue)
                         : session.admin().DeletePartition(options.queue, options.partition);
  const auto show = [&](const JsonValue&) {
    Session::Print(fmt::format("Deleted {}.\n", Printable(what)));
    return kDone;
  };
  return session.Show(reply, show, [&](const JsonValue& root) {
    if (root.Find("existed").raw() != "false") return int{kDone};
    return session.Fail("there is no such queue or partition", kNothing);
  });
}

// The broker clears what does not exist without a word.
bool IsMissing(Session& session, const QueueOptions& options) {
  if (options.partition.empty()) {
    client::Filter page;
    page.limit = 1;
    const auto queue = session.admin().Queue(options.queue, page);
    return !queue.ok() && queue.error().kind == client::ErrorKind::kNotFound;
  }
  const auto lane = session.admin().Explain(options.queue, options.partition, "");
  if (!lane.ok()) return false;
  const auto root = ParseJson(*lane);
  if (!root.ok()) return false;
  const std::string cause = TextAt(*root, "cause");
  return cause == "missing_queue" || cause == "missing_partition";
}

int Clear(Session& session, const QueueOptions& options) {
  const std::string where = options.partition.empty()
                                ? options.queue
                                : fmt::format("{}/{}", options.queue, options.partition);
  if (!Confirmed("Delete every message of " + where + " that is not consumed", options.yes)) {
    return kFailed;
  }
  if (IsMissing(session, options)) {
    return session.Fail("there is no such queue or partition", kNothing);
  }
  return session.Show(
      session.admin().ClearQueue(options.queue, options.partition), [&](const JsonValue& root) {
        Session::Print(fmt::format("Removed {} from {}.\n",
                                   ShowCount(CountAt(root, "count"), "message", "messages"),
                                   Printable(where)));
        return kDone;
      });
}

Argument QueueArgument(QueueOptions& options) {
  return {"QUEUE", "", &options.queue, true, Offer::kQueue};
}

Option YesOption(QueueOptions& options) { return {"-y,--yes", "", "do not ask", &options.yes}; }

}  // namespace

Command QueuesCommand() {
  auto options = std::make_shared<QueueOptions>();
  return {
      "queues",
      "list the queues with their depth",
      "",
      {},
      {{"--namespace", "NAME", "only of this namespace", &options->name_space},
       {"--task", "NAME", "only of this task", &options->task},
       {"-n,--limit", "N", "most queues; all if not given", AtLeastOne(&options->limit)},
       {"--offset", "N", "leave out so many first", NumberTarget{&options->offset}},
       {"--refresh", "", "measure now; else the numbers are some seconds old", &options->refresh}},
      [options](Session& session) { return ShowQueues(session, *options); }};
}

Command QueueCommand() {
  auto options = std::make_shared<QueueOptions>();
  const Option partition = {"-p,--partition", "NAME", "only this partition", &options->partition};
  return {
      "queue",
      "show, configure, clear or delete one queue",
      "",
      {},
      {},
      {},
      {{"show",
        "its options and partitions",
        "",
        {QueueArgument(*options)},
        {{"-n,--limit", "N", "most partitions (100; all with -o json)",
          AtLeastOne(&options->limit)},
         {"--offset", "N", "leave out so many first", NumberTarget{&options->offset}}},
        [options](Session& session) { return ShowQueue(session, *options); }},
       {"configure",
        "make a queue or change its options",
        "Options that are not named keep their value; --replace sets them to their defaults.\n"
        "For example: queen queue configure orders leaseTime=60 retryLimit=5\n",
        {QueueArgument(*options),
         {"SETTINGS", "OPTION=VALUE, any number of them; see docs/queues.md", &options->settings,
          false}},
        {{"--namespace", "NAME", "its namespace", &options->name_space},
         {"--task", "NAME", "its task", &options->task},
         {"--replace", "", "options that are not named get their defaults", &options->replace}},
        [options](Session& session) { return Configure(session, *options); }},
       {"delete",
        "delete a queue with everything in it, or one partition",
        "",
        {QueueArgument(*options)},
        {partition, YesOption(*options)},
        [options](Session& session) { return Delete(session, *options); }},
       {"clear",
        "delete the messages that are not consumed yet",
        "",
        {QueueArgument(*options)},
        {partition, YesOption(*options)},
        [options](Session& session) { return Clear(session, *options); }}},
  };
}

}  // namespace queen::cli
