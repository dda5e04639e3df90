#include "auth/roles.h"

#include <algorithm>

namespace queen::auth {

std::optional<Role> ParseRole(std::string_view name) {
  for (const Role role : {Role::kReadOnly, Role::kReadWrite, Role::kAdmin}) {
    if (name == RoleName(role)) return role;
  }
  return std::nullopt;
}

Role HighestRole(const std::vector<std::string>& roles, const RoleNames& names) {
  const auto has = [&](const std::string& name) {
    return std::ranges::find(roles, name) != roles.end();
  };
  if (has(names.admin)) return Role::kAdmin;
  if (has(names.read_write)) return Role::kReadWrite;
  if (has(names.read_only)) return Role::kReadOnly;
  return Role::kAnybody;
}

}  // namespace queen::auth
