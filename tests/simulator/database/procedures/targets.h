// What acks name, for those who look for it.
#pragma once

#include <optional>
#include <string_view>

#include "simulator/database/arguments.h"
#include "simulator/database/catalog.h"

namespace queen::simulator {

// The offset of a message named by its transactionId, or by its id where it has none.
std::optional<int64_t> SeqOfMessage(const Transaction& reader, const Catalog& catalog,
                                    int32_t partition_id, std::string_view txn);

// The group that holds, or held, a partition under the lease; without one under one of `required`.
std::optional<int32_t> GroupOfLease(const Transaction& reader, const Catalog& catalog,
                                    int32_t partition_id, std::optional<Uuid> lease,
                                    const Array<Uuid>& required);

}  // namespace queen::simulator
