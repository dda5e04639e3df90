// Answer: the rows a procedure returns, value by value in the order of its columns, as the rows
// libpq would have given.
//
//   Answer answer({{"ordinal", oid::kInt4}, {"state", oid::kText}});
//   answer.Int4(1).Text("won");
//   return std::move(answer).Take();
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/uuid.h"
#include "pg/oids.h"
#include "pg/rows.h"

namespace queen::simulator {

struct AnswerColumn {
  const char* name;
  pg::Oid type;
};

class Answer {
 public:
  explicit Answer(std::vector<AnswerColumn> columns) : columns_(std::move(columns)) {}

  Answer& Int4(std::optional<int32_t> value);
  Answer& Int8(std::optional<int64_t> value);
  Answer& Bool(std::optional<bool> value);
  Answer& Text(std::optional<std::string_view> value);
  Answer& Uuid(const std::optional<queen::Uuid>& value);
  // Microseconds since 1970, the ends of the range are the infinities.
  Answer& Time(std::optional<int64_t> value);
  Answer& Int4s(const std::vector<int32_t>& values);
  Answer& Int8s(const std::vector<int64_t>& values);
  // The same where no element means that there is no array.
  Answer& Int4sOrNull(const std::vector<int32_t>& values);
  Answer& Int8sOrNull(const std::vector<int64_t>& values);
  Answer& Times(const std::vector<std::optional<int64_t>>& values);
  Answer& Null();

  // REQUIRES: the last row is complete
  pg::Rows Take() &&;

 private:
  static constexpr int kNull = -1;

  Answer& Cell(std::string_view bytes);

  std::vector<AnswerColumn> columns_;
  std::string bytes_;
  std::vector<int> lengths_;
};

}  // namespace queen::simulator
