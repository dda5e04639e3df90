// `queen doctor`: asks the broker how it and its database fare, and says what to do.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "cli/doctor_checks.h"
#include "cli/families.h"
#include "cli/json_text.h"
#include "cli/session.h"
#include "cli/units.h"

namespace queen::cli {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double SecondsOfDateHeader(const std::string& date) {
  std::tm time{};
  if (strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S", &time) == nullptr) return 0;
  return static_cast<double>(timegm(&time));
}

// Calls `check` with the document at `path`, or notes that it could not be had.
template <typename Check>
void With(Session& session, const std::string& name, const std::string& path, Findings& findings,
          const Check& check) {
  const auto reply = session.admin().Get(path);
  if (!reply.ok()) {
    findings.push_back(
        {name, Level::kNotChecked, fmt::format("{}: {}", path, reply.error().message),
         reply.error().kind == client::ErrorKind::kDenied ? "Use a token of an administrator."
                                                          : ""});
    return;
  }
  if (const auto root = ParseJson(*reply); root.ok()) check(*root);
}

// The broker's own disks. That of a PostgreSQL elsewhere is not seen from here.
void CheckDisks(const JsonValue& environment, Findings& findings) {
  for (const JsonValue& disk : JsonElements(environment.Find("disks"))) {
    CheckDisk(TextAt(disk, "path"), CountAt(disk, "freeBytes"), CountAt(disk, "totalBytes"),
              findings);
  }
}

void CheckEnvironment(Session& session, const client::Reply& health, Clocks clocks,
                      Findings& findings) {
  clocks.broker = SecondsOfDateHeader(health.date);
  const double before = Now();
  With(session, "settings", "/api/v1/system/environment", findings, [&](const JsonValue& root) {
    const double after = Now();
    // The times are taken at different moments: bring the database's to that of the broker's.
    const double database = SecondsOf(TextAt(root, "databaseTime"));
    clocks.database = database > 0 ? database - (before + after) / 2 + clocks.here : 0;
    clocks.uncertain = std::max(clocks.uncertain, (after - before) / 2);
    CheckVersion(root, findings);
    CheckSettings(root, findings);
    CheckDisks(root, findings);
  });
  CheckClocks(clocks, findings);
}

Colour ColourOf(Level level) {
  switch (level) {
    case Level::kGood:
      return Colour::kGreen;
    case Level::kWarning:
      return Colour::kYellow;
    case Level::kBad:
      return Colour::kRed;
    case Level::kNote:
    case Level::kNotChecked:
      return Colour::kDim;
  }
  return Colour::kNone;
}

bool IsTrouble(const Finding& finding) {
  return finding.level == Level::kWarning || finding.level == Level::kBad;
}

void PrintJson(const Findings& findings, bool good) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Field("ok", good);
  writer.Key("findings");
  writer.BeginArray();
  for (const Finding& finding : findings) {
    writer.BeginObject();
    writer.Field("check", finding.check);
    writer.Field("level", NameOf(finding.level));
    writer.Field("finding", finding.text);
    writer.Field("advice", finding.advice);
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
  Session::Print(out + "\n");
}

void PrintText(const Session& session, const Findings& findings) {
  for (const Finding& finding : findings) {
    Session::Print(fmt::format(
        "{}  {:<12}  {}\n",
        session.out().Paint(ColourOf(finding.level), fmt::format("{:<11}", NameOf(finding.level))),
        finding.check, Printable(finding.text)));
    if (!finding.advice.empty()) {
      Session::Print(fmt::format("{:<13}{:<14}{} {}\n", "", "",
                                 session.out().Paint(Colour::kBold, "->"),
                                 Printable(finding.advice)));
    }
  }
}

int Doctor(Session& session) {
  const double before = Now();
  auto health = session.client().Send({"GET", "/health", ""});
  const double after = Now();
  Findings findings;
  if (!health.ok()) {
    if (health.error().kind != client::ErrorKind::kUnavailable) return session.Fail(health.error());
    CheckBroker(JsonValue(), findings);
  } else {
    const auto root = ParseJson(health->body);
    if (!root.ok()) return session.Fail("there is no broker at " + session.client().url());
    CheckBroker(*root, findings);
    CheckEnvironment(session, *health, {(before + after) / 2, 0, 0, (after - before) / 2},
                     findings);
    With(session, "database", "/api/v1/analytics/postgres-stats", findings,
         [&](const JsonValue& stats) { CheckDatabase(stats, findings); });
    With(session, "maintenance", "/api/v1/system/maintenance", findings,
         [&](const JsonValue& maintenance) { CheckMaintenance(maintenance, findings); });
    With(session, "groups", "/api/v1/consumer-groups", findings,
         [&](const JsonValue& groups) { CheckGroups(groups, findings); });
  }
  const bool good = std::ranges::none_of(findings, IsTrouble);
  session.json() ? PrintJson(findings, good) : PrintText(session, findings);
  const bool no_database = findings.front().level == Level::kBad;  // CheckBroker's
  if (no_database) return kUnreachable;
  return good ? kDone : kFailed;
}

}  // namespace

Command DoctorCommand() {
  return {"doctor",
          "check the broker and its database, and say what to do",
          "Looks at the version and the settings of PostgreSQL, clocks, disk, bloat, long\n"
          "transactions, the file buffer, maintenance and consumer groups. The exit code is 1 if\n"
          "something is to be done, and 3 if the broker has no database.\n",
          {},
          {},
          [](Session& session) { return Doctor(session); }};
}

}  // namespace queen::cli
