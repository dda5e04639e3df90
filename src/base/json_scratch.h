// Memory for decoded JSON strings. Most strings have no escapes and are slices of the body; the
// few that have are decoded in here, where they stay put until the scratch is destroyed or cleared.
// Nothing is allocated before the first escape; together the decoded texts are shorter than
// the body they come from. Not thread safe; one per request.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace queen {

class JsonScratch {
 public:
  // `size` bytes that nobody else gets. The address is stable until Clear.
  char* Take(size_t size);

  // Gives back the last `unused` bytes of the latest Take.
  void Return(size_t unused) { used_ -= unused; }

  // Forgets what was taken, and keeps one chunk to be used again.
  void Clear();

 private:
  std::vector<std::unique_ptr<char[]>> chunks_;
  size_t used_ = 0;  // of the last chunk
  size_t size_ = 0;  // of the last chunk
};

}  // namespace queen
