#include "simulator/database/answer.h"

#include <libpq-fe.h>

#include <cassert>

#include "pg/params.h"

namespace queen::simulator {
namespace {

template <typename Writer, typename Values>
std::string Encoded(const Values& values) {
  Writer writer(values.size());
  for (const auto& value : values) writer.Add(value);
  return std::move(writer).Take();
}

}  // namespace

Answer& Answer::Cell(std::string_view bytes) {
  bytes_.append(bytes);
  lengths_.push_back(static_cast<int>(bytes.size()));
  return *this;
}

Answer& Answer::Null() {
  lengths_.push_back(kNull);
  return *this;
}

#define QUEEN_APPEND_OR_NULL(encode)                            \
  if (!value) return Null();                                    \
  const size_t before = bytes_.size();                          \
  encode(bytes_, *value);                                       \
  lengths_.push_back(static_cast<int>(bytes_.size() - before)); \
  return *this

Answer& Answer::Int4(std::optional<int32_t> value) { QUEEN_APPEND_OR_NULL(pg::encode::Int4); }
Answer& Answer::Int8(std::optional<int64_t> value) { QUEEN_APPEND_OR_NULL(pg::encode::Int8); }
Answer& Answer::Bool(std::optional<bool> value) { QUEEN_APPEND_OR_NULL(pg::encode::Bool); }
Answer& Answer::Text(std::optional<std::string_view> value) {
  QUEEN_APPEND_OR_NULL(pg::encode::Text);
}
Answer& Answer::Uuid(const std::optional<queen::Uuid>& value) {
  QUEEN_APPEND_OR_NULL(pg::encode::Uuid);
}
Answer& Answer::Time(std::optional<int64_t> value) {
  QUEEN_APPEND_OR_NULL(pg::encode::TimestampTz);
}

#undef QUEEN_APPEND_OR_NULL

Answer& Answer::Int4s(const std::vector<int32_t>& values) {
  return Cell(Encoded<pg::Int4Array>(values));
}
Answer& Answer::Int8s(const std::vector<int64_t>& values) {
  return Cell(Encoded<pg::Int8Array>(values));
}
Answer& Answer::Int4sOrNull(const std::vector<int32_t>& values) {
  return values.empty() ? Null() : Int4s(values);
}
Answer& Answer::Int8sOrNull(const std::vector<int64_t>& values) {
  return values.empty() ? Null() : Int8s(values);
}
Answer& Answer::Times(const std::vector<std::optional<int64_t>>& values) {
  pg::TimestampTzArray writer(values.size());
  for (const auto& value : values) {
    if (value) {
      writer.Add(*value);
    } else {
      writer.AddNull();
    }
  }
  return Cell(std::move(writer).Take());
}

pg::Rows Answer::Take() && {
  assert(lengths_.size() % columns_.size() == 0);
  pg::ResultHandle result(PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK));
  std::vector<PGresAttDesc> attributes;
  attributes.reserve(columns_.size());
  for (const AnswerColumn& column : columns_) {
    attributes.push_back({const_cast<char*>(column.name), 0, 0, 1, column.type, -1, -1});
  }
  PQsetResultAttrs(result.get(), static_cast<int>(attributes.size()), attributes.data());
  char* next = bytes_.data();
  for (size_t place = 0; place < lengths_.size(); ++place) {
    const int length = lengths_[place];
    PQsetvalue(result.get(), static_cast<int>(place / columns_.size()),
               static_cast<int>(place % columns_.size()), length == kNull ? nullptr : next, length);
    if (length != kNull) next += length;
  }
  return pg::Rows(std::move(result));
}

}  // namespace queen::simulator
