#include "bench/bench.h"

#include <fmt/format.h>

#include <cstdio>
#include <thread>

#include "base/clock.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/resources.h"
#include "bench/run.h"
#include "bench/scenarios.h"
#include "bench/target.h"
#include "config/version.h"

namespace queen::bench {
namespace {

constexpr int kFailed = 1;
constexpr int kUsageError = 2;

void RunScenario(Run& run, Resources& resources, Report& report) {
  switch (run.options().scenario) {
    case Scenario::kPush:
      return RunPush(run, resources, report);
    case Scenario::kDrain:
      return RunDrain(run, resources, report);
    case Scenario::kE2e:
      return RunE2e(run, resources, report);
    case Scenario::kPopWave:
      return RunPopWave(run, resources, report);
    case Scenario::kPartitions:
      return RunPartitions(run, resources, report);
    case Scenario::kSoak:
      return RunSoak(run, resources, report);
  }
}

Report NewReport(const Options& options) {
  Report report;
  report.scenario = NameOf(options.scenario);
  report.url = options.url;
  report.version = config::Version();
  report.started_at = FormatTimestamp(WallMicros(), 0);
  report.processors = static_cast<int>(std::thread::hardware_concurrency());
  report.options = RecordedOptions(options);
  return report;
}

int Complain(const Status& status) {
  fmt::print(stderr, "queen bench: {}\n", status.message());
  return status.code() == Code::kInvalidRequest ? kUsageError : kFailed;
}

}  // namespace

int RunBench(const std::vector<std::string>& words, const std::string& environment_database,
             const std::string& token) {
  const auto parsed = ParseOptions(words);
  if (const auto* answer = std::get_if<Answer>(&parsed)) {
    fmt::print(answer->exit_code == 0 ? stdout : stderr, "{}", answer->text);
    return answer->exit_code;
  }
  const auto& options = std::get<Options>(parsed);
  const Result<Target> target = Target::Resolve(options.url, token);
  if (!target.ok()) {
    return Complain(Status(target.status().code(), "--url: " + target.status().message()));
  }

  Run run(options, *target);
  if (const Run::Answer probe = run.Call(target->GetHead("/health")); probe.status == 0) {
    return Complain(Status(Code::kNotFound, fmt::format("{}: {}", options.url, probe.body)));
  }
  Result<Resources> resources = Resources::Open(options, *target, environment_database);
  if (!resources.ok()) return Complain(resources.status());
  if (options.hold_transaction && resources->conninfo().empty()) {
    return Complain(
        Status(Code::kInvalidRequest,
               "--hold-transaction: the database is not known; name it with --database"));
  }
  Report report = NewReport(options);
  RunScenario(run, *resources, report);
  run.progress().End();
  report.errors = run.errors();
  fmt::print("{}", options.json ? ReportJson(report) : ReportTable(report));
  return report.ok() ? 0 : kFailed;
}

}  // namespace queen::bench
