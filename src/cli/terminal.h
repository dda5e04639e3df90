// What is known of the terminal: whether there is one, how wide it is, and colours, which only a
// terminal gets (and none with NO_COLOR).
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace queen::cli {

enum class Colour { kNone, kBold, kDim, kRed, kGreen, kYellow, kCyan };

class Terminal {
 public:
  // About the terminal behind `stream`, if there is one.
  Terminal(std::FILE* stream, bool colours_allowed);

  bool exists() const { return exists_; }
  // Columns and rows; without a terminal "as wide as you like".
  int width() const;
  int height() const;
  std::string Paint(Colour colour, std::string_view text) const;

 private:
  int descriptor_;
  bool exists_;
  bool colours_;
};

// Prints on standard error. A text that does not arrive there (the terminal is gone) is left be:
// nobody could be told.
void Say(std::string_view text);

}  // namespace queen::cli
