// simulate [--seed N] [--seconds N | --worlds N] [--weather calm|bumpy|stormy] [--brokers N]
//           [--pace busy|waiting|polling] [--check-ms N] [--patience-ms N] [--planted NAME]
//           [--print] [--here]
//
// Runs one world after the other, with the seeds N, N + 1, ..., each in a process of its own, so
// that nothing of one is left in the next. Exits with 0 when no rule was broken, with 3 when one
// was, with 4 when a world crashed.
#include <fmt/format.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>

#include "base/log.h"
#include "simulator/defects.h"
#include "simulator/simulation.h"

namespace queen::simulator {
namespace {

constexpr int kCrashed = 4;
constexpr int kMisused = 2;
constexpr int kWorldSecondsMax = 20;

struct Arguments {
  PlanOptions plan;
  int64_t seconds = 60;
  int64_t worlds = 0;  // 0: as many as there is time for
  bool print = false;
  bool here = false;  // in this process, one world
};

[[noreturn]] void Misuse(std::string_view what) {
  fmt::print(stderr, "simulate: {}\n", what);
  std::exit(kMisused);
}

std::optional<Weather> WeatherNamed(std::string_view name) {
  if (name == "calm") return Weather::kCalm;
  if (name == "bumpy") return Weather::kBumpy;
  if (name == "stormy") return Weather::kStormy;
  return std::nullopt;
}

std::optional<Pace> PaceNamed(std::string_view name) {
  if (name == "busy") return Pace::kBusy;
  if (name == "waiting") return Pace::kWaiting;
  if (name == "polling") return Pace::kPolling;
  return std::nullopt;
}

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  arguments.plan.seed = std::random_device()() % 1'000'000'000;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--print" || flag == "--here") {
      (flag == "--print" ? arguments.print : arguments.here) = true;
      continue;
    }
    if (++i == argc) Misuse(fmt::format("{} needs a value", flag));
    const char* const value = argv[i];
    const int64_t number = std::strtoll(value, nullptr, 10);
    if (flag == "--seed") {
      arguments.plan.seed = static_cast<uint64_t>(number);
    } else if (flag == "--seconds") {
      arguments.seconds = number;
    } else if (flag == "--worlds") {
      arguments.worlds = number;
    } else if (flag == "--brokers") {
      arguments.plan.brokers = static_cast<int>(number);
    } else if (flag == "--check-ms") {
      arguments.plan.check_ms = number;
    } else if (flag == "--patience-ms") {
      arguments.plan.patience_ms = number;
    } else if (flag == "--weather") {
      arguments.plan.weather = WeatherNamed(value);
      if (!arguments.plan.weather) Misuse("weather is calm, bumpy or stormy");
    } else if (flag == "--pace") {
      arguments.plan.pace = PaceNamed(value);
      if (!arguments.plan.pace) Misuse("pace is busy, waiting or polling");
    } else if (flag == "--planted") {
      const std::optional<planted::Defect> defect = DefectNamed(value);
      if (!defect) Misuse(fmt::format("there is no defect {}", value));
      planted::g_planted = *defect;
    } else {
      Misuse(fmt::format("what is {}?", flag));
    }
  }
  return arguments;
}

Summary RunWorld(const PlanOptions& options, bool print) {
  const Plan plan = MakePlan(options);
  if (print) fmt::print("seed {}: {}\n", plan.seed, plan.Describe());
  Simulation simulation(plan, print);
  return simulation.Run();
}

// The exit code of the world's process.
int RunApart(const PlanOptions& options, bool print, Summary& summary) {
  int channel[2];
  if (pipe(channel) != 0) Misuse("no pipe");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    // Of processor time: a world that goes round in circles has an end, too.
    const itimerval patience{{0, 0}, {kWorldSecondsMax, 0}};
    setitimer(ITIMER_PROF, &patience, nullptr);
    const Summary result = RunWorld(options, print);
    const bool told = write(channel[1], &result, sizeof result) == sizeof result;
    std::fflush(stdout);
    _exit(told ? 0 : kCrashed);
  }
  close(channel[1]);
  const bool heard = read(channel[0], &summary, sizeof summary) == sizeof summary;
  close(channel[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && (WEXITSTATUS(status) != 0 || heard)) return WEXITSTATUS(status);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) {
    fmt::print("\nBROKEN: the world of seed {} does not come to its end in {} s\n", options.seed,
               kWorldSecondsMax);
    return History::kBroken;
  }
  fmt::print("\nBROKEN: the world of seed {} crashed ({})\n", options.seed,
             WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "no summary");
  return kCrashed;
}

int Run(Arguments arguments) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  fmt::print("seed {}\n", arguments.plan.seed);
  Summary all;
  int64_t worlds = 0;
  const bool bounded = arguments.worlds > 0;
  while (bounded ? worlds < arguments.worlds : elapsed() < static_cast<double>(arguments.seconds)) {
    Summary one;
    if (const int code = RunApart(arguments.plan, arguments.print, one)) return code;
    ++worlds;
    ++arguments.plan.seed;
    all.operations += one.operations;
    all.steps += one.steps;
    all.queued += one.queued;
    all.delivered += one.delivered;
    all.hash = all.hash * 31 + one.hash;
  }
  const double took = elapsed();
  fmt::print(
      "{} worlds, {} operations, {} messages queued, {} delivered, {} steps in {:.1f} s: {:.0f} "
      "operations and {:.0f} steps a second; hash {:016x}\n",
      worlds, all.operations, all.queued, all.delivered, all.steps, took,
      static_cast<double>(all.operations) / took, static_cast<double>(all.steps) / took, all.hash);
  return 0;
}

}  // namespace
}  // namespace queen::simulator

namespace queen::planted {
Defect g_planted = Defect::kNone;
}  // namespace queen::planted

int main(int argc, char** argv) {
  using namespace queen::simulator;  // NOLINT(google-build-using-namespace)
  queen::log::Configure(queen::log::Level::kOff, queen::log::Format::kText);
  const Arguments arguments = Parse(argc, argv);
  if (!arguments.here) return Run(arguments);
  const Summary summary = RunWorld(arguments.plan, arguments.print);
  fmt::print("{} operations, {} steps, hash {:016x}\n", summary.operations, summary.steps,
             summary.hash);
  return 0;
}
