#include "sidecar/lookups.h"

namespace queen::sidecar {

void Lookups::Ask(pg::Batch batch, pg::BatchCallback callback) {
  if (!scheduler_.AnyUp()) {
    callback(pg::NotSent(Status(Code::kDatabaseUnavailable)));
    return;
  }
  if (waiting_.size() >= kWaitingMax) {
    callback(pg::NotSent(Status(Code::kOverloaded)));
    return;
  }
  waiting_.push_back({std::move(batch), std::move(callback)});
  scheduler_.Wake();
}

void Lookups::Refuse(const Status& status) {
  std::deque<Question> left = std::move(waiting_);
  waiting_.clear();
  for (Question& question : left) question.callback(pg::NotSent(status));
}

void Lookups::SendOne() {
  Question question = std::move(waiting_.front());
  waiting_.pop_front();
  scheduler_.Execute(*this, 1, std::move(question.batch), std::move(question.callback));
}

}  // namespace queen::sidecar
