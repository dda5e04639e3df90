#include "buffer/owner.h"

#include <fmt/format.h>

#include <algorithm>

namespace queen::buffer {
namespace {

constexpr const char* kName = "database";
constexpr size_t kIdBytes = 36;  // of a UUID as text

}  // namespace

Status Owner::Open(bool empty) {
  const auto entries = directory_.List();
  if (!entries.ok()) return entries.status();
  const bool exists = std::any_of(entries->begin(), entries->end(),
                                  [](const auto& entry) { return entry.name == kName; });
  if (!exists) return Status::Ok();
  if (empty) {
    QUEEN_RETURN_IF_ERROR(directory_.Remove(kName));
    return directory_.Sync();
  }
  auto id = directory_.Read(kName, 0, kIdBytes);
  if (!id.ok()) return id.status();
  // A shorter one was cut off by a crash while it was written.
  if (id->size() == kIdBytes) id_ = *std::move(id);
  return Status::Ok();
}

Status Owner::Claim(const std::string& id) {
  if (id_ == id) return Status::Ok();
  if (id_.empty()) return Write(id);
  return Status(
      Code::kConflict,
      fmt::format("the messages in the file buffer {} are for another database: the one with the "
                  "id {}, and this one has the id {}. Nothing was replayed and nothing is lost. "
                  "Either start the broker with the database they are for, which stores them; or "
                  "name another directory for the buffer of this database (FILE_BUFFER_DIR)",
                  directory_.path(), id_, id));
}

Status Owner::Write(const std::string& id) {
  [[maybe_unused]] const Status removed = directory_.Remove(kName);  // one that was cut off
  auto file = directory_.Create(kName);
  if (!file.ok()) return file.status();
  QUEEN_RETURN_IF_ERROR((*file)->Append(id));
  QUEEN_RETURN_IF_ERROR((*file)->Sync());
  QUEEN_RETURN_IF_ERROR(directory_.Sync());
  id_ = id;
  return Status::Ok();
}

}  // namespace queen::buffer
