// `queen top`: a table of queues that is renewed until q is pressed. Rates are the differences of
// the counters of the brokers named in --url; depth, lag and leases are what the stats job of the
// brokers measured last.
#include <fmt/format.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "cli/families.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/queue_counters.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/units.h"

namespace queen::cli {
namespace {

struct TopOptions {
  int64_t interval_seconds = 2;
  int64_t count = 0;
  std::string sort = "push";
};

struct Row {
  std::string queue;
  double push = 0;
  double deliver = 0;
  double ack = 0;
  int64_t depth = 0;
  int64_t processing = 0;
  int64_t partitions = 0;
  int64_t leases = 0;
  int64_t groups = 0;
  double behind = 0;  // seconds
};

// Keys without Enter, and the screen as it was before at the end.
class Screen {
 public:
  explicit Screen(bool on) : on_(on && isatty(STDIN_FILENO) == 1) {
    if (!on_) return;
    tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    Session::Print("\033[?1049h\033[?25l");
  }
  ~Screen() {
    if (!on_) return;
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    Session::Print("\033[?25h\033[?1049l");
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool on() const { return on_; }

  // Waits for a key, at most so long; 0 if there was none.
  char Key(int millis) const {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char key = 0;
    if (poll(&input, on_ ? 1 : 0, millis) > 0 && read(STDIN_FILENO, &key, 1) != 1) return 'q';
    return key;
  }

 private:
  bool on_;
  termios before_{};
};

struct Sample {
  std::map<std::string, Row> rows;
  QueueCounters counters;
  std::chrono::steady_clock::time_point when;
};

client::Result<Sample> Measure(Session& session) {
  Sample sample;
  const auto queues = session.admin().Queues();
  if (!queues.ok()) return queues.error();
  const auto groups = session.admin().Groups();
  if (!groups.ok()) return groups.error();
  const auto root = ParseJson(*queues);
  if (root.ok()) {
    for (const JsonValue& queue : JsonElements(root->Find("queues"))) {
      Row& row = sample.rows[TextAt(queue, "name")];
      row.queue = TextAt(queue, "name");
      row.partitions = CountAt(queue, "partitions");
      row.depth = CountAt(queue.Find("messages"), "pending");
      row.processing = CountAt(queue.Find("messages"), "processing");
    }
  }
  const auto list = ParseJson(*groups);
  if (list.ok()) {
    for (const JsonValue& group : JsonElements(*list)) {
      const auto row = sample.rows.find(TextAt(group, "queueName"));
      if (row == sample.rows.end()) continue;
      row->second.groups += 1;
      row->second.leases += CountAt(group, "members");
      row->second.behind = std::max(row->second.behind, NumberOf(group.Find("maxTimeLag")));
    }
  }
  for (const auto& metrics : session.FromEveryBroker("/metrics/prometheus")) {
    if (metrics.ok()) AddQueueCounters(*metrics, sample.counters);
  }
  sample.when = std::chrono::steady_clock::now();
  return sample;
}

void SetRates(const Sample& before, Sample& sample) {
  const double seconds = std::chrono::duration<double>(sample.when - before.when).count();
  for (auto& [name, row] : sample.rows) {
    const auto now = sample.counters.find(name);
    const auto then = before.counters.find(name);
    if (now == sample.counters.end() || then == before.counters.end() || seconds <= 0) continue;
    row.push = std::max(0.0, now->second.pushed - then->second.pushed) / seconds;
    row.deliver = std::max(0.0, now->second.delivered - then->second.delivered) / seconds;
    row.ack = std::max(0.0, now->second.settled - then->second.settled) / seconds;
  }
}

std::vector<Row> Sorted(const Sample& sample, const std::string& by) {
  std::vector<Row> rows;
  for (const auto& [name, row] : sample.rows) rows.push_back(row);
  std::ranges::stable_sort(rows, [&by](const Row& a, const Row& b) {
    if (by == "depth") return a.depth > b.depth;
    if (by == "lag") return a.behind > b.behind;
    if (by == "name") return a.queue < b.queue;
    return a.push + a.deliver > b.push + b.deliver;
  });
  return rows;
}

std::string Heading(const Session& session, const std::vector<Row>& rows, const std::string& url,
                    const std::string& sort) {
  double push = 0;
  double deliver = 0;
  int64_t depth = 0;
  for (const Row& row : rows) {
    push += row.push;
    deliver += row.deliver;
    depth += row.depth;
  }
  return fmt::format("{}  {} queues  push {}  pop {}  depth {}  by {}\n\n",
                     session.out().Paint(Colour::kBold, "queen top " + url), rows.size(),
                     ShowRate(push), ShowRate(deliver), ShowCount(depth), sort);
}

std::string TableOf(const Session& session, const std::vector<Row>& rows, size_t rows_max) {
  Table table({{"QUEUE"},
               {"PUSH", true},
               {"POP", true},
               {"ACK", true},
               {"DEPTH", true},
               {"PROCESSING", true},
               {"BEHIND", true},
               {"LEASES", true},
               {"GROUPS", true},
               {"PARTITIONS", true}});
  for (const Row& row : rows) {
    table.Add({row.queue, ShowRate(row.push), ShowRate(row.deliver), ShowRate(row.ack),
               Cell(ShowCount(row.depth), row.depth > 0 ? Colour::kYellow : Colour::kNone),
               ShowCount(row.processing),
               Cell(ShowSeconds(row.behind), row.behind > 300 ? Colour::kRed : Colour::kNone),
               ShowCount(row.leases), ShowCount(row.groups), ShowCount(row.partitions)});
  }
  return table.Show(session.out(), rows_max);
}

std::string JsonOf(const std::vector<Row>& rows) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Key("queues");
  writer.BeginArray();
  for (const Row& row : rows) {
    writer.BeginObject();
    writer.Field("queue", row.queue);
    writer.Field("pushPerSecond", row.push);
    writer.Field("popPerSecond", row.deliver);
    writer.Field("ackPerSecond", row.ack);
    writer.Field("depth", row.depth);
    writer.Field("processing", row.processing);
    writer.Field("behindSeconds", row.behind);
    writer.Field("leases", row.leases);
    writer.Field("groups", row.groups);
    writer.Field("partitions", row.partitions);
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
  return out + "\n";
}

std::string SortOfKey(char key, const std::string& before) {
  if (key == 'p') return "push";
  if (key == 'd') return "depth";
  if (key == 'l') return "lag";
  if (key == 'n') return "name";
  return before;
}

void Draw(const Session& session, const Screen& screen, const std::vector<Row>& rows,
          const std::string& sort) {
  if (session.json()) {
    Session::Print(JsonOf(rows));
    return;
  }
  std::string out = screen.on() ? "\033[H\033[2J" : "";
  const auto height = static_cast<size_t>(std::max(6, session.out().height()));
  out += Heading(session, rows, session.url(), sort);
  out += TableOf(session, rows, screen.on() ? height - 5 : SIZE_MAX);
  if (screen.on()) out += "\nq quits; sort by p push, d depth, l lag, n name";
  Session::Print(out);
}

int Top(Session& session, TopOptions& options) {
  const Interrupt interrupt;
  auto before = Measure(session);
  if (!before.ok()) return session.Fail(before.error());
  const bool live = !session.json() && session.out().exists();
  const Screen screen(live);
  const int64_t rounds = options.count > 0 ? options.count : live ? INT64_MAX : 1;
  std::vector<Row> rows = Sorted(*before, options.sort);
  if (live) Draw(session, screen, rows, options.sort);
  for (int64_t round = 0; round < rounds && !interrupt.asked();) {
    const auto due = before->when + std::chrono::seconds(options.interval_seconds);
    // Short waits, so that an interrupt is seen.
    const auto left = due - std::chrono::steady_clock::now();
    const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
    if (const char key = screen.Key(static_cast<int>(std::clamp<int64_t>(millis, 0, 100)));
        key != 0) {
      if (key == 'q') return kDone;
      options.sort = SortOfKey(key, options.sort);
      Draw(session, screen, Sorted(*before, options.sort), options.sort);
    }
    if (std::chrono::steady_clock::now() < due) continue;
    auto sample = Measure(session);
    if (!sample.ok()) return session.Fail(sample.error());
    SetRates(*before, *sample);
    Draw(session, screen, Sorted(*sample, options.sort), options.sort);
    before = std::move(sample);
    ++round;
  }
  return kDone;
}

}  // namespace

Command TopCommand() {
  auto options = std::make_shared<TopOptions>();
  return {
      "top",
      "watch the queues: rates, depth, lag, leases",
      "q quits. Without a terminal, or with --count, so many tables are printed. Rates are those\n"
      "of the brokers named in --url; depth and lag are of all brokers, as last measured.\n",
      {},
      {{"-i,--interval", "SECONDS", "between two tables (2)",
        NumberTarget{&options->interval_seconds, 3'600}},
       {"-n,--count", "N", "end after so many tables", AtLeastOne(&options->count)},
       {"--sort",
        "BY",
        "push, depth, lag or name (push)",
        &options->sort,
        {"push", "depth", "lag", "name"}}},
      [options](Session& session) { return Top(session, *options); }};
}

}  // namespace queen::cli
