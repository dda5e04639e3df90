#include "api/report.h"

#include <utility>

namespace queen::api {

void SendReport(const Context& context, const pg::Statement& statement, pg::Params params,
                http::Reply reply, std::string missing) {
  context.admin.Report(
      {statement, std::move(params)},
      [reply = std::move(reply), missing = std::move(missing)](Result<std::string> report) mutable {
        if (report.ok()) {
          return reply.SendPage(http::Response::Json(200, *std::move(report)));
        }
        const bool absent = report.status().code() == Code::kNotFound;
        reply.SendError(absent ? Status(Code::kNotFound, missing) : report.status());
      });
}

}  // namespace queen::api
