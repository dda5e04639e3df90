// Lists of pairs as OpenTelemetry's variables hold them: "key=value,key=value", values
// percent-encoded, spaces around keys and values without meaning.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace queen::config {

using PairList = std::vector<std::pair<std::string, std::string>>;

// nullopt if it is none: an entry without "=", an empty key, a "%" that two hexadecimal digits do
// not follow, a control character. "" is a list of nothing.
std::optional<PairList> ParsePairList(std::string_view text);

}  // namespace queen::config
