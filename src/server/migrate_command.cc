#include "server/migrate_command.h"

#include <fmt/format.h>

#include "config/conninfo.h"
#include "config/version.h"
#include "embedded/embedded_service.h"
#include "server/embedded_options.h"
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

}  // namespace

int RunMigrate(const config::Config& config, const config::MigrateArguments& arguments) {
  if (arguments.print && arguments.all) {
    fmt::print("{}", storage::AllSql(storage::EmbeddedSchema(), Options()));
    return 0;
  }
  if (!config.uses_embedded()) {
    return MigrateAt(config::Conninfo(config), config, arguments.print);
  }
  embedded::EmbeddedService service(EmbeddedOptionsOf(config));
  if (const Status opened = service.Open(); !opened.ok()) return Complain(opened);
  if (const Status started = service.StartAndWait(); !started.ok()) return Complain(started);
  return MigrateAt(service.postgres().conninfo(), config, arguments.print);
}

}  // namespace queen::server
