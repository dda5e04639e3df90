#include "simulator/database/arguments.h"

#include <cstring>

#include "pg/binary.h"

namespace queen::simulator {
namespace {

using pg::binary::Load;

void Decode(std::string_view bytes, int32_t& value) {
  assert(bytes.size() == 4);
  value = static_cast<int32_t>(Load<uint32_t>(bytes.data()));
}
void Decode(std::string_view bytes, int64_t& value) {
  assert(bytes.size() == 8);
  value = static_cast<int64_t>(Load<uint64_t>(bytes.data()));
}
void Decode(std::string_view bytes, bool& value) {
  assert(bytes.size() == 1);
  value = bytes[0] != 0;
}
void Decode(std::string_view bytes, std::string_view& value) { value = bytes; }
void Decode(std::string_view bytes, Uuid& value) {
  assert(bytes.size() == value.bytes.size());
  std::memcpy(value.bytes.data(), bytes.data(), bytes.size());
}

template <typename T>
std::optional<T> Decoded(std::optional<std::string_view> bytes) {
  if (!bytes) return std::nullopt;
  T value{};
  Decode(*bytes, value);
  return value;
}

}  // namespace

Arguments::Arguments(const pg::Params& params) { params.Describe(values_, lengths_); }

std::optional<std::string_view> Arguments::Value(size_t number) const {
  assert(number >= 1 && number <= values_.size());
  if (IsNull(number)) return std::nullopt;
  return std::string_view(values_[number - 1], static_cast<size_t>(lengths_[number - 1]));
}

std::optional<int32_t> Arguments::Int4(size_t number) const {
  return Decoded<int32_t>(Value(number));
}
std::optional<int64_t> Arguments::Int8(size_t number) const {
  return Decoded<int64_t>(Value(number));
}
std::optional<bool> Arguments::Bool(size_t number) const { return Decoded<bool>(Value(number)); }
std::optional<std::string_view> Arguments::Text(size_t number) const { return Value(number); }
std::optional<std::string_view> Arguments::Jsonb(size_t number) const {
  auto value = Value(number);
  if (value) value->remove_prefix(1);  // the version of the format
  return value;
}
std::optional<Uuid> Arguments::Uuid(size_t number) const {
  return Decoded<queen::Uuid>(Value(number));
}
std::optional<int64_t> Arguments::Time(size_t number) const {
  const auto micros = Int8(number);
  if (!micros) return std::nullopt;
  return pg::binary::FromPostgresMicros(*micros);
}

// 12 bytes of header, 8 for the one dimension, then length and bytes of each element.
template <typename T>
Array<T> Arguments::Elements(size_t number) const {
  Array<T> array;
  const auto value = Value(number);
  if (!value || Load<uint32_t>(value->data()) == 0) return array;
  std::string_view rest = value->substr(20);
  for (auto left = Load<uint32_t>(value->data() + 12); left > 0; --left) {
    const auto length = static_cast<int32_t>(Load<uint32_t>(rest.data()));
    rest.remove_prefix(4);
    if (length < 0) {
      array.Add(std::nullopt);
      continue;
    }
    array.Add(Decoded<T>(rest.substr(0, static_cast<size_t>(length))));
    rest.remove_prefix(static_cast<size_t>(length));
  }
  return array;
}

Array<int32_t> Arguments::Int4s(size_t number) const { return Elements<int32_t>(number); }
Array<int64_t> Arguments::Int8s(size_t number) const { return Elements<int64_t>(number); }
Array<bool> Arguments::Bools(size_t number) const { return Elements<bool>(number); }
Array<std::string_view> Arguments::Texts(size_t number) const {
  return Elements<std::string_view>(number);
}
Array<Uuid> Arguments::Uuids(size_t number) const { return Elements<queen::Uuid>(number); }
Array<int64_t> Arguments::Times(size_t number) const {
  const Array<int64_t> raw = Int8s(number);
  Array<int64_t> times;
  for (size_t i = 0; i < raw.size(); ++i) {
    const auto micros = raw[i];
    times.Add(micros ? std::optional(pg::binary::FromPostgresMicros(*micros)) : std::nullopt);
  }
  return times;
}

}  // namespace queen::simulator
