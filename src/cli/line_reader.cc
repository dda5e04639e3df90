#include "cli/line_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace queen::cli {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;
constexpr int kLookMs = 100;  // how soon a wait sees that it is over

}  // namespace

LineReader::LineReader(const std::string& file) : file_(file) {
  descriptor_ = file == "-" ? STDIN_FILENO : open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) Fail(errno);
  struct stat info {};
  if (fstat(descriptor_, &info) == 0 && S_ISREG(info.st_mode)) size_ = info.st_size;
}

LineReader::~LineReader() {
  if (descriptor_ > STDIN_FILENO) close(descriptor_);
}

void LineReader::Fail(int fault) {
  problem_ = "cannot read " + (file_ == "-" ? std::string("standard input") : file_) + ": " +
             std::strerror(fault);
  at_end_ = true;
}

bool LineReader::Next(std::string& line, const std::stop_token& stop) {
  size_t looked = taken_;
  for (;;) {
    if (stop.stop_requested()) return false;
    const size_t end = buffer_.find('\n', looked);
    if (end != std::string::npos) {
      line.assign(buffer_, taken_, end - taken_);
      taken_ = end + 1;
      return true;
    }
    looked = buffer_.size() - taken_;  // what Fill leaves begins with this line
    if (Fill(stop)) continue;
    if (!problem_.empty() || stop.stop_requested() || taken_ == buffer_.size()) return false;
    line.assign(buffer_, taken_);  // the last one, without an end
    taken_ = buffer_.size();
    return true;
  }
}

bool LineReader::Fill(const std::stop_token& stop) {
  buffer_.erase(0, taken_);
  taken_ = 0;
  while (!at_end_ && !stop.stop_requested()) {
    pollfd input{descriptor_, POLLIN, 0};
    if (poll(&input, 1, kLookMs) == 0) continue;
    const size_t before = buffer_.size();
    buffer_.resize(before + kReadBytes);
    const ssize_t count = read(descriptor_, buffer_.data() + before, kReadBytes);
    const int fault = errno;
    buffer_.resize(before + static_cast<size_t>(count > 0 ? count : 0));
    if (count > 0) return true;
    if (count < 0 && (fault == EINTR || fault == EAGAIN)) continue;
    if (count < 0) Fail(fault);
    at_end_ = true;
  }
  return false;
}

}  // namespace queen::cli
