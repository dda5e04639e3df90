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
  if (id->size() == kIdBytes) Set(*id, true);
  return Status::Ok();
}

Status Owner::Claim(const std::string& id, bool empty) {
  if (Is(id)) return Status::Ok();
  const std::string before = this->id();
  if (empty || before.empty() || before == id) {
    Set(id, false);
    QUEEN_RETURN_IF_ERROR(Write(id));
    Set(id, true);
    return Status::Ok();
  }
  return Status(
      Code::kConflict,
      fmt::format("the messages in the file buffer {} are for another database: the one with the "
                  "id {}, and this one has the id {}. None of them was stored in this one, and "
                  "nothing is lost. Either start the broker with the database they are for, which "
                  "stores them; or name another directory for the buffer of this database "
                  "(FILE_BUFFER_DIR)",
                  directory_.path(), before, id));
}

std::string Owner::id() const {
  const std::lock_guard lock(mutex_);
  return id_;
}

bool Owner::Is(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  return noted_ && id_ == id;
}

void Owner::Set(const std::string& id, bool noted) {
  const std::lock_guard lock(mutex_);
  id_ = id;
  noted_ = noted;
}

Status Owner::Write(const std::string& id) {
  [[maybe_unused]] const Status removed = directory_.Remove(kName);  // one that was cut off
  auto file = directory_.Create(kName);
  if (!file.ok()) return file.status();
  QUEEN_RETURN_IF_ERROR((*file)->Append(id));
  QUEEN_RETURN_IF_ERROR((*file)->Sync());
  return directory_.Sync();
}

}  // namespace queen::buffer
