// The rows one statement returned, in binary format, read by type. Owns the result; views into it
// (Text, Bytea, ArrayReader) live as long as the Rows they came from and survive its moves.
//
// Reading a column as a type it does not have, a null as a value, or a row that is not there is a
// bug of ours: it is reported with the column's name and aborts, in every build. Where the shape is
// not ours to promise, ask first: IsNull, TypeOf, or Expect for the whole result.
// Integers may be read wider than they are: Int4 reads int2, Int8 reads every integer, oid and
// xid8.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/uuid.h"
#include "pg/handles.h"
#include "pg/oids.h"

namespace queen::pg {

// Walks a one-dimensional array:  while (reader.Next()) Use(reader.Int4());
class ArrayReader {
 public:
  // Elements of the whole array, not what is left.
  size_t size() const { return size_; }

  // Steps to the next element; false behind the last.
  bool Next();

  // REQUIRES: the last Next returned true; for values also !IsNull()
  bool IsNull() const { return null_; }
  int32_t Int4() const;
  int64_t Int8() const;
  bool Bool() const;
  double Float8() const;
  std::string_view Text() const;
  std::string_view Bytea() const;
  queen::Uuid Uuid() const;
  int64_t TimestampTz() const;

 private:
  friend class Rows;
  explicit ArrayReader(std::string_view array);

  Oid type_ = 0;
  size_t size_ = 0;
  size_t read_ = 0;
  std::string_view rest_;
  std::string_view element_;
  bool null_ = false;
};

class Rows {
 public:
  Rows();  // no rows, no columns
  // Takes `result`, which libpq gave and whose status is PGRES_TUPLES_OK or PGRES_COMMAND_OK.
  explicit Rows(ResultHandle result);
  ~Rows();
  Rows(Rows&&) noexcept;
  Rows& operator=(Rows&&) noexcept;

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  bool empty() const { return rows_ == 0; }
  // Rows an INSERT, UPDATE, DELETE touched or a SELECT returned; 0 for other commands.
  int64_t Affected() const;

  Oid TypeOf(int column) const;
  std::string_view NameOf(int column) const;
  // Ok when the columns have exactly these types, kInternal naming the first that differs
  // otherwise.
  Status Expect(std::initializer_list<Oid> types) const;

  bool IsNull(int row, int column) const;
  int32_t Int4(int row, int column) const;
  int64_t Int8(int row, int column) const;
  bool Bool(int row, int column) const;
  double Float8(int row, int column) const;
  // text, varchar, name, json and jsonb.
  std::string_view Text(int row, int column) const;
  std::string_view Bytea(int row, int column) const;
  queen::Uuid Uuid(int row, int column) const;
  // Microseconds since 1970; INT64_MIN and INT64_MAX are the infinities.
  int64_t TimestampTz(int row, int column) const;

  // REQUIRES: an array of one dimension, or empty
  ArrayReader Array(int row, int column) const;
  // REQUIRES: no element is null
  std::vector<int32_t> Int4Array(int row, int column) const;
  std::vector<int64_t> Int8Array(int row, int column) const;
  std::vector<std::string_view> TextArray(int row, int column) const;

 private:
  // The bytes of a value that is there; aborts otherwise.
  std::string_view Value(int row, int column) const;
  [[noreturn]] void Abort(int row, int column, std::string_view wanted) const;

  ResultHandle result_;
  int rows_ = 0;
  int columns_ = 0;
};

}  // namespace queen::pg
