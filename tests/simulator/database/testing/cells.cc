#include "simulator/database/testing/cells.h"

#include <fmt/format.h>

#include "pg/oids.h"

namespace queen::simulator {
namespace {

namespace oid = pg::oid;

std::string Element(const pg::ArrayReader& reader, pg::Oid array) {
  if (reader.IsNull()) return "NULL";
  switch (array) {
    case oid::kInt4Array:
      return std::to_string(reader.Int4());
    case oid::kInt8Array:
      return std::to_string(reader.Int8());
    case oid::kTimestampTzArray:
      return fmt::format("@{}", reader.TimestampTz());
    default:
      return "?";
  }
}

std::string Cell(const pg::Rows& rows, int row, int column) {
  if (rows.IsNull(row, column)) return "NULL";
  const pg::Oid type = rows.TypeOf(column);
  switch (type) {
    case oid::kInt4:
      return std::to_string(rows.Int4(row, column));
    case oid::kInt8:
      return std::to_string(rows.Int8(row, column));
    case oid::kBool:
      return rows.Bool(row, column) ? "true" : "false";
    case oid::kUuid:
      return rows.Uuid(row, column).ToString();
    case oid::kTimestampTz:
      return fmt::format("@{}", rows.TimestampTz(row, column));
    case oid::kVoid:
      return "";
    case oid::kText:
    case oid::kJson:
      return fmt::format("'{}'", rows.Text(row, column));
    default: {
      std::string text = "{";
      pg::ArrayReader reader = rows.Array(row, column);
      while (reader.Next()) text += (text.size() > 1 ? "," : "") + Element(reader, type);
      return text + "}";
    }
  }
}

}  // namespace

Cells CellsOf(const pg::Rows& rows) {
  Cells cells;
  for (int column = 0; column < rows.columns(); ++column) {
    cells.columns.push_back(fmt::format("{} {}", rows.NameOf(column), rows.TypeOf(column)));
  }
  for (int row = 0; row < rows.rows(); ++row) {
    std::vector<std::string>& one = cells.rows.emplace_back();
    for (int column = 0; column < rows.columns(); ++column) {
      one.push_back(Cell(rows, row, column));
    }
  }
  return cells;
}

std::string ToText(const Cells& cells) {
  std::string text = fmt::format("{}\n", fmt::join(cells.columns, " | "));
  for (const auto& row : cells.rows) text += fmt::format("{}\n", fmt::join(row, " | "));
  return text;
}

}  // namespace queen::simulator
