#include "pg/params.h"

#include <bit>
#include <cassert>
#include <climits>

#include "pg/binary.h"

namespace queen::pg {
namespace {

// An array with elements begins: dimensions, has-null flag, element type, size, lower bound. An
// empty one has no dimension, and its header ends after the element type.
constexpr size_t kArrayHeaderBytes = 20;
constexpr size_t kEmptyArrayHeaderBytes = 12;
constexpr uint32_t kNullLength = UINT32_MAX;
constexpr char kJsonbVersion = 1;

template <std::unsigned_integral T>
void Append(std::string& out, T value) {
  char bytes[sizeof value];
  binary::Store(bytes, value);
  out.append(bytes, sizeof bytes);
}

}  // namespace

namespace encode {
void Bool(std::string& out, bool value) { out.push_back(value ? 1 : 0); }
void Int4(std::string& out, int32_t value) { Append(out, static_cast<uint32_t>(value)); }
void Int8(std::string& out, int64_t value) { Append(out, static_cast<uint64_t>(value)); }
void Float8(std::string& out, double value) { Append(out, std::bit_cast<uint64_t>(value)); }
void Text(std::string& out, std::string_view value) { out.append(value); }
void Uuid(std::string& out, const queen::Uuid& value) {
  out.append(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
}
void TimestampTz(std::string& out, int64_t wall_micros) {
  Int8(out, binary::ToPostgresMicros(wall_micros));
}
}  // namespace encode

template <typename Element, void (*kEncode)(std::string&, Element), Oid kElementOid, Oid kArrayOid>
ArrayWriter<Element, kEncode, kElementOid, kArrayOid>::ArrayWriter(size_t count,
                                                                   size_t bytes_each) {
  buffer_.reserve(kArrayHeaderBytes + count * (sizeof(uint32_t) + bytes_each));
  buffer_.resize(kArrayHeaderBytes);
}

template <typename Element, void (*kEncode)(std::string&, Element), Oid kElementOid, Oid kArrayOid>
void ArrayWriter<Element, kEncode, kElementOid, kArrayOid>::Add(Element value) {
  const size_t at = buffer_.size();
  buffer_.append(sizeof(uint32_t), '\0');
  kEncode(buffer_, value);
  const size_t length = buffer_.size() - at - sizeof(uint32_t);
  assert(length <= INT_MAX);
  binary::Store(buffer_.data() + at, static_cast<uint32_t>(length));
  ++count_;
}

template <typename Element, void (*kEncode)(std::string&, Element), Oid kElementOid, Oid kArrayOid>
void ArrayWriter<Element, kEncode, kElementOid, kArrayOid>::AddNull() {
  Append(buffer_, kNullLength);
  has_null_ = true;
  ++count_;
}

template <typename Element, void (*kEncode)(std::string&, Element), Oid kElementOid, Oid kArrayOid>
std::string ArrayWriter<Element, kEncode, kElementOid, kArrayOid>::Take() && {
  assert(buffer_.size() >= kArrayHeaderBytes && count_ <= INT_MAX);
  char* header = buffer_.data();
  binary::Store(header, uint32_t{count_ > 0});
  binary::Store(header + 4, uint32_t{has_null_});
  binary::Store(header + 8, kElementOid);
  binary::Store(header + 12, static_cast<uint32_t>(count_));
  binary::Store(header + 16, uint32_t{1});
  if (count_ == 0) buffer_.resize(kEmptyArrayHeaderBytes);
  return std::move(buffer_);
}

template class ArrayWriter<bool, encode::Bool, oid::kBool, oid::kBoolArray>;
template class ArrayWriter<int32_t, encode::Int4, oid::kInt4, oid::kInt4Array>;
template class ArrayWriter<int64_t, encode::Int8, oid::kInt8, oid::kInt8Array>;
template class ArrayWriter<double, encode::Float8, oid::kFloat8, oid::kFloat8Array>;
template class ArrayWriter<std::string_view, encode::Text, oid::kText, oid::kTextArray>;
template class ArrayWriter<std::string_view, encode::Text, oid::kJson, oid::kJsonArray>;
template class ArrayWriter<std::string_view, encode::Text, oid::kBytea, oid::kByteaArray>;
template class ArrayWriter<const Uuid&, encode::Uuid, oid::kUuid, oid::kUuidArray>;
template class ArrayWriter<int64_t, encode::TimestampTz, oid::kTimestampTz, oid::kTimestampTzArray>;

Params::Params(size_t count, size_t bytes) {
  values_.reserve(count);
  scalars_.reserve(bytes);
}

Params& Params::Scalar(Oid type, size_t offset) {
  const size_t length = scalars_.size() - offset;
  values_.push_back({.type = type, .offset = offset, .length = length});
  bytes_ += length;
  return *this;
}

Params& Params::Owned(Oid type, std::string&& value) {
  bytes_ += value.size();
  values_.push_back({.type = type, .owned = owned_.size(), .length = value.size()});
  owned_.push_back(std::move(value));
  return *this;
}

Params& Params::Bool(bool value) {
  const size_t offset = scalars_.size();
  encode::Bool(scalars_, value);
  return Scalar(oid::kBool, offset);
}

Params& Params::Int4(int32_t value) {
  const size_t offset = scalars_.size();
  encode::Int4(scalars_, value);
  return Scalar(oid::kInt4, offset);
}

Params& Params::Int8(int64_t value) {
  const size_t offset = scalars_.size();
  encode::Int8(scalars_, value);
  return Scalar(oid::kInt8, offset);
}

Params& Params::Float8(double value) {
  const size_t offset = scalars_.size();
  encode::Float8(scalars_, value);
  return Scalar(oid::kFloat8, offset);
}

Params& Params::Text(std::string_view value) {
  const size_t offset = scalars_.size();
  scalars_.append(value);
  return Scalar(oid::kText, offset);
}

Params& Params::Text(std::string&& value) { return Owned(oid::kText, std::move(value)); }

Params& Params::Json(std::string_view value) {
  const size_t offset = scalars_.size();
  scalars_.append(value);
  return Scalar(oid::kJson, offset);
}

Params& Params::Jsonb(std::string_view value) {
  const size_t offset = scalars_.size();
  scalars_.push_back(kJsonbVersion);
  scalars_.append(value);
  return Scalar(oid::kJsonb, offset);
}

Params& Params::Bytea(std::string_view value) {
  const size_t offset = scalars_.size();
  scalars_.append(value);
  return Scalar(oid::kBytea, offset);
}

Params& Params::Bytea(std::string&& value) { return Owned(oid::kBytea, std::move(value)); }

Params& Params::Uuid(const queen::Uuid& value) {
  const size_t offset = scalars_.size();
  encode::Uuid(scalars_, value);
  return Scalar(oid::kUuid, offset);
}

Params& Params::TimestampTz(int64_t wall_micros) {
  const size_t offset = scalars_.size();
  encode::TimestampTz(scalars_, wall_micros);
  return Scalar(oid::kTimestampTz, offset);
}

Params& Params::Xid8(uint64_t value) {
  const size_t offset = scalars_.size();
  Append(scalars_, value);
  return Scalar(oid::kXid8, offset);
}

Params& Params::Null(Oid type) {
  values_.push_back({.type = type, .is_null = true});
  return *this;
}

Params& Params::TextOrNull(const std::optional<std::string>& value) {
  return value ? Text(*value) : Null(oid::kText);
}

Params& Params::TimestampTzOrNull(const std::optional<int64_t>& wall_micros) {
  return wall_micros ? TimestampTz(*wall_micros) : Null(oid::kTimestampTz);
}

void Params::Describe(std::vector<const char*>& pointers, std::vector<int>& lengths) const {
  pointers.clear();
  lengths.clear();
  for (const Value& value : values_) {
    assert(value.length <= INT_MAX);
    lengths.push_back(static_cast<int>(value.length));
    if (value.is_null) {
      pointers.push_back(nullptr);
    } else if (value.owned != kNotOwned) {
      pointers.push_back(owned_[value.owned].data());
    } else {
      pointers.push_back(scalars_.data() + value.offset);
    }
  }
}

}  // namespace queen::pg
