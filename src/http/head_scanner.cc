#include "http/head_scanner.h"

#include <algorithm>

namespace queen::http {
namespace {

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "HTTP/1.1" and its like; which versions are served is decided later.
bool LooksLikeVersion(std::string_view text) {
  return text.size() == 8 && text.starts_with("HTTP/") && IsDigit(text[5]) && text[6] == '.' &&
         IsDigit(text[7]);
}

}  // namespace

HeadScanner::Outcome HeadScanner::Refuse(Code code, std::string_view text) {
  refusal_ = Status(code, std::string(text));
  return Outcome::kRefused;
}

HeadScanner::Outcome HeadScanner::Scan(std::string_view head) {
  while (true) {
    const size_t feed = head.find('\n', scanned_);
    if (feed == head.npos) {
      scanned_ = head.size();
      return CheckUnfinished(head.substr(line_begin_), head.size());
    }
    if (feed == line_begin_ || head[feed - 1] != '\r') {
      return Refuse(Code::kInvalidRequest, "A line of the header must end in CRLF");
    }
    const std::string_view line = head.substr(line_begin_, feed - 1 - line_begin_);
    const bool end_of_head = line.empty();
    if (!end_of_head) {
      if (const Outcome outcome = CheckLine(line); outcome == Outcome::kRefused) return outcome;
    }
    line_begin_ = scanned_ = feed + 1;
    if (line_begin_ > limits_->header_bytes_max) return Refuse(Code::kHeadersTooLarge);
    if (end_of_head) return Outcome::kFound;
  }
}

HeadScanner::Outcome HeadScanner::CheckLine(std::string_view line) {
  if (line.find('\r') != line.npos) {
    return Refuse(Code::kInvalidRequest, "The header contains a CR without LF");
  }
  if (line.find('\0') != line.npos) {
    return Refuse(Code::kInvalidRequest, "The header contains NUL");
  }
  if (in_request_line_) {
    in_request_line_ = false;
    return CheckRequestLine(line);
  }
  if (line.front() == ' ' || line.front() == '\t') {
    return Refuse(Code::kInvalidRequest, "A header field is folded over two lines");
  }
  return Outcome::kNeedMore;
}

HeadScanner::Outcome HeadScanner::CheckRequestLine(std::string_view line) {
  const size_t target_begin = line.find(' ') + 1;
  const size_t target_end = line.find(' ', target_begin);
  if (target_begin == 0 || target_end == line.npos || target_end == target_begin ||
      !IsUpper(line.front()) || !LooksLikeVersion(line.substr(target_end + 1))) {
    return Refuse(Code::kInvalidRequest, "The request line is malformed");
  }
  const std::string_view target = line.substr(target_begin, target_end - target_begin);
  if (target.size() > limits_->target_bytes_max) return Refuse(Code::kUriTooLong);
  const bool printable = std::none_of(target.begin(), target.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (!printable) {
    return Refuse(Code::kInvalidRequest, "The request target contains a control character");
  }
  const std::string_view version = line.substr(target_end + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return Refuse(Code::kHttpVersion);
  return Outcome::kNeedMore;
}

HeadScanner::Outcome HeadScanner::CheckUnfinished(std::string_view line, size_t head_bytes) {
  if (in_request_line_) {
    // Something else than HTTP, such as a TLS handshake, may never send a line feed.
    if (!line.empty() && !IsUpper(line.front()) && line != "\r") {
      return Refuse(Code::kInvalidRequest, "The request line is malformed");
    }
    const size_t target_begin = line.find(' ') + 1;
    if (target_begin > 0 && line.size() - target_begin > limits_->target_bytes_max) {
      const size_t target_bytes =
          std::min(line.find(' ', target_begin), line.size()) - target_begin;
      if (target_bytes > limits_->target_bytes_max) return Refuse(Code::kUriTooLong);
    }
  }
  // The head cannot end before one more byte.
  if (head_bytes >= limits_->header_bytes_max) return Refuse(Code::kHeadersTooLarge);
  return Outcome::kNeedMore;
}

void HeadScanner::Reset() {
  line_begin_ = scanned_ = 0;
  in_request_line_ = true;
}

}  // namespace queen::http
