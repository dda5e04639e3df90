#include "base/json_line.h"

#include "base/json_scan.h"

namespace queen {

void AppendJsonLine(std::string& out, std::string_view json) {
  const char* p = json.data();
  const char* const end = p + json.size();
  for (;;) {
    const char* const line_break = json_scan::FindLineBreak(p, end);
    out.append(p, line_break);
    if (line_break == end) return;
    out += ' ';
    p = line_break + 1;
  }
}

}  // namespace queen
