// Finds where the head of a request ends, holding its lines to a strict discipline before llhttp
// sees them: every line ends in CRLF, CR and NUL stand nowhere else, no line continues the one
// before it (obs-fold). Two parsers that read such a head cannot disagree about where it ends,
// which is what request smuggling lives on. It also holds the limits on head and target, so that
// what is buffered of a head is bounded.
//
// Reading is incremental: Scan is called with everything received of the head so far, each time
// with the same bytes and more behind them, and looks at each byte once.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"
#include "http/limits.h"

namespace queen::http {

class HeadScanner {
 public:
  enum class Outcome { kNeedMore, kFound, kRefused };

  explicit HeadScanner(const Limits& limits) : limits_(&limits) {}

  // REQUIRES: `head` starts with the first byte of the request line.
  Outcome Scan(std::string_view head);

  // After kFound: the length of the head, the empty line included.
  size_t end() const { return line_begin_; }
  // After kRefused: why.
  const Status& refusal() const { return refusal_; }

  void Reset();

 private:
  Outcome Refuse(Code code, std::string_view text = {});
  // Judges one complete line, without its CRLF.
  Outcome CheckLine(std::string_view line);
  Outcome CheckRequestLine(std::string_view line);
  // Judges the line that has not ended yet.
  Outcome CheckUnfinished(std::string_view line, size_t head_bytes);

  const Limits* limits_;
  size_t line_begin_ = 0;  // the first byte of the current line
  size_t scanned_ = 0;     // no line feed before this
  bool in_request_line_ = true;
  Status refusal_;
};

}  // namespace queen::http
