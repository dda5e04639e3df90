// The query string of a request: names and values, decoded and checked once. Unknown parameters are
// nobody's concern; of a parameter given twice the first counts. A value that cannot be used is an
// invalid_request that names the parameter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace queen::http {

class Query {
 public:
  Query() = default;

  // `raw` is what follows the '?'. Refuses malformed percent-encoding, and names or values that are
  // not UTF-8 or contain NUL: they may end in SQL.
  static Result<Query> Parse(std::string_view raw);

  // The value, or nullopt when the parameter is not there.
  std::optional<std::string_view> Get(std::string_view name) const;
  std::string_view GetOr(std::string_view name, std::string_view absent) const;

  // `true` and `1` are true, `false`, `0` and "" false, in any case of letters; anything else is
  // refused.
  Result<bool> Bool(std::string_view name, bool absent = false) const;

  // A whole number between `low` and `high`, inclusive; anything else is refused.
  Result<int64_t> Int(std::string_view name, int64_t absent, int64_t low = INT64_MIN,
                      int64_t high = INT64_MAX) const;

  // A finite decimal number.
  Result<double> Number(std::string_view name, double absent) const;

  bool empty() const { return parameters_.empty(); }

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};

}  // namespace queen::http
