#include "base/json_line.h"

#include "base/json_scan.h"

namespace queen {

void AppendJsonLine(std::string& out, std::string_view json) {
  const size_t start = out.size();
  out.append(json);
  char* p = out.data() + start;
  char* const end = out.data() + out.size();
  while ((p += json_scan::FindLineBreak(p, end) - p) != end) *p = ' ';
}

}  // namespace queen
