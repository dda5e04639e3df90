#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <climits>

namespace queen::cli {
namespace {

std::string_view CodeOf(Colour colour) {
  switch (colour) {
    case Colour::kNone:
      return "";
    case Colour::kBold:
      return "\033[1m";
    case Colour::kDim:
      return "\033[2m";
    case Colour::kRed:
      return "\033[31m";
    case Colour::kGreen:
      return "\033[32m";
    case Colour::kYellow:
      return "\033[33m";
    case Colour::kCyan:
      return "\033[36m";
  }
  return "";
}

winsize SizeOf(int descriptor) {
  winsize size{};
  ioctl(descriptor, TIOCGWINSZ, &size);
  return size;
}

}  // namespace

Terminal::Terminal(std::FILE* stream, bool colours_allowed)
    : descriptor_(fileno(stream)),
      exists_(isatty(descriptor_) == 1),
      colours_(exists_ && colours_allowed) {}

int Terminal::width() const {
  if (!exists_) return INT_MAX;
  const int columns = SizeOf(descriptor_).ws_col;
  return columns > 0 ? columns : 80;
}

int Terminal::height() const {
  const int rows = exists_ ? SizeOf(descriptor_).ws_row : 0;
  return rows > 0 ? rows : 24;
}

std::string Terminal::Paint(Colour colour, std::string_view text) const {
  if (!colours_ || colour == Colour::kNone) return std::string(text);
  return std::string(CodeOf(colour)) + std::string(text) + "\033[0m";
}

void Say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace queen::cli
