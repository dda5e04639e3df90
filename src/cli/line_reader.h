// LineReader: the lines of a file or of standard input. Waiting for input that does not come can be
// ended, and an input that cannot be read is not taken for one that is over.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

namespace queen::cli {

class LineReader {
 public:
  // "-" is standard input.
  explicit LineReader(const std::string& file);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // The next line without its end; false at the end of the input, when `stop` is asked, and after a
  // problem.
  bool Next(std::string& line, const std::stop_token& stop);

  // Why the input cannot be read, or "".
  const std::string& problem() const { return problem_; }
  // The size of a file, 0 of anything else.
  int64_t size() const { return size_; }

 private:
  // Reads more; false if there is none.
  bool Fill(const std::stop_token& stop);
  void Fail(int fault);

  const std::string file_;
  int descriptor_ = -1;
  int64_t size_ = 0;
  std::string problem_;
  std::string buffer_;
  size_t taken_ = 0;  // so much of the buffer
  bool at_end_ = false;
};

}  // namespace queen::cli
