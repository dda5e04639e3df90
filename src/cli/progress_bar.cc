#include "cli/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/units.h"

namespace queen::cli {
namespace {

constexpr std::chrono::milliseconds kInterval{100};
constexpr size_t kBarColumns = 24;

}  // namespace

std::string ProgressLine(const std::string& what, int64_t done, int64_t total, double seconds,
                         size_t width) {
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string line = what + "  ";
  if (total > 0) {
    const double part =
        std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
    const auto full = static_cast<size_t>(part * kBarColumns);
    line += "[" + std::string(full, '#') + std::string(kBarColumns - full, '.') + "] ";
    line += fmt::format("{:3.0f} %  {} of {}  {}", part * 100, ShowCount(done), ShowCount(total),
                        ShowRate(rate));
    if (rate > 0 && done < total) {
      line += fmt::format("  {} left", ShowSeconds(static_cast<double>(total - done) / rate));
    }
  } else {
    line += fmt::format("{}  {}", ShowCount(done), ShowRate(rate));
  }
  return CutTo(line, width);
}

ProgressBar::ProgressBar(std::string what, int64_t total)
    : terminal_(stderr, true),
      what_(std::move(what)),
      total_(total),
      start_(std::chrono::steady_clock::now()) {}

ProgressBar::~ProgressBar() {
  if (drawn_) Say("\r\033[K");
}

void ProgressBar::Update(int64_t done) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_.exists() || (drawn_ && now - shown_ < kInterval)) return;
  shown_ = now;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const auto width = static_cast<size_t>(std::max(1, terminal_.width() - 1));
  Say(fmt::format("\r{}\033[K", ProgressLine(what_, done, total_, seconds, width)));
}

}  // namespace queen::cli
