// Twins: the real PostgreSQL and the simulated one, with the same procedures, the same clock and
// nothing in them. A call is made of both, and both must answer the same, cell by cell. The real
// one gets its clock by its search path: a function of the name clock_timestamp stands before
// PostgreSQL's own. Rows may come in any order. What is random on either side (stamps that the
// database gives, the identity, snapshots and transaction numbers) is matched: a value of one side
// stands for one value of the other.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "pg/testing/test_slots.h"
#include "simulator/database/database.h"
#include "simulator/database/testing/cells.h"

namespace queen::simulator {

class Twins {
 public:
  explicit Twins(uint64_t seed);
  ~Twins();

  struct Answers {
    pg::BatchResult real;
    pg::BatchResult simulated;
    bool ok() const { return real.ok() && simulated.ok(); }
  };
  // Fails the test where they differ.
  Answers Call(const pg::Statement& statement, pg::Params params);
  Answers Call(const pg::Statement& statement, pg::Params real, pg::Params simulated);

  int64_t now_micros() const { return time_.NowMicros(); }
  void Advance(int64_t micros) { time_.RunFor(micros); }
  // How many calls, and how many were refused by both.
  int calls() const { return calls_; }
  int refused() const { return refused_; }

 private:
  pg::BatchResult CallReal(const pg::Statement& statement, pg::Params params);
  pg::BatchResult CallSimulated(const pg::Statement& statement, pg::Params params);
  void Compare(const pg::Statement& statement, const Answers& answers);
  // The real value that stands for the simulated one.
  bool Match(const std::string& column, const std::string& real, const std::string& simulated);

  VirtualTime time_;
  pg::testing::TestSlots slots_;
  Database database_;
  std::optional<Database::SessionId> session_;
  std::map<std::string, std::string> matched_;  // simulated to real
  int calls_ = 0;
  int refused_ = 0;
};

}  // namespace queen::simulator
