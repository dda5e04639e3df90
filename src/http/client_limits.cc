#include "http/client_limits.h"

#include <algorithm>
#include <functional>

namespace queen::http {
namespace {

constexpr int64_t kWindowUs = 1'000'000;
// A shard whose clients are all in use is not searched again before so long.
constexpr int64_t kSweepUs = 100'000;

// How long until the bucket has room; 0: it has.
int64_t WaitUs(int64_t full_us, int64_t cost_us, int64_t now_us) {
  const int64_t debt = std::max<int64_t>(full_us - now_us, 0);
  return std::max<int64_t>(debt - std::max<int64_t>(kWindowUs - cost_us, 0), 0);
}

void Charge(int64_t& full_us, int64_t cost_us, int64_t now_us) {
  full_us = std::max(full_us, now_us) + cost_us;
}

int64_t CostUs(int64_t amount, int64_t per_second) {
  return per_second == 0 ? 0
                         : static_cast<int64_t>(static_cast<double>(amount) * kWindowUs /
                                                static_cast<double>(per_second));
}

}  // namespace

ClientLimits::Shard& ClientLimits::ShardOf(std::string_view key) {
  return shards_[std::hash<std::string_view>()(key) % kShards];
}

ClientLimits::Client& ClientLimits::Find(Shard& shard, std::string_view client, int64_t now_us) {
  const std::string key(client);
  const auto found = shard.clients.find(key);
  if (found != shard.clients.end()) return found->second;
  if (shard.clients.size() >= kClientsPerShard && now_us - shard.swept_us >= kSweepUs) {
    shard.swept_us = now_us;
    std::erase_if(shard.clients, [now_us](const auto& entry) {
      return entry.second.requests_full_us <= now_us && entry.second.bytes_full_us <= now_us;
    });
  }
  if (shard.clients.size() >= kClientsPerShard) return shard.others;
  return shard.clients[key];
}

ClientLimits::Verdict ClientLimits::Take(std::string_view client, int64_t bytes, int64_t now_us) {
  const int64_t request_us = CostUs(1, options_.requests_per_second);
  const int64_t bytes_us = CostUs(bytes, options_.bytes_per_second);
  Shard& shard = ShardOf(client);
  const std::lock_guard lock(shard.mutex);
  Client& buckets = Find(shard, client, now_us);
  const int64_t requests_wait = WaitUs(buckets.requests_full_us, request_us, now_us);
  const int64_t bytes_wait = bytes_us == 0 ? 0 : WaitUs(buckets.bytes_full_us, bytes_us, now_us);
  if (requests_wait > 0 || bytes_wait > 0) {
    const bool for_bytes = bytes_wait > requests_wait;
    (for_bytes ? refused_bytes_ : refused_requests_).fetch_add(1, std::memory_order_relaxed);
    return {.admitted = false,
            .for_bytes = for_bytes,
            .retry_after_ms = std::max(requests_wait, bytes_wait) / 1000 + 1};
  }
  Charge(buckets.requests_full_us, request_us, now_us);
  Charge(buckets.bytes_full_us, bytes_us, now_us);
  return {};
}

bool ClientLimits::TakeConnection(const std::string& address) {
  Shard& shard = ShardOf(address);
  const std::lock_guard lock(shard.mutex);
  int64_t& open = shard.connections[address];
  if (open >= options_.connections_max) {
    refused_connections_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  ++open;
  return true;
}

void ClientLimits::ReturnConnection(const std::string& address) {
  Shard& shard = ShardOf(address);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.connections.find(address);
  if (found != shard.connections.end() && --found->second <= 0) shard.connections.erase(found);
}

size_t ClientLimits::clients() const {
  size_t total = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    total += shard.clients.size();
  }
  return total;
}

}  // namespace queen::http
