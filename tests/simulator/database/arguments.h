// The parameters of a statement as a procedure reads them: by number, $1 first. An array of SQL is
// a vector whose elements may be null; what stands behind its end is null too, and an array that is
// null has no elements.
#pragma once

#include <cassert>
#include <optional>
#include <string_view>
#include <vector>

#include "base/uuid.h"
#include "pg/params.h"

namespace queen::simulator {

template <typename T>
class Array {
 public:
  void Add(std::optional<T> value) { values_.push_back(std::move(value)); }
  size_t size() const { return values_.size(); }
  // From 0; null behind the end.
  std::optional<T> operator[](size_t place) const {
    return place < values_.size() ? values_[place] : std::nullopt;
  }
  // REQUIRES: it is not null
  const T& At(size_t place) const {
    assert(place < values_.size() && values_[place].has_value());
    return *values_[place];
  }

 private:
  std::vector<std::optional<T>> values_;
};

class Arguments {
 public:
  // REQUIRES: `params` outlives this
  explicit Arguments(const pg::Params& params);

  size_t size() const { return values_.size(); }
  bool IsNull(size_t number) const { return values_[number - 1] == nullptr; }
  std::optional<int32_t> Int4(size_t number) const;
  std::optional<int64_t> Int8(size_t number) const;
  std::optional<bool> Bool(size_t number) const;
  std::optional<std::string_view> Text(size_t number) const;
  std::optional<std::string_view> Jsonb(size_t number) const;
  std::optional<queen::Uuid> Uuid(size_t number) const;
  std::optional<int64_t> Time(size_t number) const;

  Array<int32_t> Int4s(size_t number) const;
  Array<int64_t> Int8s(size_t number) const;
  Array<bool> Bools(size_t number) const;
  Array<std::string_view> Texts(size_t number) const;
  Array<queen::Uuid> Uuids(size_t number) const;
  Array<int64_t> Times(size_t number) const;

 private:
  std::optional<std::string_view> Value(size_t number) const;
  template <typename T>
  Array<T> Elements(size_t number) const;

  std::vector<const char*> values_;
  std::vector<int> lengths_;
};

}  // namespace queen::simulator
