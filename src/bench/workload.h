// Workload: one queue under load, and the account of what went in and came out.
#pragma once

#include <string>

#include "bench/ledger.h"
#include "bench/run.h"
#include "bench/transaction_ids.h"

namespace queen::bench {

struct Workload {
  Run& run;
  const std::string queue;
  Ledger ledger;
  TransactionIds ids;

  Workload(Run& r, std::string queue_name, int64_t producers, int64_t partitions, int64_t groups)
      : run(r),
        queue(std::move(queue_name)),
        ledger(r.id(), static_cast<uint32_t>(producers), static_cast<uint32_t>(partitions),
               static_cast<uint32_t>(groups)),
        ids(IdKindOf(r.options()), r.id()) {}
};

}  // namespace queen::bench
