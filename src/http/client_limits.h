// ClientLimits: how much one client may ask of the broker, so that it cannot starve the others. A
// client is who the request is from (a subject), or else an address (of IPv6 its /64). Requests and
// bytes of bodies each have a bucket per client that fills at a rate per second and holds one
// second's worth; what finds its bucket empty is refused and told when to come again. Connections
// are counted per address.
//
// A body larger than what a bucket holds is let in by a full one and leaves it in debt, so that
// large bodies pass and the rate holds.
//
// Memory: kClientsMax clients are remembered. One whose buckets are full is forgotten without loss;
// where all are in use, those who come share one more.
//
// Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace queen::http {

class ClientLimits {
 public:
  static constexpr size_t kClientsMax = 65'536;

  // Per client; 0: no limit.
  struct Options {
    int64_t requests_per_second = 0;
    int64_t bytes_per_second = 0;
    int64_t connections_max = 0;
  };

  explicit ClientLimits(Options options) : options_(options) {}

  struct Verdict {
    bool admitted = true;
    bool for_bytes = false;      // what was refused: the bytes, not the request
    int64_t retry_after_ms = 0;  // when refused
  };
  // A request of `client` with a body of `bytes`, at `now_us` of the steady clock. What is refused
  // costs nothing.
  Verdict Take(std::string_view client, int64_t bytes, int64_t now_us);

  // One connection of `address`; false: it has enough of them. Return gives it back.
  bool TakeConnection(const std::string& address);
  void ReturnConnection(const std::string& address);

  bool limits_rates() const {
    return options_.requests_per_second > 0 || options_.bytes_per_second > 0;
  }
  bool limits_connections() const { return options_.connections_max > 0; }

  uint64_t refused_requests() const { return refused_requests_.load(std::memory_order_relaxed); }
  uint64_t refused_bytes() const { return refused_bytes_.load(std::memory_order_relaxed); }
  uint64_t refused_connections() const {
    return refused_connections_.load(std::memory_order_relaxed);
  }
  // How many are remembered.
  size_t clients() const;

 private:
  static constexpr size_t kShards = 16;
  static constexpr size_t kClientsPerShard = kClientsMax / kShards;

  // A bucket is the time at which it will be full again.
  struct Client {
    int64_t requests_full_us = 0;
    int64_t bytes_full_us = 0;
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::string, Client> clients;
    std::unordered_map<std::string, int64_t> connections;
    Client others;  // who found no place
    int64_t swept_us = 0;
  };

  Shard& ShardOf(std::string_view key);
  static Client& Find(Shard& shard, std::string_view client, int64_t now_us);

  const Options options_;
  std::array<Shard, kShards> shards_;
  std::atomic<uint64_t> refused_requests_{0};
  std::atomic<uint64_t> refused_bytes_{0};
  std::atomic<uint64_t> refused_connections_{0};
};

}  // namespace queen::http
