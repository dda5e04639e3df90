// Postgres: the server scripts/with-postgres started, seen by a test: a connection of its own for
// asking and breaking things, and the faults a server can have as methods. Blocking; a failure of
// the test's own statements aborts the test.
#pragma once

#include <string>

#include "pg/connect_options.h"
#include "pg/handles.h"

namespace queen::pg::testing {

class Postgres {
 public:
  Postgres();

  // How the code under test connects to it, with short backoffs so that recovery is quick.
  static ConnectOptions Options();
  // The Unix socket it listens on, and its directory.
  static std::string SocketPath();
  static std::string Directory();

  // Runs `sql` and returns the first column of the first row as text ("" when null or no row).
  std::string Ask(const std::string& sql);
  // Asks `condition`, a boolean expression, until it is true.
  void WaitUntil(const std::string& condition);
  // Waits until the session `pid` is blocked by a lock or sleeping in pg_sleep.
  void WaitUntilBlocked(int pid);
  void Terminate(int pid);

  // The server process. Each returns when it is done; Ask reconnects by itself afterwards.
  static void Restart();
  static void Stop();
  static void Start();
  // Restarts it with TLS on a loopback address, which is returned. Its certificate, for the name
  // localhost, is in Directory()/server.crt; roles need their password there.
  static std::string RestartWithTls();

 private:
  void Reconnect();
  ConnectionHandle connection_;
};

}  // namespace queen::pg::testing
