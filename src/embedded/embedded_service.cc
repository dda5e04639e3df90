#include "embedded/embedded_service.h"

#include <future>
#include <utility>

namespace queen::embedded {

EmbeddedService::EmbeddedService(Options options)
    : loop_("embedded"), postgres_(loop_, std::move(options)) {}

EmbeddedService::~EmbeddedService() { Stop(); }

void EmbeddedService::Start(EmbeddedPostgres::StartCallback on_started) {
  assert(!thread_.joinable());
  loop_.Post([this, on_started = std::move(on_started)]() mutable {
    postgres_.Start(std::move(on_started));
  });
  thread_ = std::thread([this] { loop_.Run(); });
}

Status EmbeddedService::StartAndWait() {
  auto started = std::make_shared<std::promise<Status>>();
  std::future<Status> outcome = started->get_future();
  Start([started](const Status& status) { started->set_value(status); });
  return outcome.get();
}

void EmbeddedService::Stop() {
  if (!thread_.joinable()) return;
  loop_.Post([this] { postgres_.Stop([this] { loop_.Stop(); }); });
  thread_.join();
}

}  // namespace queen::embedded
