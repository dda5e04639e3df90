#include "storage/schema.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>

namespace queen::storage {
namespace {

constexpr std::string_view kMigrations = "migrations/";
constexpr std::string_view kProcedures = "procedures/";
constexpr std::string_view kRelease = "procedures/RELEASE";
constexpr size_t kVersionDigits = 4;

std::string Sha256Hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Cuts the first part of `rest` up to `separator`.
std::string_view NextPart(std::string_view& rest, char separator) {
  const size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

// What follows `-- <key>` on a header line, nullopt when there is no such line.
std::optional<std::string_view> HeaderValue(std::string_view sql, std::string_view key) {
  while (sql.starts_with("--")) {
    const std::string_view line = Trim(NextPart(sql, '\n').substr(2));
    if (line.starts_with(key)) return Trim(line.substr(key.size()));
  }
  return std::nullopt;
}

Status Bad(std::string_view path, std::string_view what) {
  return Status(Code::kInternal, fmt::format("sql/{}: {}", path, what));
}

Result<Migration> MakeMigration(const EmbeddedFile& file) {
  const std::string_view name = file.path.substr(kMigrations.size());
  Migration migration{0, std::string(name), std::string(file.text), Sha256Hex(file.text),
                      HeaderValue(file.text, "breaking") == ""};
  const auto [end, error] =
      std::from_chars(name.data(), name.data() + name.size(), migration.version);
  if (error != std::errc() || end != name.data() + kVersionDigits || *end != '_') {
    return Bad(file.path, "the name must be NNNN_name.sql");
  }
  return migration;
}

Procedure MakeProcedure(const EmbeddedFile& file) {
  Procedure procedure{std::string(file.path.substr(kProcedures.size())),
                      std::string(file.text),
                      Sha256Hex(file.text),
                      {}};
  std::string_view required = HeaderValue(file.text, "requires:").value_or("");
  while (!required.empty()) {
    procedure.required.push_back(fmt::format("{}.sql", Trim(NextPart(required, ','))));
  }
  return procedure;
}

// Lines "release N" and "<checksum>  <name>"; `#` starts a comment line.
Status ParseRelease(std::string_view text, Schema& schema) {
  while (!text.empty()) {
    std::string_view line = Trim(NextPart(text, '\n'));
    if (line.empty() || line.starts_with('#')) continue;
    const std::string_view first = NextPart(line, ' ');
    const std::string_view second = Trim(line);
    if (first == "release") {
      const auto [end, error] =
          std::from_chars(second.data(), second.data() + second.size(), schema.procedures_release);
      if (error != std::errc() || end != second.data() + second.size()) {
        return Bad(kRelease, "the release must be a number");
      }
    } else {
      schema.released_checksums[std::string(second)] = first;
    }
  }
  if (schema.procedures_release < 1) return Bad(kRelease, "the release must be 1 or more");
  return Status::Ok();
}

// Puts each procedure behind those it requires, otherwise in the order of their names.
Status SortProcedures(std::vector<Procedure>& procedures) {
  std::ranges::sort(procedures, {}, &Procedure::name);
  std::vector<Procedure> sorted;
  std::set<std::string> placed;
  while (!procedures.empty()) {
    const auto next = std::ranges::find_if(procedures, [&](const Procedure& procedure) {
      return std::ranges::all_of(procedure.required,
                                 [&](const std::string& name) { return placed.contains(name); });
    });
    if (next == procedures.end()) {
      return Bad(std::string(kProcedures) + procedures.front().name,
                 "requires a file that does not exist, or that requires this one");
    }
    placed.insert(next->name);
    sorted.push_back(std::move(*next));
    procedures.erase(next);
  }
  procedures = std::move(sorted);
  return Status::Ok();
}

}  // namespace

Result<Schema> MakeSchema(std::span<const EmbeddedFile> files) {
  Schema schema;
  for (const EmbeddedFile& file : files) {
    if (file.path == kRelease) {
      QUEEN_RETURN_IF_ERROR(ParseRelease(file.text, schema));
    } else if (file.path.starts_with(kMigrations)) {
      Result<Migration> migration = MakeMigration(file);
      if (!migration.ok()) return migration.status();
      schema.migrations.push_back(*std::move(migration));
    } else if (file.path.starts_with(kProcedures)) {
      schema.procedures.push_back(MakeProcedure(file));
    } else {
      return Bad(file.path, "is neither a migration nor a procedure");
    }
  }
  std::ranges::sort(schema.migrations, {}, &Migration::version);
  for (size_t i = 0; i < schema.migrations.size(); ++i) {
    if (schema.migrations[i].version != static_cast<int>(i) + 1) {
      return Bad(kMigrations,
                 fmt::format("{} should have the number {:04}", schema.migrations[i].name, i + 1));
    }
  }
  QUEEN_RETURN_IF_ERROR(SortProcedures(schema.procedures));
  return schema;
}

const Schema& EmbeddedSchema() {
  static const Schema schema = [] {
    Result<Schema> made = MakeSchema(EmbeddedFiles());
    if (!made.ok()) {
      // A unit test makes this schema too, so a build that gets here was never tested.
      std::fprintf(stderr, "queen: %s\n", made.status().message().c_str());
      std::abort();
    }
    return *std::move(made);
  }();
  return schema;
}

}  // namespace queen::storage
