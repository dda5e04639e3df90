#include "cli/table.h"

#include <algorithm>

#include "cli/units.h"

namespace queen::cli {
namespace {

constexpr std::string_view kGap = "  ";
constexpr size_t kLastColumnMin = 10;

std::string Pad(const Terminal& terminal, const Cell& cell, size_t width, bool right, bool last) {
  const std::string fill(width - std::min(width, WidthOf(cell.text)), ' ');
  const std::string painted = terminal.Paint(cell.colour, cell.text);
  if (right) return fill + painted;
  return last ? painted : painted + fill;
}

}  // namespace

std::string Table::Show(const Terminal& terminal, size_t rows_max) const {
  const size_t shown = std::min(rows_max, rows_.size());
  std::vector<std::vector<Cell>> lines;
  lines.emplace_back();
  for (const Column& column : columns_) lines.back().emplace_back(column.title, Colour::kBold);
  lines.insert(lines.end(), rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(shown));
  for (auto& line : lines) {
    for (Cell& cell : line) cell.text = Printable(cell.text);
  }

  std::vector<size_t> widths(columns_.size(), 0);
  size_t before_last = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    for (const auto& line : lines) widths[i] = std::max(widths[i], WidthOf(line[i].text));
    if (i + 1 < columns_.size()) before_last += widths[i] + kGap.size();
  }
  const auto room = static_cast<size_t>(terminal.width());
  if (before_last + widths.back() > room) {
    widths.back() = std::max(kLastColumnMin, room - std::min(room, before_last));
  }

  std::string out;
  for (auto& line : lines) {
    line.back().text = CutTo(line.back().text, widths.back());
    for (size_t i = 0; i < line.size(); ++i) {
      if (i > 0) out += kGap;
      out += Pad(terminal, line[i], widths[i], columns_[i].is_number, i + 1 == line.size());
    }
    out += '\n';
  }
  return out;
}

std::string ShowPairs(const Terminal& terminal,
                      const std::vector<std::pair<std::string, Cell>>& pairs) {
  size_t width = 0;
  for (const auto& [name, cell] : pairs) width = std::max(width, WidthOf(name));
  std::string out;
  for (const auto& [name, cell] : pairs) {
    out += terminal.Paint(Colour::kBold, name) + std::string(width - WidthOf(name), ' ');
    out += std::string(kGap) + terminal.Paint(cell.colour, Printable(cell.text)) + '\n';
  }
  return out;
}

}  // namespace queen::cli
