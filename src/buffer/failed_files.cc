#include "buffer/failed_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/log.h"

namespace queen::buffer {
namespace {

constexpr std::string_view kPrefix = "failed-";

}  // namespace

Status FailedFiles::Open() {
  const auto entries = directory_.List();
  if (!entries.ok()) return entries.status();
  for (const Directory::Entry& entry : *entries) {
    if (!entry.name.starts_with(kPrefix)) continue;
    ++files_;
    bytes_ += static_cast<int64_t>(entry.size);
  }
  return Status::Ok();
}

Result<std::unique_ptr<File>> FailedFiles::Create(const std::string& name) {
  auto file = directory_.Create(name);
  if (!file.ok()) return file;
  ++files_;
  QUEEN_RETURN_IF_ERROR(directory_.Sync());
  return file;
}

Status FailedFiles::SetAsideDamage(uint64_t file_number, uint64_t offset, std::string_view bytes) {
  const std::string name = fmt::format("{}{:020}-{:012}.bytes", kPrefix, file_number, offset);
  const auto entries = directory_.List();
  if (!entries.ok()) return entries.status();
  const bool known =
      std::any_of(entries->begin(), entries->end(), [&](const Directory::Entry& entry) {
        return entry.name == name && entry.size == bytes.size();
      });
  if (known) return Status::Ok();
  if (directory_.Remove(name).ok()) --files_;  // left unfinished
  auto file = Create(name);
  if (!file.ok()) return file.status();
  QUEEN_RETURN_IF_ERROR((*file)->Append(bytes));
  QUEEN_RETURN_IF_ERROR((*file)->Sync());
  bytes_ += static_cast<int64_t>(bytes.size());
  ++damaged_ranges_;
  log::ErrorRarely("part of a buffer file is damaged and was set aside",
                   {{"file", file_number},
                    {"offset", offset},
                    {"bytes", bytes.size()},
                    {"kept_in", directory_.path() + "/" + name}});
  return Status::Ok();
}

void FailedFiles::AppendLine(const Group& group, const Message& message, std::string_view error,
                             std::string& lines) {
  JsonWriter writer(lines);
  writer.BeginObject();
  writer.Field("queue", group.queue);
  writer.Field("partition", group.partition);
  writer.Field("transactionId", message.txn);
  writer.Field("error", error);
  writer.Key("meta");
  writer.Raw(message.meta.empty() ? "null" : message.meta);
  writer.Key("payload");
  const size_t payload = lines.size();
  writer.Raw(message.payload);
  std::replace_if(
      lines.begin() + static_cast<ptrdiff_t>(payload), lines.end(),
      [](char c) { return c == '\n' || c == '\r'; }, ' ');
  writer.EndObject();
  lines += '\n';
}

Status FailedFiles::SetAsideMessages(std::string_view lines, int64_t count) {
  if (!lines_) {
    auto file = Create(fmt::format("{}{}.jsonl", kPrefix, WallMicros()));
    if (!file.ok()) return file.status();
    lines_ = *std::move(file);
  }
  Status status = lines_->Append(lines);
  if (status.ok()) status = lines_->Sync();
  if (!status.ok()) {
    lines_.reset();  // nothing is known of its end: go on in another one
    return status;
  }
  bytes_ += static_cast<int64_t>(lines.size());
  messages_ += count;
  log::ErrorRarely("buffered messages were refused by PostgreSQL and set aside",
                   {{"messages", count}, {"kept_in", directory_.path()}});
  return Status::Ok();
}

}  // namespace queen::buffer
