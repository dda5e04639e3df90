// The schema this binary brings: numbered migrations for state and procedure files for behaviour,
// as a value, so that tests can bring their own.
//
//   migrations/NNNN_name.sql   applied once, in order, never changed afterwards. A header line
//                              `-- breaking` says that older binaries cannot work with the result.
//   procedures/name.sql        CREATE OR REPLACE, any number of times. A header line
//                              `-- requires: a, b` names files that must be installed before.
//   procedures/RELEASE         a number that rises whenever a procedure changes, with the checksums
//                              it stands for; scripts/release-procedures writes it.
//
// The header of a file is the comment lines it starts with.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/embedded_files.h"

namespace queen::storage {

struct Migration {
  int version = 0;
  std::string name;  // "0001_tables.sql"
  std::string sql;
  std::string checksum;  // SHA-256 in hex, as sha256sum prints it
  bool breaking = false;
};

struct Procedure {
  std::string name;  // "push_messages.sql"
  std::string sql;
  std::string checksum;
  std::vector<std::string> required;  // names of files
};

struct Schema {
  std::vector<Migration> migrations;  // version 1, 2, 3, ...
  std::vector<Procedure> procedures;  // what a file requires stands before it
  int procedures_release = 0;
  std::map<std::string, std::string> released_checksums;  // by name, as RELEASE has them

  int version() const { return static_cast<int>(migrations.size()); }
};

// Refuses a bad file name, a gap in the numbers, an unknown or circular requirement, and a RELEASE
// that cannot be read (none at all is release 0).
Result<Schema> MakeSchema(std::span<const EmbeddedFile> files);

// The schema of this binary.
const Schema& EmbeddedSchema();

}  // namespace queen::storage
