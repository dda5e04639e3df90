// `queen audit`: who changed or deleted what.
#include <fmt/format.h>

#include <memory>

#include "cli/families.h"
#include "cli/json_text.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/units.h"

namespace queen::cli {
namespace {

struct AuditOptions {
  client::AuditFilter filter;
};

int List(Session& session, const AuditOptions& options) {
  return session.Show(session.admin().Audit(options.filter), [&](const JsonValue& root) {
    Table table({{"AT"}, {"ACTOR"}, {"CLIENT"}, {"ACTION"}, {"STATUS", true}, {"PATH"}});
    int64_t shown = 0;
    for (const JsonValue& entry : JsonElements(root.Find("entries"))) {
      table.Add({ShowTime(TextAt(entry, "at")), OrDash(TextAt(entry, "actor")),
                 OrDash(TextAt(entry, "client")), TextAt(entry, "action"),
                 ShowCount(CountAt(entry, "status")), TextAt(entry, "path")});
      ++shown;
    }
    if (shown == 0) {
      Session::Print("The audit trail has no such entry.\n");
      return kDone;
    }
    Session::Print(table.Show(session.out()));
    const std::string next = TextAt(root, "next");
    if (!next.empty()) Session::Print(fmt::format("--before {} shows older ones\n", next));
    return kDone;
  });
}

}  // namespace

Command AuditCommand() {
  auto options = std::make_shared<AuditOptions>();
  client::AuditFilter& filter = options->filter;
  return {"audit",
          "list who changed or deleted what",
          "The newest first; with the address and the subject of the token or certificate.\n",
          {},
          {{"--actor", "NAME", "only of this subject", &filter.actor},
           {"--action", "NAME", "only this, such as queue.delete, or all of queue", &filter.action},
           {"--queue", "NAME", "only of this queue", &filter.queue, {}, Offer::kQueue},
           {"--from", "TIME", "at or after", &filter.from},
           {"--to", "TIME", "at or before", &filter.to},
           {"--before", "ID", "those behind this entry", &filter.before},
           {"-n,--limit", "N", "at most so many (100)", AtLeastOne(&filter.limit, 1'000)}},
          [options](Session& session) { return List(session, *options); }};
}

}  // namespace queen::cli
