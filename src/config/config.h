// Config: everything that can be set, typed and grouped by the part of the broker that reads it.
// It is built once at start (load.h) and only read from then on; nobody looks a setting up by name.
//
// A member's initialiser is its default; the row in settings.cc gives it a name, a range and a
// description. Where it says "computed", the start replaces the initialiser by a default that
// depends on the machine or on other settings.
// Durations are milliseconds and sizes are bytes unless the name says otherwise.
#pragma once

#include <cstdint>
#include <string>

#include "base/log.h"

namespace queen::config {

struct Server {
  int workers = 2;  // computed
  int shutdown_timeout_ms = 30'000;
};

struct Http {
  std::string host = "127.0.0.1,::1";
  int port = 6632;
  int64_t header_bytes_max = int64_t{16} << 10;
  int64_t body_bytes_max = int64_t{64} << 20;
  int connections_max = 20'000;
  int64_t request_bytes_max = int64_t{256} << 20;  // computed
  int64_t reply_bytes_max = int64_t{256} << 20;
  int idle_timeout_ms = 120'000;
  int request_timeout_ms = 60'000;
  int64_t upload_bytes_per_second_min = 1024;
  int upload_grace_ms = 15'000;
  int write_timeout_ms = 30'000;
  int pipeline_depth_max = 64;
  int64_t write_buffer_bytes_max = int64_t{64} << 10;
  std::string cors_origins;
  std::string hosts;
  // Of one client; 0: no limit.
  int client_requests_per_second = 0;
  int64_t client_bytes_per_second = 0;
  int client_connections_max = 0;
};

struct Tls {
  std::string certificate;
  std::string key;
  std::string client_ca;
  std::string client_certificate = "required";
  std::string client_role = "read-write";
  int handshake_timeout_ms = 10'000;
  bool self_signed = false;

  bool is_on() const { return self_signed || !certificate.empty(); }
  // Whether nobody is let in without a certificate.
  bool knows_every_client() const { return !client_ca.empty() && client_certificate == "required"; }
};

struct Database {
  std::string url;
  std::string host;
  int port = 5432;
  std::string user = "postgres";
  std::string password;
  std::string name = "postgres";
  std::string ssl_mode = "prefer";  // computed
  bool use_ssl = false;
  std::string ssl_root_cert;
  std::string target_session_attrs = "read-write";

  int pool_size = 4;
  int connection_timeout_ms = 5'000;
  int statement_timeout_ms = 30'000;
  int lock_timeout_ms = 5'000;
  int in_flight_deadline_ms = 35'000;  // computed
};

struct Embedded {
  std::string data_dir;  // computed
  std::string bin_dir;
  std::string os_user = "postgres";
};

struct Buffer {
  std::string directory;  // computed
  int64_t bytes_max = int64_t{1} << 30;
  int64_t file_bytes = int64_t{16} << 20;
  int64_t free_bytes_min = 0;  // computed
  int after_ms = 1'000;

  bool is_on() const { return bytes_max > 0; }
};

struct Sidecar {
  int pool_size = 8;  // computed
  int micro_batch_wait_ms = 0;
  int items_per_tx_max = 1'000;
  // Of one worker:
  int push_items_max = 200'000;
  int ack_items_max = 200'000;
  int transaction_items_max = 200'000;
  int pops_max = 100'000;
};

struct Pop {
  int wait_base_interval_ms = 100;
  int wait_max_interval_ms = 1'000;
  int wait_backoff_threshold = 3;
  double wait_backoff_multiplier = 2.0;
  int64_t bytes_max = int64_t{32} << 20;
  // Of one worker:
  int idle_groups_max = 5'000;
  int idle_group_ms = 60'000;
};

struct Sweep {
  int retention_interval_ms = 300'000;
  int eviction_interval_ms = 60'000;
  int trace_days = 30;
  int dead_letter_days = 365;
  int early_group_days = 30;
  int stats_interval_ms = 10'000;
  int metrics_days = 7;
  int audit_days = 90;
};

struct Audit {
  std::string file;
};

struct Metrics {
  int flush_interval_ms = 10'000;
};

struct Cluster {
  std::string peers;  // config/peer_list.h
  int notify_port = 6633;
  std::string secret;
  bool allow_no_secret = false;

  bool is_on() const { return !peers.empty(); }
};

// Who may use the broker (auth/).
struct Auth {
  bool jwt_enabled = false;
  std::string jwt_algorithm = "auto";
  std::string jwt_secret;
  std::string jwt_public_key;
  std::string jwks_url;
  std::string jwks_certificate;
  int jwks_interval_s = 300;
  int jwks_timeout_ms = 5'000;
  std::string issuer;
  std::string audience;
  int clock_skew_s = 30;
  std::string role_claim = "role";
  std::string roles_claim = "roles";
  std::string role_admin = "admin";
  std::string role_read_write = "read-write";
  std::string role_read_only = "read-only";
  bool stored_tokens = false;
  std::string tokens_file;
  bool allow_anonymous = false;

  // Whether requests need a token.
  bool is_on() const { return jwt_enabled || stored_tokens || !tokens_file.empty(); }
};

struct Encryption {
  std::string keys;      // base/encryption_key.h
  std::string old_keys;  // likewise
};

// Spans of this broker's operations, named as OpenTelemetry names them.
struct Tracing {
  std::string endpoint;         // of all signals: "/v1/traces" is added
  std::string traces_endpoint;  // of traces, as it is
  std::string headers;          // config/pair_list.h
  std::string certificate;
  int timeout_ms = 10'000;
  std::string service_name = "queen";  // computed
  std::string resource_attributes;     // config/pair_list.h
  std::string sampler = "parentbased_always_on";
  double sampler_arg = 1.0;
  int schedule_delay_ms = 5'000;
  int queue_size = 2'048;  // of one worker

  bool is_on() const { return !endpoint.empty() || !traces_endpoint.empty(); }
};

struct Log {
  log::Level level = log::Level::kInfo;
  log::Format format = log::Format::kText;
};

struct Config {
  Server server;
  Http http;
  Tls tls;
  Database database;
  Embedded embedded;
  Buffer buffer;
  Sidecar sidecar;
  Pop pop;
  Sweep sweep;
  Metrics metrics;
  Audit audit;
  Cluster cluster;
  Auth auth;
  Encryption encryption;
  Tracing tracing;
  Log log;

  // Whether the broker starts and supervises a PostgreSQL of its own: no other one is named.
  bool uses_embedded() const { return database.url.empty() && database.host.empty(); }
};

}  // namespace queen::config
