// EmbeddedService: EmbeddedPostgres on a loop and thread of its own, for whoever has no loop that
// lives as long as the cluster (the broker's main function, tools, tests). The thread must live
// that long because the kernel ties the server's life to it.
//
//   EmbeddedService service(options);
//   Status status = service.Open();             // in use, not writable, not installed: exit
//   service.Start([](Status) { ... });          // or StartAndWait()
//   ... connect with service.postgres().conninfo() ...
//   service.Stop();                             // returns when the cluster has stopped
#pragma once

#include <thread>

#include "base/status.h"
#include "embedded/embedded_postgres.h"
#include "loop/loop.h"

namespace queen::embedded {

class EmbeddedService {
 public:
  explicit EmbeddedService(Options options);
  ~EmbeddedService();  // stops

  Status Open() { return postgres_.Open(); }

  // Returns at once; `on_started` is called on the service's thread (see EmbeddedPostgres::Start).
  // Once. REQUIRES: Open was ok.
  void Start(EmbeddedPostgres::StartCallback on_started);
  // Returns when the server serves for the first time or cannot be made. Never times out: crash
  // recovery takes what it takes.
  Status StartAndWait();

  // Returns when no process is left; also during a start. Any thread but the service's, once at a
  // time; does nothing when nothing was started.
  void Stop();

  // For the accessors that any thread may call.
  const EmbeddedPostgres& postgres() const { return postgres_; }

 private:
  Loop loop_;
  EmbeddedPostgres postgres_;
  std::thread thread_;
};

}  // namespace queen::embedded
