#include "admin/admin_pool.h"

#include <algorithm>

namespace queen::admin {
namespace {

// Long enough for a try to connect after PostgreSQL was started again.
constexpr int64_t kDownWaitMs = 1'000;

pg::Pool::Options OptionsOf(int connections) {
  pg::Pool::Options options;
  options.connections = connections;
  options.pages_max = std::max(1, connections / 2);
  options.down_wait_ms = kDownWaitMs;
  return options;
}

}  // namespace

AdminPool::AdminPool(Loop& loop, const pg::ConnectOptions& connect, int connections)
    : loop_(loop), pool_(loop, connect, OptionsOf(connections)) {}

void AdminPool::Start() {
  loop_.AssertOwner();
  started_ = true;
  pool_.Start();
}

void AdminPool::Close(UniqueFunction<void()> done) {
  loop_.AssertOwner();
  pool_.Close(std::move(done));
}

void AdminPool::Execute(Loop& caller, pg::Batch batch, pg::BatchCallback callback) {
  Send(&pg::Pool::Execute, caller, std::move(batch), std::move(callback));
}

void AdminPool::ExecutePage(Loop& caller, pg::Batch batch, pg::BatchCallback callback) {
  Send(&pg::Pool::ExecutePage, caller, std::move(batch), std::move(callback));
}

void AdminPool::Send(Way way, Loop& caller, pg::Batch batch, pg::BatchCallback callback) {
  pg::BatchCallback answer = [&caller,
                              callback = std::move(callback)](pg::BatchResult result) mutable {
    caller.Post([callback = std::move(callback), result = std::move(result)]() mutable {
      callback(std::move(result));
    });
  };
  loop_.Post([this, way, batch = std::move(batch), answer = std::move(answer)]() mutable {
    if (!started_) {
      answer(pg::NotSent(Status(Code::kDatabaseUnavailable, "The database is not ready yet")));
      return;
    }
    (pool_.*way)(std::move(batch), std::move(answer));
  });
}

}  // namespace queen::admin
