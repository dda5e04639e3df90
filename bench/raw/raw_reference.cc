// What PostgreSQL can do with our procedures when nothing stands in front of them: the push
// procedure, then lease, fetch and ack of what was pushed, from a few connections. The ratio of the
// broker's numbers to these says what the broker costs.
//   raw_reference --database URL [--messages N] ...
// The schema must be there (`queen migrate`). Prints one JSON object.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <thread>

#include "base/clock.h"
#include "base/uuid.h"
#include "raw/raw_connection.h"
#include "raw/raw_work.h"
#include "storage/procedures.h"

namespace queen::bench {

std::vector<int32_t> MakePartitions(const RawShape& shape, const std::string& queue) {
  RawConnection connection(shape.database);
  const auto count = static_cast<size_t>(shape.partitions);
  pg::TextArray queues(count);
  pg::TextArray names(count);
  for (size_t i = 0; i < count; ++i) {
    queues.Add(queue);
    names.Add(fmt::format("p{}", i));
  }
  pg::Params params(2);
  params.Add(std::move(queues)).Add(std::move(names));
  const pg::Rows rows = connection.Execute(storage::kEnsurePartitions, params);
  std::vector<int32_t> ids(count);
  for (int row = 0; row < rows.rows(); ++row) {
    ids[static_cast<size_t>(rows.Int4(row, 0)) - 1] = rows.Int4(row, 2);
  }
  return ids;
}

double OnEachConnection(const RawShape& shape, const std::vector<int32_t>& partitions,
                        const std::function<void(const std::vector<int32_t>& own)>& work) {
  const int64_t started = SteadyMicros();
  const auto each = static_cast<ptrdiff_t>(partitions.size()) / shape.connections;
  std::vector<std::jthread> threads;
  for (int c = 0; c < shape.connections; ++c) {
    const auto first = partitions.begin() + each * c;
    threads.emplace_back([&work, own = std::vector<int32_t>(first, first + each)] { work(own); });
  }
  threads.clear();  // joins
  return static_cast<double>(SteadyMicros() - started) / 1e6;
}

}  // namespace queen::bench

int main(int argc, char** argv) {
  using queen::bench::RawShape;
  RawShape shape;
  CLI::App app("The procedures called directly");
  app.add_option("--database", shape.database, "connection string")->required();
  app.add_option("--connections", shape.connections)->check(CLI::Range(1, 64));
  app.add_option("--partitions", shape.partitions)->check(CLI::Range(1, 100'000));
  app.add_option("--segments", shape.segments_per_call)->check(CLI::Range(1, 500));
  app.add_option("--batch", shape.batch)->check(CLI::Range(1, 10'000));
  app.add_option("--bytes", shape.payload_bytes)->check(CLI::Range(32, 1'000'000));
  app.add_option("--messages", shape.messages)->check(CLI::Range(1, 1'000'000'000));
  CLI11_PARSE(app, argc, argv);
  if (shape.partitions < shape.connections * shape.segments_per_call) {
    fmt::print(stderr, "raw_reference: --partitions must be at least --connections x --segments\n");
    return 2;
  }
  const std::string queue = "raw-" + queen::MakeUuidV7().ToString();
  const std::vector<int32_t> partitions = queen::bench::MakePartitions(shape, queue);
  const auto push = queen::bench::RawPush(shape, partitions);
  const auto drain = queen::bench::RawDrain(shape, queue, partitions);
  fmt::print(R"({{"push":{{"messages":{},"seconds":{:.3f},"messagesPerSecond":{:.0f}}},)"
             R"("drain":{{"messages":{},"seconds":{:.3f},"messagesPerSecond":{:.0f}}}}})"
             "\n",
             push.messages, push.seconds, static_cast<double>(push.messages) / push.seconds,
             drain.messages, drain.seconds, static_cast<double>(drain.messages) / drain.seconds);
  return drain.messages == push.messages ? 0 : 1;
}
