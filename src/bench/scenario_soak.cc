// soak: paced load (paced.h) for long, told as a series over time, so that the end can be compared
// with the beginning; if asked to, with one old transaction open in the database all the while.
#include <optional>

#include "bench/held_transaction.h"
#include "bench/paced.h"
#include "bench/scenarios.h"

namespace queen::bench {

void RunSoak(Run& run, Resources& resources, Report& report) {
  std::optional<HeldTransaction> held;
  if (run.options().hold_transaction) {
    auto begun = HeldTransaction::Begin(resources.conninfo());
    if (!begun.ok()) {
      run.errors().Add("--hold-transaction: " + begun.status().message());
      return;
    }
    held.emplace(*std::move(begun));
  }
  report.show_series = true;
  RunPaced(run, resources, report);
  if (!held) return;
  if (const Status ended = held->End(); !ended.ok()) {
    run.errors().Add("the held transaction did not last: " + ended.message());
  }
}

}  // namespace queen::bench
