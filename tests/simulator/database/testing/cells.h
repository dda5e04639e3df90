// The rows of an answer as text, so that two answers can be compared and printed.
#pragma once

#include <string>
#include <vector>

#include "pg/batch.h"

namespace queen::simulator {

struct Cells {
  std::vector<std::string> columns;  // name and type
  std::vector<std::vector<std::string>> rows;

  bool operator==(const Cells&) const = default;
};

Cells CellsOf(const pg::Rows& rows);

// A table for a person.
std::string ToText(const Cells& cells);

}  // namespace queen::simulator
