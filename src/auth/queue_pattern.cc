#include "auth/queue_pattern.h"

namespace queen::auth {

// Each '*' first takes nothing; on a mismatch the last one takes one character more. Earlier ones
// never need to be tried again, so the time is at most the product of both lengths.
bool MatchesPattern(std::string_view pattern, std::string_view queue) {
  size_t p = 0;
  size_t q = 0;
  size_t star = std::string_view::npos;
  size_t star_end = 0;  // how far that '*' reaches in `queue`
  while (q < queue.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_end = q;
    } else if (p < pattern.size() && pattern[p] == queue[q]) {
      ++p;
      ++q;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      q = ++star_end;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace queen::auth
