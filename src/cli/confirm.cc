#include "cli/confirm.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "cli/units.h"

namespace queen::cli {

bool Confirmed(const std::string& what, bool yes) {
  if (yes) return true;
  if (isatty(STDIN_FILENO) != 1) {
    fmt::print(stderr, "queen: {}: add --yes, since nobody can be asked\n", Printable(what));
    return false;
  }
  fmt::print(stderr, "{}? [y/N] ", Printable(what));
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace queen::cli
