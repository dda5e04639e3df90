// The parameters of one statement execution, in PostgreSQL's binary format.
//
//   Params params;
//   params.Int4(7).Text("orders").Null(oid::kUuid);
//   TextArray names(items.size());
//   Int8Array sizes(items.size());
//   for (const Item& item : items) { names.Add(item.name); sizes.Add(item.size); }
//   params.Add(std::move(names)).Add(std::move(sizes));
//
// Scalars share one buffer; an array or a string given by value is moved in, not copied, so the
// number of allocations does not grow with the number of elements. Nothing here checks text: the
// caller passes valid UTF-8 without NUL, anything else is refused by the server (SQLSTATE 22021).
// Times are microseconds since 1970; the ends of the range are -infinity and infinity.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/uuid.h"
#include "pg/oids.h"

namespace queen::pg {

// Appends one encoded value; no length in front.
namespace encode {
void Bool(std::string& out, bool value);
void Int4(std::string& out, int32_t value);
void Int8(std::string& out, int64_t value);
void Float8(std::string& out, double value);
void Text(std::string& out, std::string_view value);
void Uuid(std::string& out, const queen::Uuid& value);
void TimestampTz(std::string& out, int64_t wall_micros);
}  // namespace encode

// A one-dimensional array, written element by element. REQUIRES: fewer than 2^31 elements.
template <typename Element, void (*kEncode)(std::string&, Element), Oid kElementOid, Oid kArrayOid>
class ArrayWriter {
 public:
  // Room for `count` elements of `bytes_each` bytes; both are hints.
  explicit ArrayWriter(size_t count = 0, size_t bytes_each = 16);

  void Add(Element value);
  void AddNull();

  size_t size() const { return count_; }
  size_t bytes() const { return buffer_.size(); }

  static constexpr Oid kOid = kArrayOid;
  // The whole array in binary format; leaves this empty and unusable.
  std::string Take() &&;

 private:
  std::string buffer_;
  size_t count_ = 0;
  bool has_null_ = false;
};

using BoolArray = ArrayWriter<bool, encode::Bool, oid::kBool, oid::kBoolArray>;
using Int4Array = ArrayWriter<int32_t, encode::Int4, oid::kInt4, oid::kInt4Array>;
using Int8Array = ArrayWriter<int64_t, encode::Int8, oid::kInt8, oid::kInt8Array>;
using Float8Array = ArrayWriter<double, encode::Float8, oid::kFloat8, oid::kFloat8Array>;
using TextArray = ArrayWriter<std::string_view, encode::Text, oid::kText, oid::kTextArray>;
using JsonArray = ArrayWriter<std::string_view, encode::Text, oid::kJson, oid::kJsonArray>;
using ByteaArray = ArrayWriter<std::string_view, encode::Text, oid::kBytea, oid::kByteaArray>;
using UuidArray = ArrayWriter<const Uuid&, encode::Uuid, oid::kUuid, oid::kUuidArray>;
using TimestampTzArray =
    ArrayWriter<int64_t, encode::TimestampTz, oid::kTimestampTz, oid::kTimestampTzArray>;

class Params {
 public:
  // Room for `count` parameters and `bytes` bytes of scalars; both are hints.
  explicit Params(size_t count = 8, size_t bytes = 0);

  Params& Bool(bool value);
  Params& Int4(int32_t value);
  Params& Int8(int64_t value);
  Params& Float8(double value);
  Params& Text(std::string_view value);
  Params& Text(const char* value) { return Text(std::string_view(value)); }
  // Moved in: for what is large.
  Params& Text(std::string&& value);
  Params& Json(std::string_view value);
  Params& Jsonb(std::string_view value);
  Params& Bytea(std::string_view value);
  Params& Bytea(std::string&& value);
  Params& Uuid(const queen::Uuid& value);
  Params& TimestampTz(int64_t wall_micros);
  Params& Xid8(uint64_t value);
  Params& Null(Oid type);
  // NULL for nullopt.
  Params& TextOrNull(const std::optional<std::string>& value);
  Params& TimestampTzOrNull(const std::optional<int64_t>& wall_micros);

  template <typename Element, void (*kEncode)(std::string&, Element), Oid kElementOid, Oid kArray>
  Params& Add(ArrayWriter<Element, kEncode, kElementOid, kArray>&& array) {
    return Owned(kArray, std::move(array).Take());
  }

  size_t size() const { return values_.size(); }
  // Bytes of all values.
  size_t bytes() const { return bytes_; }
  Oid TypeOf(size_t index) const { return values_[index].type; }

  // What libpq wants: one pointer (nullptr for null) and one length per parameter. The pointers
  // live as long as this object is neither changed nor destroyed.
  void Describe(std::vector<const char*>& pointers, std::vector<int>& lengths) const;

 private:
  static constexpr size_t kNotOwned = SIZE_MAX;
  struct Value {
    Oid type = 0;
    bool is_null = false;
    size_t owned = kNotOwned;  // index in owned_, or the value is in scalars_
    size_t offset = 0;
    size_t length = 0;
  };

  Params& Owned(Oid type, std::string&& value);
  // Records what was appended to scalars_ since `offset`.
  Params& Scalar(Oid type, size_t offset);

  std::vector<Value> values_;
  std::string scalars_;
  std::vector<std::string> owned_;
  size_t bytes_ = 0;
};

}  // namespace queen::pg
