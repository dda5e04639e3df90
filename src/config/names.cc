#include "config/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/settings.h"

namespace queen::config {
namespace {

// Near misses of very short names are other programs' variables.
constexpr size_t kShortestGuessed = 5;
// libpq reads these itself; each is one underscore away from a name of ours.
constexpr std::array<std::string_view, 6> kLibpqNames = {
    "PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGSSLMODE", "PGSSLROOTCERT"};

// QUEEN_SERVICE_HOST, QUEEN_SERVICE_PORT_HTTP, QUEEN_PORT, QUEEN_PORT_6632_TCP_ADDR, ...
bool IsFromKubernetes(std::string_view name) {
  if (name.find("_SERVICE_HOST") != std::string_view::npos) return true;
  if (name.find("_SERVICE_PORT") != std::string_view::npos) return true;
  if (name.ends_with("_PORT")) return true;
  const size_t port = name.find("_PORT_");
  return port != std::string_view::npos && port + 6 < name.size() && name[port + 6] >= '0' &&
         name[port + 6] <= '9';
}

const Setting* NearSetting(std::string_view name) {
  for (const Setting& setting : Settings()) {
    if (setting.name.size() >= kShortestGuessed && IsOneEditApart(name, setting.name)) {
      return &setting;
    }
  }
  return nullptr;
}

}  // namespace

bool IsOneEditApart(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (a == b || b.size() - a.size() > 1) return false;
  const size_t same = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  if (a.size() < b.size()) return a.substr(same) == b.substr(same + 1);
  if (a.substr(same + 1) == b.substr(same + 1)) return true;
  return same + 1 < a.size() && a[same] == b[same + 1] && a[same + 1] == b[same] &&
         a.substr(same + 2) == b.substr(same + 2);
}

std::string Suggestion(std::string_view name, std::span<const std::string> known) {
  for (const std::string& candidate : known) {
    if (IsOneEditApart(name, candidate)) return fmt::format("; did you mean {}?", candidate);
  }
  return "";
}

std::vector<std::string> EnvironmentWarnings(const Environment& environment, bool uses_embedded) {
  std::vector<std::string> warnings;
  for (const auto& [name, value] : environment) {
    if (name == kFileVariable || FindSetting(name) != nullptr) continue;
    if (std::ranges::find(kLibpqNames, name) != kLibpqNames.end()) {
      if (uses_embedded && name == "PGHOST") {
        warnings.emplace_back(
            "the environment variable PGHOST does not name a server for the broker; did you mean "
            "PG_HOST?");
      }
      continue;
    }
    const Setting* near = NearSetting(name);
    if (near != nullptr) {
      warnings.push_back(fmt::format(
          "the environment variable {} is not a setting; did you mean {}?", name, near->name));
    } else if (name.starts_with("QUEEN_") && !IsFromKubernetes(name)) {
      warnings.push_back(fmt::format("the environment variable {} is not a setting", name));
    }
  }
  return warnings;
}

}  // namespace queen::config
