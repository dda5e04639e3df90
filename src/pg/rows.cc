#include "pg/rows.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <bit>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "base/log.h"
#include "pg/binary.h"

namespace queen::pg {
namespace {

constexpr char kJsonbVersion = 1;

// The decoders of one value. Each answers nullopt when type or length is not what it reads.

std::optional<int64_t> DecodeInteger(Oid type, std::string_view value, size_t width_max) {
  if (value.size() > width_max) return std::nullopt;
  switch (type) {
    case oid::kInt2:
      if (value.size() != 2) return std::nullopt;
      return static_cast<int16_t>(binary::Load<uint16_t>(value.data()));
    case oid::kInt4:
      if (value.size() != 4) return std::nullopt;
      return static_cast<int32_t>(binary::Load<uint32_t>(value.data()));
    case oid::kOid:
      if (value.size() != 4 || width_max < 8) return std::nullopt;
      return binary::Load<uint32_t>(value.data());
    case oid::kInt8:
    case oid::kXid8:
      if (value.size() != 8) return std::nullopt;
      return static_cast<int64_t>(binary::Load<uint64_t>(value.data()));
    default:
      return std::nullopt;
  }
}

std::optional<bool> DecodeBool(Oid type, std::string_view value) {
  if (type != oid::kBool || value.size() != 1) return std::nullopt;
  return value[0] != 0;
}

std::optional<double> DecodeFloat8(Oid type, std::string_view value) {
  if (type != oid::kFloat8 || value.size() != 8) return std::nullopt;
  return std::bit_cast<double>(binary::Load<uint64_t>(value.data()));
}

std::optional<std::string_view> DecodeText(Oid type, std::string_view value) {
  switch (type) {
    case oid::kText:
    case oid::kVarchar:
    case oid::kName:
    case oid::kJson:
      return value;
    case oid::kJsonb:
      if (value.empty() || value[0] != kJsonbVersion) return std::nullopt;
      return value.substr(1);
    default:
      return std::nullopt;
  }
}

std::optional<std::string_view> DecodeBytea(Oid type, std::string_view value) {
  if (type != oid::kBytea) return std::nullopt;
  return value;
}

std::optional<Uuid> DecodeUuid(Oid type, std::string_view value) {
  Uuid uuid;
  if (type != oid::kUuid || value.size() != uuid.bytes.size()) return std::nullopt;
  std::memcpy(uuid.bytes.data(), value.data(), value.size());
  return uuid;
}

std::optional<int64_t> DecodeTimestampTz(Oid type, std::string_view value) {
  if (type != oid::kTimestampTz || value.size() != 8) return std::nullopt;
  return binary::FromPostgresMicros(static_cast<int64_t>(binary::Load<uint64_t>(value.data())));
}

[[noreturn]] void AbortInArray(std::string_view problem, Oid type) {
  log::ErrorRarely("a PostgreSQL array was read wrongly",
                   {{"problem", problem}, {"element_type", static_cast<int64_t>(type)}});
  std::abort();
}

template <typename T>
T OfElement(const std::optional<T>& value, bool null, Oid type) {
  if (null) AbortInArray("the element is null", type);
  if (!value) AbortInArray("the element has another type", type);
  return *value;
}

}  // namespace

ArrayReader::ArrayReader(std::string_view array) {
  if (array.size() < 12) AbortInArray("no array header", 0);
  const auto dimensions = binary::Load<uint32_t>(array.data());
  type_ = binary::Load<uint32_t>(array.data() + 8);
  if (dimensions == 0) return;
  if (dimensions != 1 || array.size() < 20) AbortInArray("not one dimension", type_);
  size_ = binary::Load<uint32_t>(array.data() + 12);
  rest_ = array.substr(20);
}

bool ArrayReader::Next() {
  if (read_ == size_) return false;
  if (rest_.size() < 4) AbortInArray("cut short", type_);
  const auto length = static_cast<int32_t>(binary::Load<uint32_t>(rest_.data()));
  rest_.remove_prefix(4);
  null_ = length < 0;
  element_ = {};
  if (!null_) {
    if (rest_.size() < static_cast<size_t>(length)) AbortInArray("cut short", type_);
    element_ = rest_.substr(0, static_cast<size_t>(length));
    rest_.remove_prefix(static_cast<size_t>(length));
  }
  ++read_;
  return true;
}

int32_t ArrayReader::Int4() const {
  return static_cast<int32_t>(OfElement(DecodeInteger(type_, element_, 4), null_, type_));
}
int64_t ArrayReader::Int8() const {
  return OfElement(DecodeInteger(type_, element_, 8), null_, type_);
}
bool ArrayReader::Bool() const { return OfElement(DecodeBool(type_, element_), null_, type_); }
double ArrayReader::Float8() const {
  return OfElement(DecodeFloat8(type_, element_), null_, type_);
}
std::string_view ArrayReader::Text() const {
  return OfElement(DecodeText(type_, element_), null_, type_);
}
std::string_view ArrayReader::Bytea() const {
  return OfElement(DecodeBytea(type_, element_), null_, type_);
}
Uuid ArrayReader::Uuid() const { return OfElement(DecodeUuid(type_, element_), null_, type_); }
int64_t ArrayReader::TimestampTz() const {
  return OfElement(DecodeTimestampTz(type_, element_), null_, type_);
}

Rows::Rows() = default;
Rows::~Rows() = default;

Rows::Rows(Rows&& other) noexcept
    : result_(std::move(other.result_)),
      rows_(std::exchange(other.rows_, 0)),
      columns_(std::exchange(other.columns_, 0)) {}

Rows& Rows::operator=(Rows&& other) noexcept {
  result_ = std::move(other.result_);
  rows_ = std::exchange(other.rows_, 0);
  columns_ = std::exchange(other.columns_, 0);
  return *this;
}

Rows::Rows(ResultHandle result)
    : result_(std::move(result)),
      rows_(PQntuples(result_.get())),
      columns_(PQnfields(result_.get())) {}

int64_t Rows::Affected() const {
  if (!result_) return 0;
  const std::string_view text = PQcmdTuples(result_.get());
  int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

Oid Rows::TypeOf(int column) const {
  if (column < 0 || column >= columns_) Abort(0, column, "a column");
  return PQftype(result_.get(), column);
}

std::string_view Rows::NameOf(int column) const {
  if (column < 0 || column >= columns_) Abort(0, column, "a column");
  return PQfname(result_.get(), column);
}

Status Rows::Expect(std::initializer_list<Oid> types) const {
  if (static_cast<size_t>(columns_) != types.size()) {
    return Status(Code::kInternal, fmt::format("PostgreSQL returned {} columns instead of {}",
                                               columns_, types.size()));
  }
  int column = 0;
  for (const Oid type : types) {
    if (TypeOf(column) != type) {
      return Status(Code::kInternal, fmt::format("column {} has type {} instead of {}",
                                                 NameOf(column), TypeOf(column), type));
    }
    ++column;
  }
  return Status::Ok();
}

void Rows::Abort(int row, int column, std::string_view wanted) const {
  const bool known = column >= 0 && column < columns_;
  log::ErrorRarely(
      "a PostgreSQL result was read wrongly",
      {{"wanted", wanted},
       {"row", row},
       {"rows", rows_},
       {"column", column},
       {"columns", columns_},
       {"name", known ? PQfname(result_.get(), column) : ""},
       {"type", known ? static_cast<int64_t>(PQftype(result_.get(), column)) : 0},
       {"null", known && row >= 0 && row < rows_ && PQgetisnull(result_.get(), row, column) != 0}});
  std::abort();
}

bool Rows::IsNull(int row, int column) const {
  if (row < 0 || row >= rows_ || column < 0 || column >= columns_) Abort(row, column, "a value");
  return PQgetisnull(result_.get(), row, column) != 0;
}

std::string_view Rows::Value(int row, int column) const {
  if (IsNull(row, column)) Abort(row, column, "a value that is not null");
  return {PQgetvalue(result_.get(), row, column),
          static_cast<size_t>(PQgetlength(result_.get(), row, column))};
}

int32_t Rows::Int4(int row, int column) const {
  const auto value = DecodeInteger(TypeOf(column), Value(row, column), 4);
  if (!value) Abort(row, column, "int4");
  return static_cast<int32_t>(*value);
}

int64_t Rows::Int8(int row, int column) const {
  const auto value = DecodeInteger(TypeOf(column), Value(row, column), 8);
  if (!value) Abort(row, column, "int8");
  return *value;
}

bool Rows::Bool(int row, int column) const {
  const auto value = DecodeBool(TypeOf(column), Value(row, column));
  if (!value) Abort(row, column, "bool");
  return *value;
}

double Rows::Float8(int row, int column) const {
  const auto value = DecodeFloat8(TypeOf(column), Value(row, column));
  if (!value) Abort(row, column, "float8");
  return *value;
}

std::string_view Rows::Text(int row, int column) const {
  const auto value = DecodeText(TypeOf(column), Value(row, column));
  if (!value) Abort(row, column, "text");
  return *value;
}

std::string_view Rows::Bytea(int row, int column) const {
  const auto value = DecodeBytea(TypeOf(column), Value(row, column));
  if (!value) Abort(row, column, "bytea");
  return *value;
}

Uuid Rows::Uuid(int row, int column) const {
  const auto value = DecodeUuid(TypeOf(column), Value(row, column));
  if (!value) Abort(row, column, "uuid");
  return *value;
}

int64_t Rows::TimestampTz(int row, int column) const {
  const auto value = DecodeTimestampTz(TypeOf(column), Value(row, column));
  if (!value) Abort(row, column, "timestamptz");
  return *value;
}

ArrayReader Rows::Array(int row, int column) const {
  switch (TypeOf(column)) {
    case oid::kBoolArray:
    case oid::kByteaArray:
    case oid::kInt4Array:
    case oid::kTextArray:
    case oid::kInt8Array:
    case oid::kFloat8Array:
    case oid::kTimestampTzArray:
    case oid::kUuidArray:
    case oid::kJsonArray:
      return ArrayReader(Value(row, column));
    default:
      Abort(row, column, "an array");
  }
}

std::vector<int32_t> Rows::Int4Array(int row, int column) const {
  ArrayReader reader = Array(row, column);
  std::vector<int32_t> values;
  values.reserve(reader.size());
  while (reader.Next()) values.push_back(reader.Int4());
  return values;
}

std::vector<int64_t> Rows::Int8Array(int row, int column) const {
  ArrayReader reader = Array(row, column);
  std::vector<int64_t> values;
  values.reserve(reader.size());
  while (reader.Next()) values.push_back(reader.Int8());
  return values;
}

std::vector<std::string_view> Rows::TextArray(int row, int column) const {
  ArrayReader reader = Array(row, column);
  std::vector<std::string_view> values;
  values.reserve(reader.size());
  while (reader.Next()) values.push_back(reader.Text());
  return values;
}

}  // namespace queen::pg
