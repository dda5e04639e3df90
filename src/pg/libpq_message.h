// What libpq says to people, made fit for a log line and taken apart where it holds more: it is
// multi-line, indented, and for a refused connection the only place where the SQLSTATE is.
#pragma once

#include <string>
#include <string_view>

namespace queen::pg {

// On one line: indented lines continue theirs, others are separated by "; ", source positions
// ("LOCATION: ...", of PQERRORS_VERBOSE) are left out.
std::string OneLine(std::string_view message);

// The last "SEVERITY:  SQLSTATE: " of a message made under PQERRORS_VERBOSE, or "".
std::string_view SqlstateIn(std::string_view message);

}  // namespace queen::pg
