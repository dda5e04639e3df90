// The line codec of a segment's text columns (payloads, txns, meta): message i of the segment is
// line i of each column. Lines are separated by LF and the last one has none behind it, so n lines
// hold n - 1 LFs. Any line may be empty (a message without a transactionId); a column in which all
// are empty is stored as NULL.
//
// Lines go to clients as they are: splitting is memchr, and nothing is parsed again.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace queen::storage {

// Builds one column.
class LineColumn {
 public:
  // Adds a line as it is. False, and nothing is added, if it contains LF: it would be two
  // lines, and every message behind it would get its neighbour's.
  [[nodiscard]] bool Add(std::string_view line);

  // Adds a JSON document; raw line breaks between its tokens become spaces.
  // REQUIRES: `json` passed the JsonReader.
  void AddJson(std::string_view json);

  size_t count() const { return count_; }
  std::string_view text() const { return text_; }
  // What to store where the column may be NULL: nullopt if every line is empty.
  std::optional<std::string_view> nullable_text() const;

  void Clear();

 private:
  void BeginLine();

  std::string text_;
  size_t count_ = 0;
};

// The lines of `text`, slices of it, replacing what `lines` held. kLineCountMismatch unless they
// are exactly `count`, and at least one; `lines` is then empty.
Status SplitLines(std::string_view text, size_t count, std::vector<std::string_view>& lines);

// As above; NULL stands for `count` empty lines. `count` is believed then: split the payloads,
// which are never NULL, first.
Status SplitNullableLines(std::optional<std::string_view> text, size_t count,
                          std::vector<std::string_view>& lines);

}  // namespace queen::storage
