// The table of settings written for people and programs: the lines of --help, the values in force
// (`queen config`), and the page docs/configuration.md.
#pragma once

#include <string>

#include "config/load.h"

namespace queen::config {

// The settings grouped by section: flag, variable, default and description, within 100 columns.
std::string SettingsHelp();

// An aligned table of name, value and origin; secrets masked.
std::string ReportText(const Loaded& loaded);

// {"settings":[{"name","flag","section","value","origin"}, ...]}; numbers and booleans are such,
// sizes are bytes, a secret is null or "***".
std::string ReportJson(const Loaded& loaded);

// docs/configuration.md.
std::string ReportMarkdown();

}  // namespace queen::config
