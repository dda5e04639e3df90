#include "storage/lines.h"

#include <fmt/format.h>

#include <cstring>

#include "base/json_line.h"

namespace queen::storage {
namespace {

Status Mismatch(std::string_view found, size_t count) {
  return Status(Code::kLineCountMismatch,
                fmt::format("A segment of {} messages has a column of {} lines", count, found));
}

}  // namespace

void LineColumn::BeginLine() {
  if (count_ > 0) text_ += '\n';
  ++count_;
}

bool LineColumn::Add(std::string_view line) {
  if (line.find('\n') != std::string_view::npos) return false;
  BeginLine();
  text_ += line;
  return true;
}

void LineColumn::AddJson(std::string_view json) {
  BeginLine();
  AppendJsonLine(text_, json);
}

std::optional<std::string_view> LineColumn::nullable_text() const {
  const size_t separators = count_ == 0 ? 0 : count_ - 1;
  if (text_.size() == separators) return std::nullopt;
  return text_;
}

void LineColumn::Clear() {
  text_.clear();
  count_ = 0;
}

Status SplitLines(std::string_view text, size_t count, std::vector<std::string_view>& lines) {
  lines.clear();
  if (count == 0) return Mismatch("some", count);
  // A wrong count from a damaged row must not make us reserve what it says.
  if (count > text.size() + 1) return Mismatch("fewer", count);
  lines.reserve(count);
  const char* p = text.data();
  const char* const end = p + text.size();
  while (lines.size() + 1 < count) {
    const auto* line_end =
        p == end ? nullptr
                 : static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(end - p)));
    if (line_end == nullptr) {
      lines.clear();
      return Mismatch("fewer", count);
    }
    lines.emplace_back(p, static_cast<size_t>(line_end - p));
    p = line_end + 1;
  }
  const std::string_view last(p, static_cast<size_t>(end - p));
  if (last.find('\n') != std::string_view::npos) {
    lines.clear();
    return Mismatch("more", count);
  }
  lines.push_back(last);
  return Status::Ok();
}

Status SplitNullableLines(std::optional<std::string_view> text, size_t count,
                          std::vector<std::string_view>& lines) {
  if (text.has_value()) return SplitLines(*text, count, lines);
  lines.assign(count, {});
  return Status::Ok();
}

}  // namespace queen::storage
