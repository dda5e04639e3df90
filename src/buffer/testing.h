// MemoryDirectory: a Directory for tests. It knows what would survive a loss of power, and every
// operation can be made to fail.
#pragma once

#include <map>
#include <mutex>
#include <set>

#include "buffer/files.h"

namespace queen::buffer {

enum class Fault { kAppend, kTornAppend, kSync, kTruncate, kCreate, kRemove, kDirectorySync };

class MemoryDirectory final : public Directory {
 public:
  const std::string& path() const override { return path_; }

  Result<std::unique_ptr<File>> Create(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    if (faults_.contains(Fault::kCreate) || files_.contains(name)) return Failure();
    files_[name] = {};
    return std::unique_ptr<File>(std::make_unique<MemoryFile>(*this, name));
  }

  Result<std::string> Read(const std::string& name, uint64_t from, uint64_t to) override {
    const std::lock_guard lock(mutex_);
    const std::string& bytes = files_.at(name).bytes;
    return from < bytes.size() ? bytes.substr(from, to - from) : std::string();
  }

  Result<std::vector<Entry>> List() override {
    const std::lock_guard lock(mutex_);
    std::vector<Entry> entries;
    for (const auto& [name, file] : files_) entries.push_back({name, file.bytes.size()});
    return entries;
  }

  Status Remove(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    if (faults_.contains(Fault::kRemove) || files_.erase(name) == 0) return Failure();
    return Status::Ok();
  }

  Status Sync() override {
    const std::lock_guard lock(mutex_);
    if (faults_.contains(Fault::kDirectorySync)) return Failure();
    entries_ = {};
    for (const auto& [name, file] : files_) entries_.insert(name);
    return Status::Ok();
  }

  Result<int64_t> FreeBytes() override {
    const std::lock_guard lock(mutex_);
    return free_bytes_;
  }

  // ---- for the test

  void SetFreeBytes(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    free_bytes_ = bytes;
  }

  void SetFault(Fault fault, bool on) {
    const std::lock_guard lock(mutex_);
    on ? (void)faults_.insert(fault) : (void)faults_.erase(fault);
  }

  // What is on the disk after the power was lost: only what was synced.
  void LosePower() {
    const std::lock_guard lock(mutex_);
    std::erase_if(files_, [this](const auto& file) { return !entries_.contains(file.first); });
    for (auto& [name, file] : files_) file.bytes.resize(file.synced);
  }

  std::map<std::string, std::string> contents() const {
    const std::lock_guard lock(mutex_);
    std::map<std::string, std::string> contents;
    for (const auto& [name, file] : files_) contents[name] = file.bytes;
    return contents;
  }

  void Put(const std::string& name, std::string bytes) {
    const std::lock_guard lock(mutex_);
    const size_t size = bytes.size();
    files_[name] = {std::move(bytes), size};
    entries_.insert(name);
  }

  int64_t syncs() const {
    const std::lock_guard lock(mutex_);
    return syncs_;
  }

 private:
  struct Content {
    std::string bytes;
    size_t synced = 0;
  };

  class MemoryFile final : public File {
   public:
    MemoryFile(MemoryDirectory& directory, std::string name)
        : directory_(directory), name_(std::move(name)) {}

    Status Append(std::string_view bytes) override {
      const std::lock_guard lock(directory_.mutex_);
      std::string& content = directory_.files_.at(name_).bytes;
      if (directory_.faults_.contains(Fault::kTornAppend)) {
        content += bytes.substr(0, bytes.size() / 2);
        return Failure();
      }
      if (directory_.faults_.contains(Fault::kAppend)) return Failure();
      content += bytes;
      return Status::Ok();
    }

    Status Sync() override {
      const std::lock_guard lock(directory_.mutex_);
      ++directory_.syncs_;
      if (directory_.faults_.contains(Fault::kSync)) return Failure();
      Content& content = directory_.files_.at(name_);
      content.synced = content.bytes.size();
      return Status::Ok();
    }

    Status Truncate(uint64_t size) override {
      const std::lock_guard lock(directory_.mutex_);
      if (directory_.faults_.contains(Fault::kTruncate)) return Failure();
      directory_.files_.at(name_).bytes.resize(size);
      return Status::Ok();
    }

   private:
    MemoryDirectory& directory_;
    const std::string name_;
  };

  static Status Failure() { return Status(Code::kInternal, "a fault of the test"); }

  const std::string path_ = "/memory";
  mutable std::mutex mutex_;
  std::map<std::string, Content> files_;  // all guarded by mutex_
  std::set<std::string> entries_;         // that are on the disk
  std::set<Fault> faults_;
  int64_t syncs_ = 0;
  int64_t free_bytes_ = int64_t{1} << 40;
};

}  // namespace queen::buffer
