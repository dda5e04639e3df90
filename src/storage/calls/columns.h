// What a procedure answers, column by column, so that a codec reads by position only what it has
// checked by name and type; and arrays of parameters of which most elements are usually not set.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "pg/params.h"
#include "pg/rows.h"

namespace queen::storage {

struct Column {
  std::string_view name;
  pg::Oid type;
};

// Ok when `rows` has exactly the columns of `parts`, one part after the other; kInternal naming the
// procedure and the first column that differs otherwise.
Status CheckColumns(std::string_view procedure, const pg::Rows& rows,
                    std::initializer_list<std::span<const Column>> parts);

// An array parameter that is NULL as a whole while no element is set.
template <typename Writer>
class SparseArray {
 public:
  // Room for `count` elements.
  explicit SparseArray(size_t count) : count_(count) {}

  template <typename Value>
  void Add(const Value& value) {
    if (!writer_) {
      writer_.emplace(count_);
      for (size_t i = 0; i < unset_; ++i) writer_->AddNull();
    }
    writer_->Add(value);
  }
  void AddNull() {
    if (writer_) {
      writer_->AddNull();
    } else {
      ++unset_;
    }
  }
  template <typename Value>
  void AddOrNull(const std::optional<Value>& value) {
    value ? Add(*value) : AddNull();
  }

  // The next parameter of `params`; leaves this unusable.
  void MoveTo(pg::Params& params) && {
    if (writer_) {
      params.Add(std::move(*writer_));
    } else {
      params.Null(Writer::kOid);
    }
  }

 private:
  const size_t count_;
  size_t unset_ = 0;  // elements before the first that is set
  std::optional<Writer> writer_;
};

}  // namespace queen::storage
