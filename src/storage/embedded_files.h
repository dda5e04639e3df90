// The files of sql/ as they were when the binary was built; cmake/sql.cmake writes the definition.
#pragma once

#include <string_view>
#include <vector>

namespace queen::storage {

struct EmbeddedFile {
  std::string_view path;  // below sql/, such as "migrations/0001_tables.sql"
  std::string_view text;
};

std::vector<EmbeddedFile> EmbeddedFiles();

}  // namespace queen::storage
