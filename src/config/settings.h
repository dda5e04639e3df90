// The table of settings. Help, environment, file, validation, `queen config` and
// docs/configuration.md all come from it; a setting is a row here and a member in config.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/setting.h"

namespace queen::config {

// In the order they are shown; the rows of a section stand together.
std::span<const Setting> Settings();

// Where QUEEN_CONFIG, which names the file and therefore cannot be in it, is described.
inline constexpr std::string_view kFileVariable = "QUEEN_CONFIG";
inline constexpr std::string_view kFileFlag = "--config";

// The row with this name, or null.
const Setting* FindSetting(std::string_view name);

// What is wrong with the values together, one sentence each naming the settings.
std::vector<std::string> CheckTogether(const Config& config);

}  // namespace queen::config
