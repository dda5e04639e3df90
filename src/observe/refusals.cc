#include "observe/refusals.h"

#include <mutex>

#include "base/code_count.h"
#include "base/log.h"

namespace queen::observe {
namespace {

constexpr const char* kNoRoute = "none";

// A document of a handler's own, not an ErrorResponse, has no code.
std::string_view CodeName(size_t column) {
  return column == static_cast<size_t>(Code::kOk) ? "none" : InfoOf(static_cast<Code>(column)).name;
}

// Row 0 is for requests that no handler saw, row i + 1 for route i.
size_t RowOf(const http::Response& response) {
  return response.route == nullptr ? 0 : response.route->number + 1;
}

// Whoever checks the broker's health asks again and again and has its own document: not for the
// log.
bool IsHealthAnswer(const http::Response& response) {
  return response.status == 503 && response.code == Code::kOk;
}

}  // namespace

// The routes are learned from the first worker; all have the same.
struct Refusals::State {
  mutable std::mutex mutex;
  std::vector<std::pair<std::string, std::string>> routes;  // method and pattern, by row
  std::vector<std::unique_ptr<metrics::CounterGrid>> counts;

  void Collect(const metrics::Emit& emit) const {
    const std::lock_guard lock(mutex);
    for (size_t row = 0; row < routes.size(); ++row) {
      for (size_t column = 0; column < kCodeCount; ++column) {
        uint64_t total = 0;
        for (const auto& grid : counts) total += grid ? grid->value(row, column) : 0;
        if (total == 0) continue;
        emit({{"method", routes[row].first},
              {"route", routes[row].second},
              {"code", std::string(CodeName(column))}},
             static_cast<double>(total));
      }
    }
  }
};

Refusals::Refusals(metrics::Registry& registry) : state_(std::make_unique<State>()) {
  state_->counts.resize(registry.writers());
  registry.AddCollected(metrics::Kind::kCounter, "queen_http_refusals_total",
                        "Replies of 4xx and 5xx by route and error code.",
                        [this](const metrics::Emit& emit) { state_->Collect(emit); });
}

Refusals::~Refusals() = default;

Refusals::Writer Refusals::Open(size_t worker, const http::Router& router) {
  const std::lock_guard lock(state_->mutex);
  if (state_->routes.empty()) {
    state_->routes.emplace_back(kNoRoute, kNoRoute);
    for (size_t i = 0; i < router.size(); ++i) {
      const http::RouteInfo& route = router.route(i);
      state_->routes.emplace_back(MethodName(route.method), route.pattern);
    }
  }
  assert(state_->routes.size() == router.size() + 1);
  state_->counts[worker] = std::make_unique<metrics::CounterGrid>(router.size() + 1, kCodeCount);
  return {router, *state_->counts[worker]};
}

Refusals::Writer::Writer(const http::Router& router, metrics::CounterGrid& counts)
    : router_(router), counts_(counts), lines_((router.size() + 1) * kCodeCount) {}

void Refusals::Writer::OnRefused(const http::Response& response, const http::Connection& client,
                                 int64_t now_ms) {
  const size_t row = RowOf(response);
  const auto column = static_cast<size_t>(response.code);
  counts_.Add(row, column);
  if (IsHealthAnswer(response)) return;
  std::unique_ptr<Line>& line = lines_[row * kCodeCount + column];
  const bool first = line == nullptr;
  if (first) line = std::make_unique<Line>();
  line->status = response.status;
  line->reason.assign(response.reason, 0, kReasonBytesMax);
  const bool quiet = !first && (line->left_out > 0 || now_ms - line->said_ms < kQuietMs);
  if (quiet && line->left_out++ > 0) return;
  line->client = client.client();
  if (quiet) {
    open_.emplace_back(row, column);
    return;
  }
  line->said_ms = now_ms;
  Say(row, column, *line);
}

void Refusals::Writer::Tick(int64_t now_ms) {
  std::erase_if(open_, [&](const auto& place) {
    Line& line = *lines_[place.first * kCodeCount + place.second];
    if (now_ms - line.said_ms < kQuietMs) return false;
    line.said_ms = now_ms;
    Say(place.first, place.second, line);
    line.left_out = 0;
    return true;
  });
}

void Refusals::Writer::Say(size_t row, size_t column, const Line& line) const {
  const bool routed = row > 0;
  const std::string_view method = routed ? MethodName(router_.route(row - 1).method) : kNoRoute;
  const std::string_view route =
      routed ? std::string_view(router_.route(row - 1).pattern) : std::string_view(kNoRoute);
  const std::string_view reason =
      line.reason.empty() ? std::string_view("see the reply") : std::string_view(line.reason);
  if (line.left_out == 0) {
    log::Warn("a request was refused", {{"method", method},
                                        {"route", route},
                                        {"status", line.status},
                                        {"code", CodeName(column)},
                                        {"reason", reason},
                                        {"client", line.client}});
  } else {
    log::Warn("more requests were refused", {{"count", line.left_out},
                                             {"method", method},
                                             {"route", route},
                                             {"status", line.status},
                                             {"code", CodeName(column)},
                                             {"last_reason", reason},
                                             {"client", line.client}});
  }
}

}  // namespace queen::observe
