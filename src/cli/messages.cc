// `queen messages`, `queen message show|delete|retry|dead-letter`.
#include <fmt/format.h>

#include <memory>

#include "cli/confirm.h"
#include "cli/families.h"
#include "cli/json_text.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/units.h"

namespace queen::cli {
namespace {

struct MessageOptions {
  client::Filter filter;
  int64_t limit = 0;
  std::string partition_id;
  std::string transaction_id;
  bool yes = false;
};

Cell StatusCell(const std::string& status) {
  if (status == "completed") return {status, Colour::kGreen};
  if (status == "dead_letter") return {status, Colour::kRed};
  if (status == "processing") return {status, Colour::kCyan};
  return {status};
}

int List(Session& session, MessageOptions& options) {
  if (options.limit > 0) options.filter.limit = options.limit;
  return session.Show(session.admin().Messages(options.filter), [&](const JsonValue& root) {
    Table table(
        {{"CREATED"}, {"QUEUE"}, {"PARTITION"}, {"STATUS"}, {"PARTITION ID"}, {"TRANSACTION"}});
    for (const JsonValue& message : JsonElements(root.Find("messages"))) {
      table.Add({ShowTime(TextAt(message, "createdAt")), TextAt(message, "queue"),
                 TextAt(message, "partition"), StatusCell(TextAt(message, "status")),
                 TextAt(message, "partitionId"), TextAt(message, "transactionId")});
    }
    Session::Print(table.empty() ? "There are no such messages.\n" : table.Show(session.out()));
    return kDone;
  });
}

int ShowOne(Session& session, const MessageOptions& options) {
  return session.Show(
      session.admin().OneMessage(options.partition_id, options.transaction_id),
      [&](const JsonValue& root) {
        std::vector<std::pair<std::string, Cell>> pairs = {
            {"Message", TextAt(root, "id")},
            {"Transaction", TextAt(root, "transactionId")},
            {"Queue", TextAt(root, "queue")},
            {"Partition", TextAt(root, "partition")},
            {"Created", ShowTime(TextAt(root, "createdAt"))},
            {"Status", StatusCell(TextAt(root, "status"))},
            {"Tries", ShowCount(CountAt(root, "retryCount"))},
            {"Error", OrDash(TextAt(root, "errorMessage"))},
            {"Trace", OrDash(TextAt(root, "traceId"))},
            {"Producer", OrDash(TextAt(root, "producerSub"))},
            {"Payload", OrDash(std::string(root.Find("payload").raw()))}};
        Session::Print(ShowPairs(session.out(), pairs));
        Table table({{"GROUP"}, {"CONSUMED"}, {"LEASED UNTIL"}});
        for (const JsonValue& group : JsonElements(root.Find("consumerGroups"))) {
          table.Add({TextAt(group, "name"), TruthAt(group, "consumed") ? "yes" : "no",
                     OrDash(ShowTime(TextAt(group, "leaseExpiresAt")))});
        }
        if (!table.empty()) Session::Print("\n" + table.Show(session.out()));
        return kDone;
      });
}

int Change(Session& session, const client::Admin::Json& reply, const std::string& done) {
  const auto show = [&](const JsonValue&) {
    Session::Print(done + "\n");
    return kDone;
  };
  return session.Show(reply, show, [&](const JsonValue& root) {
    const bool success = root.Find("success").raw() != "false";
    return success ? int{kDone} : session.Fail(OrDash(TextAt(root, "error")));
  });
}

std::vector<Argument> OneMessage(MessageOptions& options) {
  return {{"PARTITION-ID", "the UUID of its partition (messages and dlq list show it)",
           &options.partition_id},
          {"TRANSACTION-ID", "", &options.transaction_id}};
}

}  // namespace

Command MessagesCommand() {
  auto options = std::make_shared<MessageOptions>();
  client::Filter& filter = options->filter;
  return {"messages",
          "list stored messages, newest first",
          "",
          {{"QUEUE", "only of this queue", &filter.queue, false, Offer::kQueue}},
          {{"-p,--partition", "NAME", "only of this partition", &filter.partition},
           {"--namespace", "NAME", "only of this namespace", &filter.name_space},
           {"--task", "NAME", "only of this task", &filter.task},
           {"--status",
            "STATUS",
            "only with this status",
            &filter.status,
            {"pending", "processing", "completed", "dead_letter"}},
           {"--from", "TIME", "created at or after", &filter.from},
           {"--to", "TIME", "created before", &filter.to},
           {"-n,--limit", "N", "at most so many (200)", AtLeastOne(&options->limit)},
           {"--offset", "N", "leave out so many first", NumberTarget{&filter.offset}}},
          [options](Session& session) { return List(session, *options); }};
}

Command MessageCommand() {
  auto options = std::make_shared<MessageOptions>();
  return {
      "message",
      "show, delete, retry or dead-letter one message",
      "",
      {},
      {},
      {},
      {{"show",
        "everything about it",
        "",
        OneMessage(*options),
        {},
        [options](Session& session) { return ShowOne(session, *options); }},
       {"delete",
        "delete it, also from the dead letters",
        "",
        OneMessage(*options),
        {{"-y,--yes", "", "do not ask", &options->yes}},
        [options](Session& session) {
          if (!Confirmed("Delete the message " + options->transaction_id, options->yes)) {
            return static_cast<int>(kFailed);
          }
          return Change(
              session,
              session.admin().DeleteMessage(options->partition_id, options->transaction_id),
              "Deleted.");
        }},
       {"retry",
        "put a dead letter back into its queue",
        "",
        OneMessage(*options),
        {},
        [options](Session& session) {
          return Change(
              session, session.admin().RetryMessage(options->partition_id, options->transaction_id),
              "It is in its queue again.");
        }},
       {"dead-letter",
        "move a message that waits to the dead letters",
        "",
        OneMessage(*options),
        {},
        [options](Session& session) {
          return Change(
              session,
              session.admin().DeadLetterMessage(options->partition_id, options->transaction_id),
              "It is a dead letter.");
        }}},
  };
}

}  // namespace queen::cli
