// UTF-8 checks, in one place because every text that reaches PostgreSQL must pass them.
#pragma once

#include <cstddef>
#include <string_view>

namespace queen {

// The length (1..4) of the valid UTF-8 sequence at the front of `text`, 0 if there is none.
// REQUIRES: !text.empty()
size_t Utf8SequenceLength(std::string_view text);

bool IsValidUtf8(std::string_view text);

// Whether it holds a control character (of ASCII, or U+0080 to U+009F). REQUIRES: IsValidUtf8(text)
bool HasControls(std::string_view text);

}  // namespace queen
