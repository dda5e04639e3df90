// `queen push`: one message from the command line, or many from a file or standard input of JSON
// lines, in batches and with a progress bar.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include <queen/producer.h>
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "cli/families.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/line_reader.h"
#include "cli/progress_bar.h"
#include "cli/session.h"
#include "cli/units.h"

namespace queen::cli {
namespace {

using client::NewMessage;
using client::PushOutcome;
using client::PushStatus;

constexpr size_t kFailuresTold = 10;

struct PushOptions {
  std::string queue;
  std::string payload;
  std::string partition = "Default";
  std::string transaction_id;
  std::string trace_id;
  std::string file;
  std::vector<std::string> headers;
  bool text = false;
  bool envelopes = false;
  int64_t batch = 500;
  int64_t tries = 0;  // 0 = a few for one message, minutes of them for many
};

// What became of all messages; outcomes arrive on the producer's threads.
struct Tally {
  std::atomic<int64_t> queued = 0;
  std::atomic<int64_t> duplicate = 0;
  std::atomic<int64_t> buffered = 0;
  std::atomic<int64_t> failed = 0;
  std::mutex mutex;
  std::vector<std::string> reasons;  // of the first failures
  PushOutcome last;
  std::atomic<bool> unreachable = false;  // no broker answered, as long as that was tried
  std::stop_source end;                   // nothing further is pushed

  int64_t total() const { return queued + duplicate + buffered + failed; }

  void Fail(int64_t line, const std::string& why) {
    ++failed;
    const std::lock_guard lock(mutex);
    if (reasons.size() < kFailuresTold) reasons.push_back(fmt::format("line {}: {}", line, why));
  }

  // What comes behind a request that no broker answered would wait as long, in vain.
  void GiveUpIf(std::optional<client::ErrorKind> error) {
    if (error != client::ErrorKind::kUnreachable && error != client::ErrorKind::kUnavailable &&
        error != client::ErrorKind::kUnknownOutcome) {
      return;
    }
    unreachable = true;
    end.request_stop();
  }

