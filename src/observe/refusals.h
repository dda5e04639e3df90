// Refusals: every reply of 4xx and 5xx, counted by route and error code, and logged so that a
// client that is refused again and again leaves a handful of lines.
//
//   the first refusal of a (route, code) on a worker   one line, with the reason and the client
//   those of the next kQuietMs                         counted
//   then                                               one line that says how many there were, with
//                                                      the last reason and client
//
// Texts of errors are logged; bodies, headers and query strings never are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "http/connections.h"
#include "http/router.h"
#include "metrics/registry.h"

namespace queen::observe {

class Refusals {
 public:
  static constexpr int64_t kQuietMs = 10'000;
  static constexpr size_t kReasonBytesMax = 300;

  explicit Refusals(metrics::Registry& registry);
  ~Refusals();
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;

  // The part of one worker, on its loop.
  class Writer {
   public:
    // `router` has all its routes, the same as every other worker's, and outlives this.
    Writer(const http::Router& router, metrics::CounterGrid& counts);

    void OnRefused(const http::Response& response, const http::Connection& client, int64_t now_ms);
    // Now and then: says what was left out and is due.
    void Tick(int64_t now_ms);

   private:
    struct Line {
      int64_t said_ms = 0;  // when the last line was written
      int64_t left_out = 0;
      int status = 0;
      std::string reason;
      std::string client;
    };

    void Say(size_t row, size_t column, const Line& line) const;

    const http::Router& router_;
    metrics::CounterGrid& counts_;
    std::vector<std::unique_ptr<Line>> lines_;     // by row and column; null: never refused
    std::vector<std::pair<size_t, size_t>> open_;  // rows and columns with something left out
  };

  // Once per worker, before requests come. REQUIRES: worker < registry.writers()
  Writer Open(size_t worker, const http::Router& router);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace queen::observe
