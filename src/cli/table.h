// Table: rows of texts, aligned. The last column gives way where the terminal is too narrow.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"

namespace queen::cli {

struct Column {
  std::string title;
  bool is_number = false;  // aligned to the right
};

struct Cell {
  Cell(std::string cell_text,
       Colour cell_colour = Colour::kNone)  // NOLINT: rows are lists of texts
      : text(std::move(cell_text)), colour(cell_colour) {}
  Cell(const char* cell_text) : text(cell_text) {}  // NOLINT

  std::string text;
  Colour colour = Colour::kNone;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: as many cells as columns
  void Add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }

  // With the titles above; at most `rows_max` rows.
  std::string Show(const Terminal& terminal, size_t rows_max = SIZE_MAX) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// "Name    value" lines, the names aligned.
std::string ShowPairs(const Terminal& terminal,
                      const std::vector<std::pair<std::string, Cell>>& pairs);

}  // namespace queen::cli
