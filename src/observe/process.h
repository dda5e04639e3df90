// Metrics of what the process has once, asked for when metrics are read: the budgets of HTTP, the
// index of delivered messages, the file buffer, the other brokers, and the process itself.
#pragma once

#include "buffer/file_buffer.h"
#include "cluster/cluster.h"
#include "http/budgets.h"
#include "metrics/registry.h"
#include "state/delivered_index.h"
#include "state/maintenance.h"

namespace queen::observe {

// What it is given outlives the registry's last reader.
void RegisterProcess(metrics::Registry& registry, std::string_view version);
void RegisterBudgets(metrics::Registry& registry, const http::Budgets& budgets);
void RegisterDelivered(metrics::Registry& registry, const state::DeliveredIndex& delivered);
void RegisterMaintenance(metrics::Registry& registry, const state::Maintenance& maintenance);
void RegisterBuffer(metrics::Registry& registry, const buffer::FileBuffer& buffer);
void RegisterCluster(metrics::Registry& registry, const cluster::Cluster& cluster);

}  // namespace queen::observe
