// Admin: what administration does to the groups and the log of a world while others use them: it
// moves groups back or to the end, deletes them (the next pop makes them again), and runs the
// sweeps. On a connection of its own; the broker that was asked hears of it afterwards, as in api/.
#pragma once

#include <optional>
#include <string>

#include "pg/batch.h"
#include "simulator/simulation.h"

namespace queen::simulator {

class Admin {
 public:
  explicit Admin(Simulation& world) : world_(world) {}

  void Start() { NextSoon(); }

 private:
  enum class Change { kBack, kToEnd, kDeleted };

  void NextSoon();
  void Next();
  void Move(Change change);
  void Sweep();
  // Null: its end is not known.
  using Then = UniqueFunction<void(const pg::BatchResult* result)>;
  void Execute(pg::Batch batch, Then then);

  Simulation& world_;
  std::optional<Database::SessionId> session_;
  Then then_;
};

}  // namespace queen::simulator
