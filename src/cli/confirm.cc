#include "cli/confirm.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "cli/terminal.h"
#include "cli/units.h"

namespace queen::cli {

bool Confirmed(const std::string& what, bool yes) {
  if (yes) return true;
  if (isatty(STDIN_FILENO) != 1) {
    Say(fmt::format("queen: {}: add --yes, since nobody can be asked\n", Printable(what)));
    return false;
  }
  Say(fmt::format("{}? [y/N] ", Printable(what)));
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace queen::cli
