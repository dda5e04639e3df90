// Fuzzes what a broker finds in its buffer directory: the input is a file, as it is, with the salt
// its header says. Checked: nothing crashes; records and damage together are the whole file; a
// body that decodes encodes to itself; a start on such a file finds the same records, sets the rest
// aside, and the replay's reader agrees with it.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "buffer/buffer_log.h"
#include "buffer/testing.h"

namespace queen::buffer {
namespace {

void Check(bool condition) {
  if (!condition) std::abort();
}

std::vector<std::string> IntactBodies(std::string_view file, const FileHeader& header) {
  std::vector<std::string> bodies;
  const size_t begin = std::min(file.size(), kHeaderBytes);
  Scanner scanner(header.salt, begin, file.substr(begin));
  size_t seen = begin;
  Group group;
  for (auto found = scanner.Next(); found.kind != Scanner::Found::Kind::kEnd;
       found = scanner.Next()) {
    Check(found.offset == seen);
    const bool record = found.kind == Scanner::Found::Kind::kRecord;
    seen += found.body.size() + (record ? kRecordHeadBytes : 0);
    if (!DecodeBody(found.body, group)) continue;
    Check(EncodeBody(group) == found.body);
    if (record) bodies.emplace_back(found.body);
  }
  Check(seen == file.size());
  return bodies;
}

void Start(const std::string& file, bool readable, const std::vector<std::string>& bodies) {
  MemoryDirectory directory;
  directory.Put("00000000000000000001.log", file);
  FailedFiles failed(directory);
  BufferLog log(directory, failed, {});
  std::vector<std::string> found;
  const Status opened = log.Open([&](const Group& group) { found.push_back(EncodeBody(group)); });
  if (!opened.ok()) return;  // a newer version
  Check(found == bodies || !readable);
  Check(log.outstanding() == static_cast<int64_t>(found.size()));
  std::vector<std::string> read;
  while (log.HasUnread()) {
    auto records = log.Read();
    Check(records.ok());
    for (const BufferLog::Record& record : *records) {
      read.push_back(record.body);
      Group group;
      Check(DecodeBody(record.body, group));
      log.Settle(record.file, static_cast<int64_t>(group.messages.size()));
    }
  }
  Check(read == found);
  log.RemoveSettled();
  Check(log.stats().bytes == 0 && log.messages() == 0);
}

}  // namespace
}  // namespace queen::buffer

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace queen::buffer;
  queen::log::Configure(queen::log::Level::kOff, queen::log::Format::kText);
  const std::string file(reinterpret_cast<const char*>(data), size);
  FileHeader header;
  const bool readable = DecodeHeader(file, header) == HeaderState::kOk;
  std::vector<std::string> bodies;
  if (readable) bodies = IntactBodies(file, header);
  Start(file, readable, bodies);
  // The same bytes as a body, which no checksum protects.
  Group group;
  if (DecodeBody(file, group)) Check(EncodeBody(group) == file);
  return 0;
}
