// Roles by their names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/access.h"

namespace queen::auth {

// How an issuer calls our roles.
struct RoleNames {
  std::string admin = "admin";
  std::string read_write = "read-write";
  std::string read_only = "read-only";
};

// "admin", "read-write" or "read-only".
std::optional<Role> ParseRole(std::string_view name);

// The highest of those that are ours; kAnybody when none is.
Role HighestRole(const std::vector<std::string>& roles, const RoleNames& names);

}  // namespace queen::auth
