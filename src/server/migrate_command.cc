#include "server/migrate_command.h"

#include <fmt/format.h>

#include <future>
#include <thread>

#include "config/version.h"
#include "embedded/server.h"
#include "storage/migrator.h"

namespace queen::server {
namespace {

storage::MigrateOptions Options() {
  storage::MigrateOptions options;
  options.applied_by = "queen " + std::string(config::Version());
  return options;
}

int Complain(const Status& status) {
  fmt::print(stderr, "queen migrate: {}\n", status.message());
  return 1;
}

int MigrateAt(const std::string& conninfo, const config::Config& config, bool print) {
  auto connection =
      pg::BlockingConnection::Connect(conninfo, config.database.connection_timeout_ms);
  if (!connection.ok()) return Complain(connection.status());
  if (print) {
    const auto sql = storage::PendingSql(*connection, storage::EmbeddedSchema(), Options());
    if (!sql.ok()) return Complain(sql.status());
    fmt::print("{}", *sql);
    return 0;
  }
  const auto report = storage::Migrate(*connection, storage::EmbeddedSchema(), Options());
  if (!report.ok()) return Complain(report.status());
  fmt::print("{}", report->ToString());
  return 0;
}

// Runs the embedded cluster around `work`, which runs on another thread than its loop.
int WithEmbedded(const config::Config& config, UniqueFunction<int(const std::string&)> work) {
  Loop loop("main");
  int exit_code = 1;
  std::thread worker;
  {
    embedded::Options options;
    options.data_dir = config.embedded.data_dir;
    options.bin_dir = config.embedded.bin_dir;
    options.user = config.embedded.os_user;
    auto postgres = std::make_unique<embedded::EmbeddedPostgres>(loop, options);
    if (const Status opened = postgres->Open(); !opened.ok()) return Complain(opened);
    const auto stop = [&] {
      postgres->Stop([&] {
        loop.Post([&] { postgres.reset(); });
        loop.Stop();
      });
    };
    loop.Post([&] {
      postgres->Start([&](const Status& status) {
        if (!status.ok()) {
          exit_code = Complain(status);
          stop();
          return;
        }
        worker = std::thread([&, conninfo = postgres->conninfo()] {
          exit_code = work(conninfo);
          loop.Post(stop);
        });
      });
    });
    loop.Run();
  }
  if (worker.joinable()) worker.join();
  return exit_code;
}

}  // namespace

int RunMigrate(const config::Config& config, const config::MigrateArguments& arguments) {
  if (arguments.print && arguments.all) {
    fmt::print("{}", storage::AllSql(storage::EmbeddedSchema(), Options()));
    return 0;
  }
  const auto work = [&](const std::string& conninfo) {
    return MigrateAt(conninfo, config, arguments.print);
  };
  if (config.uses_embedded()) return WithEmbedded(config, work);
  return work(config::Conninfo(config));
}

}  // namespace queen::server
