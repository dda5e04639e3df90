#include "api/report.h"

#include <utility>

namespace queen::api {

void SendReport(const Context& context, const pg::Statement& statement, pg::Params params,
                http::Reply reply, std::string missing, Edit edit) {
  context.admin.Report(
      {statement, std::move(params)}, [reply = std::move(reply), missing = std::move(missing),
                                       edit = std::move(edit)](Result<std::string> report) mutable {
        if (report.ok()) {
          std::string document = edit ? edit(*std::move(report)) : *std::move(report);
          return reply.SendPage(http::Response::Json(200, std::move(document)));
        }
        const bool absent = report.status().code() == Code::kNotFound;
        reply.SendError(absent ? Status(Code::kNotFound, missing) : report.status());
      });
}

void SendListReport(const Context& context, const auth::Identity& who, const QueueList& where,
                    const pg::Statement& statement, pg::Params params, http::Reply reply,
                    std::string missing) {
  Edit edit;
  if (!who.queues.AllowAll(auth::Verb::kSee)) {
    edit = [limits = who.queues, where](const std::string& document) {
      return KeepQueues(document, where, limits);
    };
  }
  SendReport(context, statement, std::move(params), std::move(reply), std::move(missing),
             std::move(edit));
}

}  // namespace queen::api
