#include "bench/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/json_writer.h"
#include "bench/payload.h"
#include "bench/push_request.h"
#include "config/names.h"

namespace queen::bench {
namespace {

constexpr int kUsageError = 2;

struct ScenarioInfo {
  Scenario scenario;
  std::string_view name;
  std::string_view summary;
};

constexpr std::array<ScenarioInfo, 6> kScenarios = {{
    {Scenario::kPush, "push", "push as fast as the broker answers"},
    {Scenario::kDrain, "drain", "pop and ack a backlog as fast as the broker answers"},
    {Scenario::kE2e, "e2e", "latency from the intended send to the receipt, at a fixed rate"},
    {Scenario::kPopWave, "popwave", "many pops of as many partitions, all at once"},
    {Scenario::kPartitions, "partitions", "wildcard pop and ack at several numbers of partitions"},
    {Scenario::kSoak, "soak", "push and drain at a fixed rate for long, as a series over time"},
}};

constexpr unsigned Bit(Scenario scenario) { return 1U << static_cast<unsigned>(scenario); }
constexpr unsigned kPush = Bit(Scenario::kPush);
constexpr unsigned kDrain = Bit(Scenario::kDrain);
constexpr unsigned kE2e = Bit(Scenario::kE2e);
constexpr unsigned kPopWave = Bit(Scenario::kPopWave);
constexpr unsigned kPartitions = Bit(Scenario::kPartitions);
constexpr unsigned kSoak = Bit(Scenario::kSoak);
constexpr unsigned kAll = kPush | kDrain | kE2e | kPopWave | kPartitions | kSoak;

struct IntOption {
  int64_t Options::*member;
  int64_t min;
  int64_t max;
};
struct FlagOption {
  bool Options::*member;
};
struct TextOption {
  std::string Options::*member;
};
struct ListOption {
  std::vector<int64_t> Options::*member;
  int64_t min;
  int64_t max;
};

struct Row {
  std::string_view flag;
  unsigned scenarios;
  std::variant<IntOption, FlagOption, TextOption, ListOption> kind;
  std::string_view help;
  bool recorded = true;  // part of what the report says about the load
};

constexpr int64_t kSecondsMax = int64_t{7} * 86'400;
constexpr int64_t kMessagesMax = 1'000'000'000;
constexpr int64_t kConnectionsMax = 10'000;
constexpr int64_t kBatchMax = 10'000;
constexpr int64_t kPayloadMax = 1 << 20;

constexpr std::array kRows = {
    Row{"--url", kAll, TextOption{&Options::url}, "the broker", false},
    Row{"--queue", kAll, TextOption{&Options::queue},
        "the queue; it must be empty (default: a new one)", false},
    Row{"--keep-queue", kAll, FlagOption{&Options::keep_queue},
        "do not delete the queue at the end", false},
    Row{"--seconds", kPush | kDrain | kE2e | kSoak, IntOption{&Options::seconds, 1, kSecondsMax},
        "how long to measure (drain: with --with-push)"},
    Row{"--messages", kPush | kE2e, IntOption{&Options::messages, 1, kMessagesMax},
        "so many messages instead of --seconds (e2e: with --idle)"},
    Row{"--warmup", kPush | kDrain | kE2e | kSoak,
        IntOption{&Options::warmup_seconds, 0, kSecondsMax},
        "seconds before the measurement begins (drain: with --with-push)"},
    Row{"--rate", kE2e | kSoak, IntOption{&Options::rate, 1, 10'000'000},
        "messages per second, whatever the broker does"},
    Row{"--connections", kPush, IntOption{&Options::producers, 1, kConnectionsMax},
        "connections that push"},
    Row{"--batch", kPush, IntOption{&Options::push_batch, 1, kBatchMax}, "messages per push"},
    Row{"--connections", kDrain | kPartitions, IntOption{&Options::consumers, 1, kConnectionsMax},
        "connections that pop and ack"},
    Row{"--batch", kDrain | kPopWave | kPartitions, IntOption{&Options::pop_batch, 1, kBatchMax},
        "most messages per pop"},
    Row{"--producers", kDrain | kE2e | kSoak, IntOption{&Options::producers, 1, kConnectionsMax},
        "connections that push"},
    Row{"--push-batch", kDrain | kE2e | kSoak, IntOption{&Options::push_batch, 1, kBatchMax},
        "messages per push"},
    Row{"--consumers", kE2e | kSoak, IntOption{&Options::consumers, 1, kConnectionsMax},
        "connections that pop and ack"},
    Row{"--pop-batch", kE2e | kSoak, IntOption{&Options::pop_batch, 1, kBatchMax},
        "most messages per pop"},
    Row{"--partitions", kPush | kDrain | kE2e | kSoak,
        IntOption{&Options::partitions, 1, kPartitionMax}, "partitions of the queue"},
    Row{"--partitions-per-push", kPush | kDrain | kSoak,
        IntOption{&Options::partitions_per_push, 1, kBatchMax},
        "partitions the messages of one push are spread over"},
    Row{"--partitions-per-pop", kDrain | kE2e | kSoak,
        IntOption{&Options::partitions_per_pop, 1, kBatchMax}, "most partitions per pop"},
    Row{"--groups", kDrain, IntOption{&Options::groups, 1, 1'000},
        "consumer groups, which each get every message"},
    Row{"--fill", kPush | kDrain, IntOption{&Options::fill, 0, kMessagesMax},
        "messages pushed before the measurement"},
    Row{"--with-push", kDrain, FlagOption{&Options::with_push},
        "push and drain at once, as fast as the broker answers"},
    Row{"--idle", kE2e, FlagOption{&Options::idle}, "one message at a time instead of --rate"},
    Row{"--pause-ms", kE2e, IntOption{&Options::pause_ms, 0, 60'000},
        "with --idle: milliseconds between a receipt and the next message"},
    Row{"--pops", kPopWave, IntOption{&Options::pops, 1, kConnectionsMax},
        "pops per wave, each of its own partition on its own connection"},
    Row{"--rounds", kPopWave, IntOption{&Options::rounds, 1, 100'000}, "waves"},
    Row{"--counts", kPartitions, ListOption{&Options::counts, 1, kPartitionMax},
        "numbers of partitions, such as 100,10000,100000"},
    Row{"--operations", kPartitions, IntOption{&Options::operations, 1, kMessagesMax},
        "pops with their acks per number of partitions"},
    Row{"--payload", kAll,
        IntOption{&Options::payload_bytes, int64_t{kPayloadBytesMin}, kPayloadMax},
        "bytes per payload"},
    Row{"--no-transaction-ids", kAll, FlagOption{&Options::no_transaction_ids},
        "push without transactionId"},
    Row{"--ids", kAll, TextOption{&Options::ids},
        "what transactionIds are: v7 (UUIDv7), v4 (UUIDv4) or key (order-..)"},
    Row{"--no-verify", kPush, FlagOption{&Options::no_verify},
        "do not drain the queue afterwards to see that everything is there"},
    Row{"--interval", kPush | kDrain | kE2e | kSoak,
        IntOption{&Options::interval_seconds, 1, 86'400}, "seconds per point of the series"},
    Row{"--hold-transaction", kSoak, FlagOption{&Options::hold_transaction},
        "hold a REPEATABLE READ transaction open during the run (needs the database)"},
    Row{"--database", kAll, TextOption{&Options::database},
        "connection string of the broker's database, for WAL bytes (default: DATABASE_URL, else\n"
        "      the socket of a broker's own cluster)",
        false},
    Row{"--broker-pid", kAll, IntOption{&Options::broker_pid, 1, INT32_MAX},
        "the broker's process (default: who listens at a local --url)", false},
    Row{"--postgres-pid", kAll, IntOption{&Options::postgres_pid, 1, INT32_MAX},
        "the postmaster (default: the broker's child, else the only one running)", false},
    Row{"--stall", kAll, IntOption{&Options::stall_seconds, 1, 86'400},
        "give up after so many seconds without progress", false},
    Row{"--json", kAll, FlagOption{&Options::json}, "print one JSON object instead of a table",
        false},
    Row{"--quiet", kAll, FlagOption{&Options::quiet}, "no progress on standard error", false},
};

Options DefaultsOf(Scenario scenario) {
  Options options;
  options.scenario = scenario;
  switch (scenario) {
    case Scenario::kPush:
      options.producers = 32;
      options.fill = 0;
      break;
    case Scenario::kDrain:
      break;
    case Scenario::kE2e:
      options.producers = 16;
      options.push_batch = 1;
      options.pop_batch = 10;
      options.warmup_seconds = 1;
      break;
    case Scenario::kPopWave:
    case Scenario::kPartitions:
      options.pop_batch = 1;
      break;
    case Scenario::kSoak:
      options.producers = 16;
      options.seconds = 600;
      options.rate = 10'000;
      options.warmup_seconds = 5;
      options.interval_seconds = 10;
      break;
  }
  return options;
}

std::string Show(const Row& row, const Options& options) {
  if (const auto* number = std::get_if<IntOption>(&row.kind)) {
    return std::to_string(options.*number->member);
  }
  if (const auto* flag = std::get_if<FlagOption>(&row.kind)) {
    return options.*flag->member ? "true" : "false";
  }
  if (const auto* text = std::get_if<TextOption>(&row.kind)) return options.*text->member;
  return fmt::format("{}", fmt::join(options.*std::get<ListOption>(row.kind).member, ","));
}

std::string_view ArgumentOf(const Row& row) {
  constexpr std::array<std::string_view, 4> kArguments = {" N", "", " TEXT", " N,N,..."};
  return kArguments[row.kind.index()];
}

std::string GeneralHelp() {
  std::string out =
      "Usage: queen bench SCENARIO [options]\n\n"
      "Puts load on a broker, over HTTP, and reports rates, latencies and what they cost. Lost,\n"
      "duplicated and reordered messages are counted; a run with any of these, or with errors,\n"
      "exits with 1.\n\n";
  for (const ScenarioInfo& info : kScenarios) {
    out += fmt::format("  {:<10} {}\n", info.name, info.summary);
  }
  return out + "\n`queen bench SCENARIO --help` lists its options.\n";
}

std::string HelpOf(const ScenarioInfo& info) {
  std::string out =
      fmt::format("Usage: queen bench {} [options]\n\n{}.\n\n", info.name, info.summary);
  out[out.find("\n\n") + 2] = static_cast<char>(toupper(info.summary.front()));
  const Options defaults = DefaultsOf(info.scenario);
  for (const Row& row : kRows) {
    if ((row.scenarios & Bit(info.scenario)) == 0) continue;
    const std::string value = Show(row, defaults);
    const bool shown =
        !std::holds_alternative<FlagOption>(row.kind) && !value.empty() && value != "0";
    out += fmt::format("  {}{}{}\n      {}\n", row.flag, ArgumentOf(row),
                       shown ? fmt::format("  (default {})", value) : "", row.help);
  }
  return out;
}

std::optional<int64_t> ParseInt(std::string_view text) {
  int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// Sets the member from `text`; what is wrong with it, or "".
std::string Set(const Row& row, const std::string& text, Options& options) {
  if (const auto* number = std::get_if<IntOption>(&row.kind)) {
    const auto value = ParseInt(text);
    if (!value || *value < number->min || *value > number->max) {
      return fmt::format("{} must be a whole number from {} to {}, not \"{}\"", row.flag,
                         number->min, number->max, text);
    }
    options.*number->member = *value;
    return "";
  }
  if (const auto* string = std::get_if<TextOption>(&row.kind)) {
    if (text.empty()) return fmt::format("{} must not be empty", row.flag);
    options.*string->member = text;
    return "";
  }
  const auto& list = std::get<ListOption>(row.kind);
  std::vector<int64_t> values;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    const auto value = ParseInt(rest.substr(0, comma));
    if (!value || *value < list.min || *value > list.max) {
      return fmt::format("{} must be whole numbers from {} to {} with commas between, not \"{}\"",
                         row.flag, list.min, list.max, text);
    }
    values.push_back(*value);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  options.*list.member = std::move(values);
  return "";
}

const Row* FindRow(std::string_view flag, Scenario scenario) {
  for (const Row& row : kRows) {
    if (row.flag == flag && (row.scenarios & Bit(scenario)) != 0) return &row;
  }
  return nullptr;
}

std::string UnknownOption(std::string_view flag, const ScenarioInfo& info) {
  std::vector<std::string> known;
  for (const Row& row : kRows) {
    if ((row.scenarios & Bit(info.scenario)) != 0) known.emplace_back(row.flag);
    if (row.flag == flag) return fmt::format("{} is no option of bench {}", flag, info.name);
  }
  return fmt::format("unknown option {}{}", flag, config::Suggestion(flag, known));
}

// What is wrong with options that are each right, or "".
std::string Contradiction(const Options& options) {
  if (options.partitions_per_push > options.push_batch) {
    return "--partitions-per-push is larger than the messages of a push";
  }
  if (options.partitions_per_push > options.partitions) {
    return "--partitions-per-push is larger than --partitions";
  }
  if (options.scenario == Scenario::kDrain && options.groups > options.consumers) {
    return "--groups is larger than --connections: each group needs one";
  }
  if (options.scenario == Scenario::kDrain && options.fill == 0 && !options.with_push) {
    return "--fill 0 leaves nothing to drain without --with-push";
  }
  if (options.scenario == Scenario::kE2e && options.messages > 0 && !options.idle) {
    return "--messages goes with --idle";
  }
  if (std::ranges::find(kIdKindNames, options.ids) == kIdKindNames.end()) {
    return fmt::format("--ids must be v7, v4 or key, not \"{}\"", options.ids);
  }
  return "";
}

Answer Mistake(std::string_view what, std::string_view help) {
  return {kUsageError, fmt::format("queen: {}\nTry `queen bench {}`.\n", what, help)};
}

}  // namespace

IdKind IdKindOf(const Options& options) {
  const auto* const name = std::ranges::find(kIdKindNames, options.ids);
  return static_cast<IdKind>(name - kIdKindNames.begin());
}

std::string_view NameOf(Scenario scenario) {
  return std::ranges::find(kScenarios, scenario, &ScenarioInfo::scenario)->name;
}

std::variant<Options, Answer> ParseOptions(const std::vector<std::string>& words) {
  if (words.empty()) return Answer{kUsageError, GeneralHelp()};
  const std::string& name = words.front();
  if (name == "--help" || name == "-h" || name == "help") return Answer{0, GeneralHelp()};
  const auto* const info = std::ranges::find(kScenarios, name, &ScenarioInfo::name);
  if (info == kScenarios.end()) {
    std::vector<std::string> names;
    names.reserve(kScenarios.size());
    for (const ScenarioInfo& known : kScenarios) names.emplace_back(known.name);
    return Mistake(
        name.starts_with('-')
            ? fmt::format("the scenario comes first: queen bench SCENARIO {}", name)
            : fmt::format("unknown scenario {}{}", name, config::Suggestion(name, names)),
        "--help");
  }

  const std::string help = fmt::format("{} --help", name);
  Options options = DefaultsOf(info->scenario);
  std::vector<std::string_view> given;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help" || word == "-h") return Answer{0, HelpOf(*info)};
    if (!word.starts_with('-')) {
      return Mistake(fmt::format("unexpected argument \"{}\"", word), help);
    }
    const size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    const Row* const row = FindRow(flag, info->scenario);
    if (row == nullptr) return Mistake(UnknownOption(flag, *info), help);
    if (std::ranges::find(given, row->flag) != given.end()) {
      return Mistake(fmt::format("{} is given twice", flag), help);
    }
    given.push_back(row->flag);
    if (const auto* switched = std::get_if<FlagOption>(&row->kind)) {
      if (equals != std::string::npos) return Mistake(fmt::format("{} takes no value", flag), help);
      options.*switched->member = true;
      continue;
    }
    if (equals == std::string::npos && i + 1 == words.size()) {
      return Mistake(fmt::format("{} needs a value", flag), help);
    }
    const std::string& value = equals == std::string::npos ? words[++i] : word;
    const std::string problem =
        Set(*row, equals == std::string::npos ? value : value.substr(equals + 1), options);
    if (!problem.empty()) return Mistake(problem, help);
  }
  if (const std::string problem = Contradiction(options); !problem.empty()) {
    return Mistake(problem, help);
  }
  return options;
}

std::vector<std::pair<std::string, std::string>> RecordedOptions(const Options& options) {
  std::vector<std::pair<std::string, std::string>> recorded;
  for (const Row& row : kRows) {
    if (!row.recorded || (row.scenarios & Bit(options.scenario)) == 0) continue;
    std::string value = Show(row, options);
    if (std::holds_alternative<ListOption>(row.kind)) value = fmt::format("[{}]", value);
    if (std::holds_alternative<TextOption>(row.kind)) {
      std::string quoted;
      AppendJsonString(quoted, value);
      value = quoted;
    }
    recorded.emplace_back(row.flag.substr(2), std::move(value));
  }
  return recorded;
}

}  // namespace queen::bench
