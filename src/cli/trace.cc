// `queen trace show|name|names|add`: what applications noted about messages.
#include <fmt/format.h>

#include <memory>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "cli/families.h"
#include "cli/json_text.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/units.h"

namespace queen::cli {
namespace {

struct TraceOptions {
  std::string partition_id;
  std::string transaction_id;
  std::string name;
  std::string data;
  std::string event_type;
  std::vector<std::string> names;
  client::Filter page;
  int64_t limit = 0;
};

int ShowTraces(const Session& session, const client::Admin::Json& report) {
  return session.Show(report, [&](const JsonValue& root) {
    Table table({{"TIME"}, {"EVENT"}, {"GROUP"}, {"NAMES"}, {"DATA"}});
    for (const JsonValue& trace : JsonElements(root.Find("traces"))) {
      std::string names;
      for (const JsonValue& name : JsonElements(trace.Find("trace_names"))) {
        names += (names.empty() ? "" : ",") + TextOf(name);
      }
      table.Add({ShowTime(TextAt(trace, "created_at")), TextAt(trace, "event_type"),
                 OrDash(TextAt(trace, "consumer_group")), OrDash(names),
                 std::string(trace.Find("data").raw())});
    }
    Session::Print(table.empty() ? "There are no traces.\n" : table.Show(session.out()));
    return kDone;
  });
}

int ShowNames(Session& session, TraceOptions& options) {
  if (options.limit > 0) options.page.limit = options.limit;
  return session.Show(session.admin().TraceNames(options.page), [&](const JsonValue& root) {
    Table table({{"NAME"}, {"TRACES", true}, {"MESSAGES", true}, {"LAST SEEN"}});
    for (const JsonValue& name : JsonElements(root.Find("trace_names"))) {
      table.Add({TextAt(name, "trace_name"), ShowCount(CountAt(name, "trace_count")),
                 ShowCount(CountAt(name, "message_count")), ShowTime(TextAt(name, "last_seen"))});
    }
    Session::Print(table.empty() ? "There are no traces.\n" : table.Show(session.out()));
    return kDone;
  });
}

int Add(Session& session, const TraceOptions& options) {
  std::string body;
  JsonWriter writer(body);
  writer.BeginObject();
  writer.Field("partitionId", options.partition_id);
  writer.Field("transactionId", options.transaction_id);
  if (!options.event_type.empty()) writer.Field("eventType", options.event_type);
  writer.Key("data");
  writer.Raw(ParseJson(options.data).ok() ? options.data : client::JsonString(options.data));
  writer.Key("traceNames");
  writer.BeginArray();
  for (const std::string& name : options.names) writer.String(name);
  writer.EndArray();
  writer.EndObject();
  return session.Show(session.admin().RecordTrace(body), [&](const JsonValue& root) {
    Session::Print(fmt::format("Noted as {}.\n", Printable(TextAt(root, "traceId"))));
    return kDone;
  });
}

}  // namespace

Command TraceCommand() {
  auto options = std::make_shared<TraceOptions>();
  const std::vector<Argument> message = {{"PARTITION-ID", "", &options->partition_id},
                                         {"TRANSACTION-ID", "", &options->transaction_id}};
  std::vector<Argument> noted = message;
  noted.push_back({"DATA", "JSON, or a plain text", &options->data});
  const std::vector<Option> page = {
      {"-n,--limit", "N", "at most so many", AtLeastOne(&options->limit)},
      {"--offset", "N", "leave out so many first", NumberTarget{&options->page.offset}}};
  return {
      "trace",
      "show or add what applications note about messages",
      "",
      {},
      {},
      {},
      {{"show",
        "the traces of one message, oldest first",
        "",
        message,
        {},
        [options](Session& session) {
          return ShowTraces(session,
                            session.admin().Traces(options->partition_id, options->transaction_id));
        }},
       {"name",
        "the traces of a name, over all messages",
        "",
        {{"NAME", "", &options->name}},
        page,
        [options](Session& session) {
          if (options->limit > 0) options->page.limit = options->limit;
          return ShowTraces(session, session.admin().TracesByName(options->name, options->page));
        }},
       {"names",
        "the names that are in use",
        "",
        {},
        page,
        [options](Session& session) { return ShowNames(session, *options); }},
       {"add",
        "note something about a message",
        "",
        noted,
        {{"--event", "TYPE", "info if not given", &options->event_type},
         {"--name", "NAME", "may be given several times", &options->names}},
        [options](Session& session) { return Add(session, *options); }}},
  };
}

}  // namespace queen::cli
