// Metrics of what the process has once, asked for when metrics are read: the budgets of HTTP, the
// index of delivered messages, the file buffer, the other brokers, and the process itself.
#pragma once

#include "admin/audit_trail.h"
#include "buffer/file_buffer.h"
#include "cluster/cluster.h"
#include "http/budgets.h"
#include "http/client_limits.h"
#include "metrics/registry.h"
#include "state/delivered_index.h"
#include "state/maintenance.h"
#include "tls/certificates.h"

namespace queen::observe {

// What it is given outlives the registry's last reader.
void RegisterProcess(metrics::Registry& registry, std::string_view version);
void RegisterBudgets(metrics::Registry& registry, const http::Budgets& budgets);
// `certificates`: null without TLS.
void RegisterTls(metrics::Registry& registry,
                 const std::shared_ptr<const tls::Certificates>& certificates);
void RegisterClientLimits(metrics::Registry& registry, const http::ClientLimits& limits);
void RegisterAudit(metrics::Registry& registry, const admin::AuditTrail& audit);
void RegisterDelivered(metrics::Registry& registry, const state::DeliveredIndex& delivered);
void RegisterMaintenance(metrics::Registry& registry, const state::Maintenance& maintenance);
void RegisterBuffer(metrics::Registry& registry, const buffer::FileBuffer& buffer);
void RegisterCluster(metrics::Registry& registry, const cluster::Cluster& cluster);

}  // namespace queen::observe
