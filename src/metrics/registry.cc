#include "metrics/registry.h"

#include <algorithm>
#include <cassert>

namespace queen::metrics {
namespace {

constexpr Unit kNoUnit = {1, 0, 0};

[[maybe_unused]] bool IsNameText(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

[[maybe_unused]] bool IsMetricName(Kind kind, std::string_view name) {
  return name.starts_with("queen_") && IsNameText(name) &&
         (kind == Kind::kCounter) == name.ends_with("_total");
}

[[maybe_unused]] bool AreLabels(const Labels& labels) {
  return labels.size() <= kLabelsPerSeriesMax &&
         std::all_of(labels.begin(), labels.end(), [](const auto& label) {
           return IsNameText(label.first) && label.first[0] > '9' && label.first != "le";
         });
}

}  // namespace

Series& Registry::AddSeries(Kind kind, std::string_view name, std::string_view help, Unit unit,
                            Labels labels) {
  assert(IsMetricName(kind, name));
  assert(AreLabels(labels));
  auto found = std::find_if(families_.begin(), families_.end(),
                            [name](const auto& family) { return family->name == name; });
  if (found == families_.end()) {
    families_.push_back(
        std::make_unique<Family>(Family{std::string(name), std::string(help), kind, unit, {}}));
    found = families_.end() - 1;
  }
  Family& family = **found;
  assert(family.kind == kind && family.help == help);
  assert(family.series.size() < kSeriesPerFamilyMax);
  assert(std::none_of(family.series.begin(), family.series.end(),
                      [&labels](const Series& series) { return series.labels == labels; }));
  return family.series.emplace_back(Series{std::move(labels), Computed()});
}

Counters& Registry::AddCounter(std::string_view name, std::string_view help, Labels labels) {
  const std::lock_guard lock(mutex_);
  Series& series = AddSeries(Kind::kCounter, name, help, kNoUnit, std::move(labels));
  return *series.source.emplace<std::unique_ptr<Counters>>(std::make_unique<Counters>(writers_));
}

Histograms& Registry::AddHistogram(std::string_view name, std::string_view help, Unit unit,
                                   Labels labels) {
  assert(unit.last_exponent <= kHistogramValueBits);
  const std::lock_guard lock(mutex_);
  Series& series = AddSeries(Kind::kHistogram, name, help, unit, std::move(labels));
  return *series.source.emplace<std::unique_ptr<Histograms>>(
      std::make_unique<Histograms>(writers_));
}

void Registry::AddComputed(Kind kind, std::string_view name, std::string_view help,
                           Computed computed, Labels labels) {
  assert(kind != Kind::kHistogram && computed);
  const std::lock_guard lock(mutex_);
  Series& series = AddSeries(kind, name, help, kNoUnit, std::move(labels));
  series.source.emplace<Computed>(std::move(computed));
}

void Registry::AddCollected(Kind kind, std::string_view name, std::string_view help,
                            Collected collected) {
  assert(kind != Kind::kHistogram && collected);
  const std::lock_guard lock(mutex_);
  Series& series = AddSeries(kind, name, help, kNoUnit, {});
  series.source.emplace<Collected>(std::move(collected));
}

void Registry::ForEachFamily(const std::function<void(const Family&)>& visit) const {
  const std::lock_guard lock(mutex_);
  for (const auto& family : families_) visit(*family);
}

}  // namespace queen::metrics
