#include "storage/calls/columns.h"

#include <fmt/format.h>

namespace queen::storage {

Status CheckColumns(std::string_view procedure, const pg::Rows& rows,
                    std::initializer_list<std::span<const Column>> parts) {
  size_t count = 0;
  for (const auto part : parts) count += part.size();
  if (static_cast<size_t>(rows.columns()) != count) {
    return Status(Code::kInternal, fmt::format("{} answered {} columns instead of {}", procedure,
                                               rows.columns(), count));
  }
  int place = 0;
  for (const auto part : parts) {
    for (const Column& column : part) {
      if (rows.NameOf(place) != column.name || rows.TypeOf(place) != column.type) {
        return Status(Code::kInternal,
                      fmt::format("column {} of {} is {} of type {} instead of {} of type {}",
                                  place + 1, procedure, rows.NameOf(place), rows.TypeOf(place),
                                  column.name, column.type));
      }
      ++place;
    }
  }
  return Status::Ok();
}

}  // namespace queen::storage
