// Range-for over the members of a JsonValue, for code that is not on a hot path:
//
//   for (const JsonValue element : JsonElements(value)) ...
//   for (const JsonField& field : JsonFields(value)) if (field.key == "queue") ...
//
// Each loop reads the slice of the value once more. A value of another kind has no members.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

#include "base/json_reader.h"

namespace queen {

// `key` is decoded and valid until the loop moves on (JsonReader::key).
struct JsonField {
  std::string_view key;
  JsonValue value;
};

// One pass only: begin() may be called once.
template <typename Member>
class JsonRange {
 public:
  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = Member;

    explicit Iterator(JsonRange* range) : range_(range) {}
    const Member& operator*() const { return range_->member_; }
    Iterator& operator++() {
      range_->more_ = range_->Next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !range_->more_; }

   private:
    JsonRange* range_;
  };

  Iterator begin() {
    more_ = more_ && Next();
    return Iterator(this);
  }
  std::default_sentinel_t end() const { return {}; }

 protected:
  explicit JsonRange(const JsonValue& value) : reader_(value.raw()) {}
  virtual ~JsonRange() = default;
  virtual bool Next() = 0;

  JsonReader reader_;
  Member member_;
  bool more_ = false;
};

class JsonElements : public JsonRange<JsonValue> {
 public:
  explicit JsonElements(const JsonValue& array) : JsonRange(array) { more_ = reader_.EnterArray(); }

 private:
  bool Next() override {
    if (!reader_.NextElement()) return false;
    member_ = reader_.Value();
    return true;
  }
};

class JsonFields : public JsonRange<JsonField> {
 public:
  explicit JsonFields(const JsonValue& object) : JsonRange(object) {
    more_ = reader_.EnterObject();
  }

 private:
  bool Next() override {
    if (!reader_.NextField()) return false;
    member_ = {reader_.key(), reader_.Value()};
    return true;
  }
};

}  // namespace queen
