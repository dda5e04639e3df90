#include "pg/batch.h"

namespace queen::pg {

BatchResult NotSent(Status status) {
  BatchResult result;
  result.status = std::move(status);
  return result;
}

BatchResult Unread(const Status& why) {
  BatchResult result;
  result.outcome = Outcome::kUnknown;
  result.sent = true;
  result.status = Status(Code::kOutcomeUnknown, why.message());
  return result;
}

}  // namespace queen::pg