  void Count(int64_t line, const PushOutcome& outcome) {
    switch (outcome.status) {
      case PushStatus::kQueued:
        ++queued;
        break;
      case PushStatus::kDuplicate:
        ++duplicate;
        break;
      case PushStatus::kBuffered:
        ++buffered;
        break;
      case PushStatus::kFailed:
      case PushStatus::kUnknown:
        Fail(line, outcome.error);
        return GiveUpIf(outcome.request_error);
    }
    const std::lock_guard lock(mutex);
    last = outcome;
  }
};

// The message that a line of the input stands for; a problem, or "".
std::string ReadEnvelope(const std::string& line, NewMessage& message) {
  const auto root = ParseJson(line);
  if (!root.ok()) return root.status().message();
  if (!root->is_object()) return "an envelope is an object with a payload";
  for (const JsonField& field : JsonFields(*root)) {
    if (field.key == "queue") message.queue = TextOf(field.value);
    if (field.key == "partition") message.partition = TextOf(field.value);
    if (field.key == "transactionId") message.transaction_id = TextOf(field.value);
    if (field.key == "traceId") message.trace_id = TextOf(field.value);
    if (field.key == "payload" || field.key == "data") message.payload = field.value.raw();
    if (field.key != "headers") continue;
    for (const JsonField& header : JsonFields(field.value)) {
      message.headers[std::string(header.key)] = TextOf(header.value);
    }
  }
  return "";
}

std::string SetUpMessage(const PushOptions& options, NewMessage& message) {
  message.queue = options.queue;
  message.partition = options.partition;
  message.transaction_id = options.transaction_id;
  message.trace_id = options.trace_id;
  for (const std::string& header : options.headers) {
    const size_t equals = header.find('=');
    if (equals == std::string::npos) return "--header: \"" + header + "\" is not NAME=VALUE";
    message.headers[header.substr(0, equals)] = header.substr(equals + 1);
  }
  return "";
}

void PrintSummary(const Session& session, const Tally& tally, double seconds) {
  if (session.json()) {
    std::string out;
    JsonWriter writer(out);
    writer.BeginObject();
    writer.Field("queued", tally.queued.load());
    writer.Field("duplicate", tally.duplicate.load());
    writer.Field("buffered", tally.buffered.load());
    writer.Field("failed", tally.failed.load());
    writer.Field("seconds", seconds);
    if (tally.total() == 1) {
      writer.Field("transactionId", tally.last.transaction_id);
      writer.Field("messageId", tally.last.message_id);
    }
    writer.Key("errors");
    writer.BeginArray();
    for (const std::string& reason : tally.reasons) writer.String(reason);
    writer.EndArray();
    writer.EndObject();
    Session::Print(out + "\n");
    return;
  }
  std::string line = fmt::format("{} queued", ShowCount(tally.queued));
  if (tally.duplicate > 0) line += fmt::format(", {} duplicate", ShowCount(tally.duplicate));
  if (tally.buffered > 0) line += fmt::format(", {} buffered", ShowCount(tally.buffered));
  if (tally.failed > 0) line += fmt::format(", {} failed", ShowCount(tally.failed));
  if (tally.total() == 1 && tally.failed == 0) {
    line += fmt::format("  transaction {}", Printable(tally.last.transaction_id));
  } else if (tally.total() > 1) {
    line += fmt::format("  in {}", ShowSeconds(seconds));
  }
  Session::Print(line + "\n");
}

int Finish(const Session& session, const Tally& tally, double seconds, bool interrupted) {
  PrintSummary(session, tally, seconds);
  for (const std::string& reason : tally.reasons) {
    Say(fmt::format("queen: {}\n", Printable(reason)));
  }
  if (tally.failed > static_cast<int64_t>(tally.reasons.size())) {
    Say(fmt::format("queen: and {} more\n", tally.failed - int64_t(tally.reasons.size())));
  }
  if (interrupted) return kInterrupted;
  if (tally.unreachable) return kUnreachable;
  return tally.failed > 0 ? kFailed : kDone;
}

int PushOne(Session& session, const PushOptions& options, NewMessage message) {
  message.payload = options.text ? client::JsonString(options.payload) : options.payload;
  const auto outcomes = options.tries == 0
                            ? session.client().Push({std::move(message)})
                            : session.NewClient(options.tries).Push({std::move(message)});
  if (!outcomes.ok()) {
    const int code = session.Fail(outcomes.error());
    if (outcomes.error().message.starts_with("the payload:")) {
      Say("A payload is JSON; --text pushes it as a string.\n");
      return kUsage;
    }
    return code;
  }
  Tally tally;
  tally.Count(1, outcomes->front());
  return Finish(session, tally, 0, false);
}

// The message of a line; a problem, or "".
std::string ReadLine(const PushOptions& options, const std::string& line, NewMessage& message) {
  if (options.envelopes) return ReadEnvelope(line, message);
  if (options.text && !IsValidUtf8(line)) return "the text is not UTF-8";
  message.payload = options.text ? client::JsonString(line) : line;
  return "";
}

// Pushes line after line, until they end or `stop` is asked.
void PushAll(const PushOptions& options, const NewMessage& sample, LineReader& input,
             client::Producer& producer, Tally& tally, const std::stop_token& stop) {
  ProgressBar bar("push " + options.queue + " (bytes)", input.size());
  int64_t number = 0;
  int64_t bytes = 0;
  for (std::string line; input.Next(line, stop);) {
    ++number;
    bytes += static_cast<int64_t>(line.size()) + 1;
    bar.Update(bytes);
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    NewMessage message = sample;
    std::string problem = ReadLine(options, line, message);
    if (problem.empty()) {
      const auto taken = producer.Push(
          std::move(message),
          [&tally, number](const PushOutcome& outcome) { tally.Count(number, outcome); });
      if (!taken.ok()) problem = taken.error().message;
    }
    if (!problem.empty()) tally.Fail(number, problem);
  }
  producer.Close();
}

int PushLines(Session& session, const PushOptions& options, const NewMessage& sample) {
  const Interrupt interrupt;
  LineReader input(options.file);
  if (!input.problem().empty()) return session.Fail(input.problem());
  // Who names no broker hears so at once; patience is for one that goes away meanwhile.
  const auto health = session.client().Send({"GET", "/health", ""}, interrupt.token());
  if (!health.ok() && (health.error().kind == client::ErrorKind::kUnreachable ||
                       health.error().kind == client::ErrorKind::kStopped)) {
    return session.Fail(health.error());
  }
  client::Client client =
      options.tries == 0 ? session.PatientClient() : session.NewClient(options.tries);
  Tally tally;
  const std::stop_callback interrupted(interrupt.token(), [&tally] { tally.end.request_stop(); });
  client::ProducerOptions batching;
  batching.batch_messages = static_cast<size_t>(options.batch);
  batching.stop = tally.end.get_token();
  const auto start = std::chrono::steady_clock::now();
  {
    client::Producer producer(client, batching);
    PushAll(options, sample, input, producer, tally, batching.stop);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const int code = Finish(session, tally, seconds.count(), interrupt.asked());
  return input.problem().empty() ? code : session.Fail(input.problem());
}

int Push(Session& session, PushOptions& options) {
  NewMessage message;
  if (const std::string problem = SetUpMessage(options, message); !problem.empty()) {
    return session.Fail(problem, kUsage);
  }
  if (!options.payload.empty() && !options.file.empty()) {
    return session.Fail("a payload and --file exclude each other", kUsage);
  }
  if (!options.payload.empty()) return PushOne(session, options, std::move(message));
  if (options.file.empty()) {
    if (isatty(STDIN_FILENO) == 1) {
      return session.Fail("name a payload, or a file of JSON lines with --file", kUsage);
    }
    options.file = "-";
  }
  if (!options.transaction_id.empty()) {
    return session.Fail("--transaction-id is for one message; use --envelopes for many", kUsage);
  }
  return PushLines(session, options, message);
}

}  // namespace

Command PushCommand() {
  auto options = std::make_shared<PushOptions>();
  return {
      "push",
      "push a message, or many from a file of JSON lines",
      "Without PAYLOAD, messages are read from --file or standard input, one JSON value per line.\n"
      "Every message has a transaction id before the first try, so that trying again after a lost\n"
      "connection does not double it. When the broker goes away meanwhile, that goes on for some\n"
      "minutes.\n",
      {{"QUEUE", "is made if it does not exist", &options->queue, true, Offer::kQueue},
       {"PAYLOAD", "JSON", &options->payload, false}},
      {{"-p,--partition", "NAME", "Default if not given", &options->partition},
       {"-f,--file",
        "FILE",
        "messages, one per line; - is standard input",
        &options->file,
        {},
        Offer::kFile},
       {"--envelopes", "", "lines are objects: payload, partition, transactionId, headers, ...",
        &options->envelopes},
       {"--text", "", "payloads are plain texts, not JSON", &options->text},
       {"--transaction-id", "ID", "what makes a second push a duplicate", &options->transaction_id},
       {"--trace-id", "UUID", "stored with the message", &options->trace_id},
       {"--header", "NAME=VALUE", "stored with the message; may be given several times",
        &options->headers},
       {"--batch", "N", "messages in one request (500)", AtLeastOne(&options->batch, 10'000)},
       {"--tries", "N", "how often each request is tried, instead of for some minutes",
        AtLeastOne(&options->tries, 1'000)}},
      [options](Session& session) { return Push(session, *options); },
  };
}

}  // namespace queen::cli
