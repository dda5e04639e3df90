// The configuration file: lines `NAME = value` with the names of the environment.
//
//   # a comment; empty lines are fine
//   PORT = 6632              # so is a comment after a value, with a space before it
//   PG_PASSWORD = "a # b"    # quotes, single or double, keep everything between them as it is
//
// Only the form is checked here; load.cc knows names and values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace queen::config {

struct FileEntry {
  int line;  // from 1
  std::string name;
  std::string value;
};

struct FileContent {
  std::vector<FileEntry> entries;
  std::vector<std::string> problems;  // "path:line: what is wrong", never with a value
};

// `path` is only for the messages.
FileContent ParseFile(std::string_view path, std::string_view text);

// The whole file, or why it cannot be read.
Result<std::string> ReadFile(const std::string& path);

}  // namespace queen::config
