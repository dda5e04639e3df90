// The registry: which metrics there are, by name and labels. Metrics are registered at the start,
// most with label values known then (an operation, a result), so that a write is a plain store to
// an object the thread already holds. Where the values come later (a queue, an error code) the
// family is collected when metrics are read, and whoever collects bounds the number of series.
//
// Registering and visiting lock; writing never does. References stay valid as long as the registry.
// A name or label that breaks the rules is a bug of ours and asserts.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "metrics/counter.h"
#include "metrics/histogram.h"

namespace queen::metrics {

constexpr size_t kLabelsPerSeriesMax = 4;
constexpr size_t kSeriesPerFamilyMax = 64;

using Labels = std::vector<std::pair<std::string, std::string>>;

enum class Kind { kCounter, kGauge, kHistogram };

// How recorded whole numbers are shown: divided by `divisor`, with one "le" bucket for each power
// of two (of the recorded number) from first to last.
struct Unit {
  double divisor;
  unsigned first_exponent;
  unsigned last_exponent;
};

constexpr Unit kMicrosAsSeconds = {1e6, 6, 26};  // 64 us .. 67 s
constexpr Unit kItems = {1, 0, 14};              // 1 .. 16384

// A value that somebody else keeps, asked for when metrics are read.
using Computed = std::function<double()>;

// Values whose labels are not known at the start: calls its argument for each of them. The caller
// bounds their number.
using Emit = std::function<void(const Labels&, double)>;
using Collected = std::function<void(const Emit&)>;

struct Series {
  Labels labels;
  std::variant<std::unique_ptr<Counters>, std::unique_ptr<Histograms>, Computed, Collected> source;
};

// All series of one name.
struct Family {
  std::string name;
  std::string help;
  Kind kind;
  Unit unit;  // of histograms
  std::vector<Series> series;
};

class Registry {
 public:
  // `writers`: how many threads write, each with an index below it.
  explicit Registry(size_t writers) : writers_(writers) {}

  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Names are queen_[a-z0-9_]+, those of counters end in _total. Series of one name differ in
  // their label values and share the rest. REQUIRES: this name and these labels are new.
  Counters& AddCounter(std::string_view name, std::string_view help, Labels labels = {});
  Histograms& AddHistogram(std::string_view name, std::string_view help, Unit unit,
                           Labels labels = {});

  // `computed` is called by whoever reads the metrics, on that thread, and must not use the
  // registry. REQUIRES: kind is not kHistogram
  void AddComputed(Kind kind, std::string_view name, std::string_view help, Computed computed,
                   Labels labels = {});

  // A family of its own, called as AddComputed's. Counters that only rise, or gauges.
  // REQUIRES: kind is not kHistogram, and this name is new
  void AddCollected(Kind kind, std::string_view name, std::string_view help, Collected collected);

  // Calls `visit` for every family, in the order of registration.
  void ForEachFamily(const std::function<void(const Family&)>& visit) const;

  size_t writers() const { return writers_; }

 private:
  Series& AddSeries(Kind kind, std::string_view name, std::string_view help, Unit unit,
                    Labels labels);

  const size_t writers_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Family>> families_;  // guarded by mutex_
};

}  // namespace queen::metrics
