// Stage: a play of a few sessions, on the real PostgreSQL and on the simulated one at once. A part
// is one transaction of a session: calls one after the other, and gates between them at which it
// stops until the test opens them, with everything it has locked. At the end of a part both
// databases must have answered the same; times and what is random are left out.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pg/testing/postgres.h"
#include "pg/testing/test_slots.h"
#include "simulator/database/database.h"
#include "simulator/database/testing/cells.h"

namespace queen::simulator {

class Stage {
 public:
  static constexpr int kSessions = 3;

  explicit Stage(int lock_timeout_ms = 120'000);
  ~Stage();

  // What a session does next in its part.
  Stage& Call(const pg::Statement& statement, pg::Params params);
  Stage& Call(const pg::Statement& statement, pg::Params real, pg::Params simulated);
  // The gate is closed until Open.
  Stage& Gate(int gate);
  // Fails, so that the part is rolled back.
  Stage& Fail();
  // Begins the part that was put together, in a session that has none.
  void Begin(int session);
  // Until the session waits for another one, or for a gate.
  void WaitBlocked(int session);
  void Open(int gate);
  // Both databases forget what was not committed; every session is lost and connected again.
  void Crash();

  // Waits for the end of the session's part and compares. The answers of the real one.
  pg::BatchResult End(int session);
  // The same without comparing, of both.
  std::pair<pg::BatchResult, pg::BatchResult> EndUncompared(int session);
  // A part of one call.
  pg::BatchResult Run(int session, const pg::Statement& statement, pg::Params params);

 private:
  struct Part {
    std::future<pg::BatchResult> real;
    std::optional<pg::BatchResult> simulated;
  };

  std::string GateSql(const char* function, int gate) const;

  VirtualTime time_;
  Database database_;
  pg::testing::Postgres postgres_;
  pg::testing::TestSlots slots_;
  std::vector<Database::SessionId> sessions_;
  std::map<int, std::unique_ptr<Transaction>> gates_;
  pg::Batch real_;
  pg::Batch simulated_;
  std::map<int, std::unique_ptr<Part>> parts_;
};

}  // namespace queen::simulator
