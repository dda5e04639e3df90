// Names that are nearly right: what a person probably meant, and which variables of a shared
// environment deserve a warning because they look like ours and are not.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/setting.h"

namespace queen::config {

// Whether one insertion, deletion, replacement or swap of neighbours makes `a` into `b`.
bool IsOneEditApart(std::string_view a, std::string_view b);

// "; did you mean X?" with the one of `known` that is nearest, or "".
std::string Suggestion(std::string_view name, std::span<const std::string> known);

// One warning per variable that starts with QUEEN_ or is one edit away from a setting, and is not
// a setting. What Kubernetes sets for a service called "queen", and what libpq reads, is left out.
std::vector<std::string> EnvironmentWarnings(const Environment& environment, bool uses_embedded);

}  // namespace queen::config
