#include "api/environment.h"

#include <sys/statvfs.h>

#include <utility>

#include "api/context.h"
#include "api/report.h"
#include "base/json_writer.h"
#include "storage/reports.h"

namespace queen::api {

std::string DescribeDisks(const std::vector<std::string>& directories) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginArray();
  for (const std::string& directory : directories) {
    struct statvfs disk {};
    if (statvfs(directory.c_str(), &disk) != 0) continue;
    const auto unit = static_cast<int64_t>(disk.f_frsize);
    writer.BeginObject();
    writer.Field("path", directory);
    writer.Field("freeBytes", unit * static_cast<int64_t>(disk.f_bavail));
    writer.Field("totalBytes", unit * static_cast<int64_t>(disk.f_blocks));
    writer.EndObject();
  }
  writer.EndArray();
  return out;
}

void HandleEnvironment(const Context& context, const http::Request& /*request*/,
                       http::Reply reply) {
  context.disks([&context, reply = std::move(reply)](std::string disks) mutable {
    pg::Params params(1);
    params.Text(std::move(disks));
    SendReport(context, storage::kReportEnvironment, std::move(params), std::move(reply));
  });
}

}  // namespace queen::api
