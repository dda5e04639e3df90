#include "cli/queue_counters.h"

#include <cstdlib>
#include <optional>

namespace queen::cli {
namespace {

constexpr std::string_view kMetric = "queen_queue_messages_total{";

// The value of a label, without its escapes; `labels` is what stands between the braces.
std::optional<std::string> Label(std::string_view labels, std::string_view name) {
  size_t at = 0;
  while (at < labels.size()) {
    const size_t equals = labels.find("=\"", at);
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view key = labels.substr(at, equals - at);
    std::string value;
    size_t end = equals + 2;
    for (; end < labels.size() && labels[end] != '"'; ++end) {
      if (labels[end] == '\\' && end + 1 < labels.size()) {
        ++end;
        value += labels[end] == 'n' ? '\n' : labels[end];
      } else {
        value += labels[end];
      }
    }
    if (key == name) return value;
    at = end + 2;  // behind the quote and the comma
  }
  return std::nullopt;
}

void AddLine(std::string_view line, QueueCounters& counters) {
  const size_t close = line.rfind('}');
  if (!line.starts_with(kMetric) || close == std::string_view::npos) return;
  const std::string_view labels = line.substr(kMetric.size(), close - kMetric.size());
  const auto queue = Label(labels, "queue");
  const auto event = Label(labels, "event");
  if (!queue || !event) return;
  const double value = std::strtod(std::string(line.substr(close + 1)).c_str(), nullptr);
  QueueCounter& counter = counters[*queue];
  if (*event == "pushed" || *event == "buffered") counter.pushed += value;
  if (*event == "delivered") counter.delivered += value;
  if (*event == "acked" || *event == "failed") counter.settled += value;
}

}  // namespace

void AddQueueCounters(std::string_view page, QueueCounters& counters) {
  while (!page.empty()) {
    const size_t end = std::min(page.find('\n'), page.size());
    AddLine(page.substr(0, end), counters);
    page.remove_prefix(std::min(end + 1, page.size()));
  }
}

}  // namespace queen::cli
