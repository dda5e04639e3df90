#include "config/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/comma_list.h"
#include "base/encryption_key.h"
#include "config/computed_defaults.h"
#include "config/pair_list.h"
#include "config/peer_list.h"

namespace queen::config {
namespace {

template <auto Group, auto Member>
auto& At(Config& config) {
  return config.*Group.*Member;
}

template <auto Group, auto Member>
constexpr EnumKind EnumAt(std::span<const std::string_view> words) {
  using Enum = std::remove_reference_t<decltype(At<Group, Member>(std::declval<Config&>()))>;
  return {[](const Config& config) { return static_cast<size_t>(config.*Group.*Member); },
          [](Config& config, size_t value) { config.*Group.*Member = static_cast<Enum>(value); },
          words};
}

constexpr std::array<std::string_view, 6> kLogLevels = {"trace", "debug", "info",
                                                        "warn",  "error", "off"};
constexpr std::array<std::string_view, 2> kLogFormats = {"text", "json"};
constexpr std::array<std::string_view, 6> kSslModes = {"disable", "allow",     "prefer",
                                                       "require", "verify-ca", "verify-full"};
constexpr std::array<std::string_view, 6> kSamplers = {"always_on",
                                                       "always_off",
                                                       "traceidratio",
                                                       "parentbased_always_on",
                                                       "parentbased_always_off",
                                                       "parentbased_traceidratio"};
constexpr std::array<std::string_view, 2> kClientCertificates = {"required", "optional"};
constexpr std::array<std::string_view, 3> kClientRoles = {"read-only", "read-write", "admin"};
constexpr std::array<std::string_view, 5> kAlgorithms = {"auto", "HS256", "RS256", "ES256",
                                                         "EdDSA"};
// A broker writes, so a standby is of no use to it.
constexpr std::array<std::string_view, 3> kSessionAttrs = {"read-write", "primary", "any"};

constexpr int kHourMs = 3'600'000;
constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr int64_t kGiB = 1024 * kMiB;

bool NotEmpty(std::string_view text) { return !text.empty(); }

bool NamesAny(std::string_view text) { return !SplitCommaList(text).empty(); }

// "" names none. An origin is a scheme, a host and perhaps a port; browsers send no slash after it.
bool AreOrigins(std::string_view text) {
  for (const std::string& origin : SplitCommaList(text)) {
    const size_t host = origin.find("://");
    const bool is_origin = host != std::string::npos && host > 0 && origin.size() > host + 3 &&
                           origin.find_first_of("/ \t", host + 3) == std::string::npos;
    if (!is_origin && origin != "*") return false;
  }
  return true;
}

// "" names none. Without scheme, port or path.
bool AreHostNames(std::string_view text) {
  return std::ranges::all_of(SplitCommaList(text), [](const std::string& name) {
    return name == "*" || name.find_first_of("/:* \t") == std::string::npos;
  });
}

bool IsPeerList(std::string_view text) { return ParsePeerList(text, 1).has_value(); }

// "" names none.
bool IsHttpUrl(std::string_view text) {
  if (text.empty()) return true;
  const size_t host = text.starts_with("http://") ? 7 : text.starts_with("https://") ? 8 : 0;
  return host > 0 && text.size() > host && text[host] != '/' && text[host] != ':' &&
         std::ranges::none_of(text, [](char c) { return c <= ' ' || c > '~'; });
}

bool IsHttpsUrl(std::string_view text) {
  return text.empty() || (text.starts_with("https://") && IsHttpUrl(text));
}

bool ArePairs(std::string_view text) { return ParsePairList(text).has_value(); }

// Names of HTTP headers are tokens (RFC 9110).
bool AreHeaders(std::string_view text) {
  const auto is_token = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  };
  const auto headers = ParsePairList(text);
  return headers && std::ranges::all_of(*headers, [&](const auto& header) {
           return std::ranges::all_of(header.first, is_token);
         });
}

bool AreEncryptionKeys(std::string_view text) { return ParseEncryptionKeys(text).has_value(); }

constexpr std::string_view kServer = "Server";
constexpr std::string_view kHttp = "HTTP";
constexpr std::string_view kTls = "TLS";
constexpr std::string_view kDatabase = "PostgreSQL";
constexpr std::string_view kPools = "Connections to PostgreSQL";
constexpr std::string_view kEmbedded = "Embedded PostgreSQL";
constexpr std::string_view kBuffer = "File buffer";
constexpr std::string_view kSidecar = "Sidecar";
constexpr std::string_view kPop = "Pop";
constexpr std::string_view kSweeps = "Sweeps";
constexpr std::string_view kAudit = "Audit trail";
constexpr std::string_view kMetrics = "Metrics";
constexpr std::string_view kCluster = "Other brokers";
constexpr std::string_view kAuth = "Authentication";
constexpr std::string_view kEncryption = "Encryption";
constexpr std::string_view kTracing = "Traces (OpenTelemetry)";
constexpr std::string_view kLogs = "Logs";

constexpr std::array kSettings = {
    Setting{"PORT", kServer, IntKind{At<&Config::http, &Http::port>, 0, 65535},
            "port the broker listens on; 0 takes any free one"},
    Setting{"HOST", kServer,
            TextKind{At<&Config::http, &Http::host>, "addresses separated by commas", NamesAny},
            "addresses the broker listens on; the default is this machine only, 0.0.0.0,:: is "
            "every network"},
    Setting{"NUM_WORKERS",
            kServer,
            IntKind{At<&Config::server, &Server::workers>, 1, 256},
            "worker threads, each with an event loop of its own",
            {"one per core, 2..8", ComputeWorkers}},
    Setting{"QUEEN_SHUTDOWN_TIMEOUT_MS", kServer,
            IntKind{At<&Config::server, &Server::shutdown_timeout_ms>, 0, kHourMs, "ms"},
            "how long a stopping broker waits for requests in progress"},

    Setting{"QUEEN_HTTP_HEADER_BYTES_MAX", kHttp,
            SizeKind{At<&Config::http, &Http::header_bytes_max>, kKiB, kMiB},
            "largest request line and header"},
    Setting{"QUEEN_HTTP_BODY_BYTES_MAX", kHttp,
            SizeKind{At<&Config::http, &Http::body_bytes_max>, kKiB, kGiB},
            "largest request body; a larger one is answered 413"},
    Setting{"QUEEN_HTTP_CONNECTIONS_MAX", kHttp,
            IntKind{At<&Config::http, &Http::connections_max>, 1, 1'000'000},
            "most open client connections of the process, as far as its limit of open files "
            "allows; beyond it idle ones are closed for new ones, or else new ones answered 503"},
    Setting{"QUEEN_HTTP_REQUEST_BYTES_MAX",
            kHttp,
            SizeKind{At<&Config::http, &Http::request_bytes_max>, kKiB, 1024 * kGiB},
            "most bytes of request bodies that the process holds, arriving or not answered yet; "
            "more are answered 503",
            {"4 x QUEEN_HTTP_BODY_BYTES_MAX", ComputeRequestBytes}},
    Setting{
        "QUEEN_HTTP_REPLY_BYTES_MAX", kHttp,
        SizeKind{At<&Config::http, &Http::reply_bytes_max>, 64 * kKiB, 1024 * kGiB},
        "most bytes of replies that are being made or not taken by their clients, of the whole "
        "process; large pops may have six eighths of it, other large replies seven, of which the "
        "pages of operators two. Without room the answer is 503, and a pop waits on if it may "
        "wait. At least twice the largest message"},
    Setting{"QUEEN_HTTP_IDLE_TIMEOUT_MS", kHttp,
            IntKind{At<&Config::http, &Http::idle_timeout_ms>, 1'000, kHourMs, "ms"},
            "a connection without a request for this long is closed"},
    Setting{"QUEEN_HTTP_REQUEST_TIMEOUT_MS", kHttp,
            IntKind{At<&Config::http, &Http::request_timeout_ms>, 100, kHourMs, "ms"},
            "a request must arrive completely within this time"},
    Setting{"QUEEN_HTTP_UPLOAD_BYTES_PER_SECOND_MIN", kHttp,
            SizeKind{At<&Config::http, &Http::upload_bytes_per_second_min>, 0, kGiB},
            "a body that arrives more slowly is answered 408; 0 lets every body through"},
    Setting{"QUEEN_HTTP_UPLOAD_GRACE_MS", kHttp,
            IntKind{At<&Config::http, &Http::upload_grace_ms>, 100, kHourMs, "ms"},
            "the time over which that is measured, again and again while the body arrives"},
    Setting{"QUEEN_HTTP_WRITE_TIMEOUT_MS", kHttp,
            IntKind{At<&Config::http, &Http::write_timeout_ms>, 100, kHourMs, "ms"},
            "a client that takes none of its reply for this long is disconnected"},
    Setting{"QUEEN_HTTP_PIPELINE_DEPTH_MAX", kHttp,
            IntKind{At<&Config::http, &Http::pipeline_depth_max>, 1, 10'000},
            "most requests of one connection in progress; later ones wait in the socket"},
    Setting{"QUEEN_HTTP_WRITE_BUFFER_BYTES_MAX", kHttp,
            SizeKind{At<&Config::http, &Http::write_buffer_bytes_max>, 64 * kKiB, 4 * kGiB},
            "unsent reply bytes of one connection at which no further request is read from it"},
    Setting{"QUEEN_CORS_ORIGINS", kHttp,
            TextKind{At<&Config::http, &Http::cors_origins>,
                     "origins such as https://example.org separated by commas, or *", AreOrigins},
            "origins of web pages that may use the broker; * is all of them, empty is none"},
    Setting{"QUEEN_HOSTS", kHttp,
            TextKind{At<&Config::http, &Http::hosts>, "names separated by commas", AreHostNames},
            "names that clients without a token reach this broker under, for the Host header: "
            "queen.example.org, .example.org for every name below it, * for any. Addresses, names "
            "without a dot, HOST and the name of the machine need not be named"},
    Setting{
        "QUEEN_RATE_REQUESTS", kHttp,
        IntKind{At<&Config::http, &Http::client_requests_per_second>, 0, 100'000'000},
        "most requests of one client (the subject of its token, or else an address) in a second; "
        "more are answered 429, pops 503. 0: no limit"},
    Setting{"QUEEN_RATE_BYTES", kHttp,
            SizeKind{At<&Config::http, &Http::client_bytes_per_second>, 0, 1024 * kGiB},
            "most bytes of request bodies of one client in a second, likewise. 0: no limit"},
    Setting{"QUEEN_CLIENT_CONNECTIONS_MAX", kHttp,
            IntKind{At<&Config::http, &Http::client_connections_max>, 0, 1'000'000},
            "most open connections of one address; more are answered 503. 0: no limit"},

    Setting{"QUEEN_TLS_CERT", kTls, PathKind{At<&Config::tls, &Tls::certificate>},
            "file with the broker's certificate and those between it and its root, as PEM: clients "
            "then speak HTTPS only. Read again when it changes"},
    Setting{"QUEEN_TLS_KEY", kTls, PathKind{At<&Config::tls, &Tls::key>},
            "file with the key of that certificate, as PEM without a passphrase"},
    Setting{"QUEEN_TLS_CLIENT_CA", kTls, PathKind{At<&Config::tls, &Tls::client_ca>},
            "file with the authorities whose certificates clients may show, as PEM; the name in a "
            "client's certificate is that of its messages' producer. Empty: none is asked for"},
    Setting{"QUEEN_TLS_CLIENT_CERT", kTls,
            WordKind{At<&Config::tls, &Tls::client_certificate>, kClientCertificates},
            "with QUEEN_TLS_CLIENT_CA: whether a client without a certificate is refused"},
    Setting{"QUEEN_TLS_CLIENT_ROLE", kTls,
            WordKind{At<&Config::tls, &Tls::client_role>, kClientRoles},
            "what a client with a certificate and without a token may do, where authentication "
            "is on"},
    Setting{"QUEEN_TLS_HANDSHAKE_TIMEOUT_MS", kTls,
            IntKind{At<&Config::tls, &Tls::handshake_timeout_ms>, 100, kHourMs, "ms"},
            "a TLS handshake must be over within this time"},
    Setting{"QUEEN_TLS_SELF_SIGNED", kTls, BoolKind{At<&Config::tls, &Tls::self_signed>},
            "speak HTTPS with a certificate that the broker makes for itself and keeps in the "
            "directory tls of QUEEN_DATA_DIR: for trying it out"},

    Setting{"DATABASE_URL", kDatabase, ConninfoKind{At<&Config::database, &Database::url>},
            "connection string of the server; wins over PG_*. With neither, the broker runs its "
            "own server"},
    Setting{
        "PG_HOST", kDatabase,
        TextKind{At<&Config::database, &Database::host>, "a host, or several separated by commas"},
        "host of the server, or a comma-separated list to try in order"},
    Setting{"PG_PORT", kDatabase, IntKind{At<&Config::database, &Database::port>, 1, 65535},
            "port of the server"},
    Setting{"PG_USER", kDatabase,
            TextKind{At<&Config::database, &Database::user>, "a role", NotEmpty},
            "role to connect as"},
    Setting{"PG_PASSWORD", kDatabase, SecretKind{At<&Config::database, &Database::password>},
            "password of that role"},
    Setting{"PG_DB", kDatabase,
            TextKind{At<&Config::database, &Database::name>, "a database", NotEmpty},
            "database, encoded in UTF8; everything lives in its schema queen"},
    Setting{"PG_USE_SSL", kDatabase, BoolKind{At<&Config::database, &Database::use_ssl>},
            "require TLS; PG_SSLMODE says more exactly how"},
    Setting{"PG_SSLMODE",
            kDatabase,
            WordKind{At<&Config::database, &Database::ssl_mode>, kSslModes},
            "sslmode of libpq",
            {"require with PG_USE_SSL, else prefer", ComputeSslMode}},
    Setting{"PG_SSLROOTCERT", kDatabase,
            TextKind{At<&Config::database, &Database::ssl_root_cert>, "a file"},
            "file with the certificate authorities that verify-ca and verify-full trust"},
    Setting{"PG_TARGET_SESSION_ATTRS", kDatabase,
            WordKind{At<&Config::database, &Database::target_session_attrs>, kSessionAttrs},
            "which of several hosts will do"},

    Setting{"DB_POOL_SIZE", kPools, IntKind{At<&Config::database, &Database::pool_size>, 1, 1'000},
            "connections for administration, apart from the sidecar's"},
    Setting{"DB_CONNECTION_TIMEOUT", kPools,
            IntKind{At<&Config::database, &Database::connection_timeout_ms>, 100, kHourMs, "ms"},
            "longest attempt to connect to one host"},
    Setting{"DB_STATEMENT_TIMEOUT", kPools,
            IntKind{At<&Config::database, &Database::statement_timeout_ms>, 100, kHourMs, "ms"},
            "longest statement; the server cancels it"},
    Setting{"DB_LOCK_TIMEOUT", kPools,
            IntKind{At<&Config::database, &Database::lock_timeout_ms>, 10, kHourMs, "ms"},
            "longest wait of a statement for a lock"},
    Setting{
        "DB_IN_FLIGHT_DEADLINE_MS",
        kPools,
        IntKind{At<&Config::database, &Database::in_flight_deadline_ms>, 100, 2 * kHourMs, "ms"},
        "a connection that has not answered for this long is given up; above DB_STATEMENT_TIMEOUT",
        {"DB_STATEMENT_TIMEOUT + 5000", ComputeInFlightDeadline}},

    Setting{"QUEEN_DATA_DIR",
            kEmbedded,
            PathKind{At<&Config::embedded, &Embedded::data_dir>},
            "directory of the broker's own data, PostgreSQL cluster included",
            {"/var/lib/queen as root, else $XDG_DATA_HOME/queen or ~/.local/share/queen",
             ComputeDataDir}},
    Setting{"QUEEN_PG_BIN_DIR", kEmbedded, PathKind{At<&Config::embedded, &Embedded::bin_dir>},
            "directory of initdb and postgres; empty looks for the newest installed version"},
    Setting{"QUEEN_PG_OS_USER", kEmbedded,
            TextKind{At<&Config::embedded, &Embedded::os_user>, "a user of this machine", NotEmpty},
            "user that runs the cluster when the broker runs as root"},

    Setting{"FILE_BUFFER_DIR",
            kBuffer,
            PathKind{At<&Config::buffer, &Buffer::directory>},
            "directory of the pushes that wait for PostgreSQL; one broker's own",
            {"QUEEN_DATA_DIR/buffer", ComputeBufferDirectory}},
    Setting{"FILE_BUFFER_MAX_BYTES", kBuffer,
            SizeKind{At<&Config::buffer, &Buffer::bytes_max>, 0, 1024 * kGiB},
            "most bytes in that directory; more pushes are answered 503; 0 turns the buffer off"},
    Setting{"FILE_BUFFER_FILE_BYTES", kBuffer,
            SizeKind{At<&Config::buffer, &Buffer::file_bytes>, 4 * kKiB, kGiB},
            "size at which another file is begun"},
    Setting{"FILE_BUFFER_MIN_FREE_BYTES",
            kBuffer,
            SizeKind{At<&Config::buffer, &Buffer::free_bytes_min>, 0, int64_t{1024} * 1024 * kGiB},
            "free bytes of that file system that the buffer leaves alone, so that PostgreSQL can "
            "recover on the same disk; more pushes are answered 503; 0 keeps nothing free",
            {"1GiB, or 5 % of the file system if that is less", ComputeBufferReserve}},
    Setting{"FILE_BUFFER_AFTER_MS", kBuffer,
            IntKind{At<&Config::buffer, &Buffer::after_ms>, 0, kHourMs, "ms"},
            "how long no connection to PostgreSQL is up before pushes are buffered"},

    Setting{"SIDECAR_POOL_SIZE",
            kSidecar,
            IntKind{At<&Config::sidecar, &Sidecar::pool_size>, 1, 10'000},
            "connections for push, pop and ack, divided among the workers",
            {"4 per worker", ComputeSidecarPool}},
    Setting{"SIDECAR_MICRO_BATCH_WAIT_MS", kSidecar,
            IntKind{At<&Config::sidecar, &Sidecar::micro_batch_wait_ms>, 0, 1'000, "ms"},
            "how long a few items are held back for more of them to share their call; 0 sends as "
            "soon as "
            "a connection is free"},
    Setting{"SIDECAR_MAX_ITEMS_PER_TX", kSidecar,
            IntKind{At<&Config::sidecar, &Sidecar::items_per_tx_max>, 1, 100'000},
            "most items in one transaction"},
    Setting{"SIDECAR_PUSH_ITEMS_MAX", kSidecar,
            IntKind{At<&Config::sidecar, &Sidecar::push_items_max>, 1, 100'000'000},
            "most pushed items that wait in one worker; more are answered 503"},
    Setting{"SIDECAR_ACK_ITEMS_MAX", kSidecar,
            IntKind{At<&Config::sidecar, &Sidecar::ack_items_max>, 1, 100'000'000},
            "most acknowledgments that wait in one worker; more are answered 503"},
    Setting{"SIDECAR_TRANSACTION_ITEMS_MAX", kSidecar,
            IntKind{At<&Config::sidecar, &Sidecar::transaction_items_max>, 1, 100'000'000},
            "most pushes and acks of transactions that wait in one worker; more are answered 503"},
    Setting{"SIDECAR_POPS_MAX", kSidecar,
            IntKind{At<&Config::sidecar, &Sidecar::pops_max>, 1, 10'000'000},
            "most pops in one worker, on their way or waiting; more are answered 503"},

    Setting{"POP_WAIT_BASE_INTERVAL_MS", kPop,
            IntKind{At<&Config::pop, &Pop::wait_base_interval_ms>, 1, 60'000, "ms"},
            "first interval at which a waiting pop is checked without having been woken"},
    Setting{"POP_WAIT_MAX_INTERVAL_MS", kPop,
            IntKind{At<&Config::pop, &Pop::wait_max_interval_ms>, 1, 600'000, "ms"},
            "longest such interval"},
    Setting{"POP_WAIT_BACKOFF_THRESHOLD", kPop,
            IntKind{At<&Config::pop, &Pop::wait_backoff_threshold>, 1, 1'000},
            "empty checks in a row before the interval grows"},
    Setting{"POP_WAIT_BACKOFF_MULTIPLIER", kPop,
            DoubleKind{At<&Config::pop, &Pop::wait_backoff_multiplier>, 1.0, 100.0},
            "factor by which it grows"},
    Setting{
        "POP_MAX_BYTES", kPop, SizeKind{At<&Config::pop, &Pop::bytes_max>, kKiB, kGiB},
        "most bytes of messages in one reply to a pop, but always one message; less while there is "
        "little room for replies"},
    Setting{
        "POP_IDLE_GROUP_MS", kPop,
        IntKind{At<&Config::pop, &Pop::idle_group_ms>, 100, 24 * kHourMs, "ms"},
        "how long a worker remembers what is ready for a consumer group that nobody pops; after "
        "that PostgreSQL is asked"},
    Setting{"POP_IDLE_GROUPS_MAX", kPop,
            IntKind{At<&Config::pop, &Pop::idle_groups_max>, 0, 1'000'000},
            "most such groups that one worker remembers"},

    Setting{"RETENTION_INTERVAL", kSweeps,
            IntKind{At<&Config::sweep, &Sweep::retention_interval_ms>, 100, 24 * kHourMs, "ms"},
            "pause between sweeps of messages past retentionSeconds or completedRetentionSeconds"},
    Setting{"EVICTION_INTERVAL", kSweeps,
            IntKind{At<&Config::sweep, &Sweep::eviction_interval_ms>, 100, 24 * kHourMs, "ms"},
            "pause between sweeps of messages past maxWaitTimeSeconds; one sweep does both, at the "
            "shorter of the two"},
    Setting{"TRACE_RETENTION_DAYS", kSweeps,
            IntKind{At<&Config::sweep, &Sweep::trace_days>, 0, 36'500, "days"},
            "how long traces are kept; 0: for ever"},
    Setting{"DLQ_RETENTION_DAYS", kSweeps,
            IntKind{At<&Config::sweep, &Sweep::dead_letter_days>, 0, 36'500, "days"},
            "how long a dead letter is kept after its message died; 0: for ever"},
    Setting{
        "EARLY_GROUP_RETENTION_DAYS", kSweeps,
        IntKind{At<&Config::sweep, &Sweep::early_group_days>, 0, 36'500, "days"},
        "how long it is remembered that a group has popped a queue that does not exist yet; 0: for "
        "ever"},
    Setting{"STATS_INTERVAL_MS", kSweeps,
            IntKind{At<&Config::sweep, &Sweep::stats_interval_ms>, 100, 24 * kHourMs, "ms"},
            "pause between two measurements of all queues and groups, which the pages about them "
            "show; one broker at a time makes them"},
    Setting{"METRICS_RETENTION_DAYS", kSweeps,
            IntKind{At<&Config::sweep, &Sweep::metrics_days>, 0, 36'500, "days"},
            "how long it is kept what was done in each minute, for the status and analytics "
            "pages; 0: for ever"},

    Setting{"QUEEN_AUDIT_DAYS", kAudit,
            IntKind{At<&Config::sweep, &Sweep::audit_days>, 0, 36'500, "days"},
            "how long it is kept who changed or deleted what; 0: for ever"},
    Setting{"QUEEN_AUDIT_FILE", kAudit, PathKind{At<&Config::audit, &Audit::file>},
            "file that the same is written to as it happens, a JSON object in each line. Empty: to "
            "the log, if LOG_FORMAT is json"},

    Setting{"METRICS_FLUSH_INTERVAL", kMetrics,
            IntKind{At<&Config::metrics, &Metrics::flush_interval_ms>, 100, 60'000, "ms"},
            "how often the broker writes down what it did, for the status and analytics pages; a "
            "broker that is killed takes so much with it"},

    Setting{"QUEEN_UDP_PEERS", kCluster,
            TextKind{At<&Config::cluster, &Cluster::peers>, "host:port, or several with commas",
                     IsPeerList},
            "brokers on the same database to tell by UDP what is new; a name may stand for several "
            "addresses, and this broker may be among them. Empty: nobody is told"},
    Setting{"QUEEN_UDP_NOTIFY_PORT", kCluster,
            IntKind{At<&Config::cluster, &Cluster::notify_port>, 0, 65535},
            "UDP port that the other brokers are heard on; 0 takes any free one"},
    Setting{"QUEEN_SYNC_SECRET", kCluster, SecretKind{At<&Config::cluster, &Cluster::secret>},
            "secret shared by the brokers; what is not signed with it is dropped"},
    Setting{"QUEEN_SYNC_ALLOW_NO_SECRET", kCluster,
            BoolKind{At<&Config::cluster, &Cluster::allow_no_secret>},
            "run with QUEEN_UDP_PEERS and without QUEEN_SYNC_SECRET: for networks where nobody "
            "else can send"},

    Setting{"JWT_ENABLED", kAuth, BoolKind{At<&Config::auth, &Auth::jwt_enabled>},
            "requests need a token: a JSON Web Token, or one of `queen token`"},
    Setting{"JWT_ALGORITHM", kAuth, WordKind{At<&Config::auth, &Auth::jwt_algorithm>, kAlgorithms},
            "the one algorithm that tokens may be signed with; auto: that of each key"},
    Setting{"JWT_SECRET", kAuth, SecretKind{At<&Config::auth, &Auth::jwt_secret>},
            "key of HS256, 32 bytes or more"},
    Setting{
        "JWT_PUBLIC_KEY", kAuth,
        TextKind{At<&Config::auth, &Auth::jwt_public_key>, "PEM, or a file with it", nullptr, true},
        "public key of RS256, ES256 or EdDSA in PEM, with line ends or \\n for them, or the file "
        "it "
        "stands in"},
    Setting{
        "JWT_JWKS_URL", kAuth,
        TextKind{At<&Config::auth, &Auth::jwks_url>, "a URL that begins with https://", IsHttpsUrl},
        "where the issuer publishes its keys (a JSON Web Key Set)"},
    Setting{"JWT_JWKS_CERTIFICATE", kAuth,
            TextKind{At<&Config::auth, &Auth::jwks_certificate>, "a file"},
            "file with the certificate authorities to trust there; empty: those of the system"},
    Setting{"JWT_JWKS_REFRESH_INTERVAL", kAuth,
            IntKind{At<&Config::auth, &Auth::jwks_interval_s>, 1, 86'400, "s"},
            "how often they are fetched; sooner for a token of a key that is not among them"},
    Setting{"JWT_JWKS_TIMEOUT_MS", kAuth,
            IntKind{At<&Config::auth, &Auth::jwks_timeout_ms>, 100, 60'000, "ms"},
            "how long fetching them may take"},
    Setting{"JWT_ISSUER", kAuth, TextKind{At<&Config::auth, &Auth::issuer>, "a text"},
            "tokens must be of this issuer (iss); empty: of any"},
    Setting{"JWT_AUDIENCE", kAuth, TextKind{At<&Config::auth, &Auth::audience>, "a text"},
            "tokens must be for this audience (aud); empty: for any"},
    Setting{"JWT_CLOCK_SKEW", kAuth, IntKind{At<&Config::auth, &Auth::clock_skew_s>, 0, 3'600, "s"},
            "by how much the clocks of issuer and broker may differ"},
    Setting{"JWT_ROLES_CLAIM", kAuth,
            TextKind{At<&Config::auth, &Auth::role_claim>, "a name", NotEmpty},
            "claim with the role of a token"},
    Setting{"JWT_ROLES_ARRAY_CLAIM", kAuth,
            TextKind{At<&Config::auth, &Auth::roles_claim>, "a name", NotEmpty},
            "claim with a list of roles, of which the highest counts"},
    Setting{"JWT_ROLE_ADMIN", kAuth,
            TextKind{At<&Config::auth, &Auth::role_admin>, "a name", NotEmpty},
            "how the issuer calls the role admin"},
    Setting{"JWT_ROLE_READ_WRITE", kAuth,
            TextKind{At<&Config::auth, &Auth::role_read_write>, "a name", NotEmpty},
            "how the issuer calls the role read-write"},
    Setting{"JWT_ROLE_READ_ONLY", kAuth,
            TextKind{At<&Config::auth, &Auth::role_read_only>, "a name", NotEmpty},
            "how the issuer calls the role read-only"},
    Setting{"QUEEN_TOKENS_ENABLED", kAuth, BoolKind{At<&Config::auth, &Auth::stored_tokens>},
            "requests need a token, and those of `queen token` count; they do too with JWT_ENABLED "
            "or QUEEN_TOKENS_FILE"},
    Setting{"QUEEN_TOKENS_FILE", kAuth, TextKind{At<&Config::auth, &Auth::tokens_file>, "a file"},
            "requests need a token, and those in this file count, a line each; read again when it "
            "changes"},
    Setting{"QUEEN_ALLOW_ANONYMOUS", kAuth, BoolKind{At<&Config::auth, &Auth::allow_anonymous>},
            "lets everybody who reaches the broker do everything, also over the network"},

    Setting{"QUEEN_ENCRYPTION_KEY", kEncryption,
            SecretKind{At<&Config::encryption, &Encryption::keys>,
                       "64 hexadecimal digits or base64 of 32 bytes, or several with commas",
                       AreEncryptionKeys},
            "key of queues with encryptionEnabled; of several the first encrypts, all decrypt"},
    Setting{"QUEEN_ENCRYPTION_KEYS_OLD", kEncryption,
            SecretKind{At<&Config::encryption, &Encryption::old_keys>,
                       "64 hexadecimal digits or base64 of 32 bytes, or several with commas",
                       AreEncryptionKeys},
            "keys of before: messages that were encrypted with one of them are still read"},

    Setting{
        "OTEL_EXPORTER_OTLP_ENDPOINT", kTracing,
        TextKind{At<&Config::tracing, &Tracing::endpoint>, "an http or https URL", IsHttpUrl},
        "where spans are sent by OTLP over HTTP, as JSON; /v1/traces is added to it. Empty, and "
        "the next one too: no spans are made"},
    Setting{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", kTracing,
            TextKind{At<&Config::tracing, &Tracing::traces_endpoint>, "an http or https URL",
                     IsHttpUrl},
            "the same, used as it is; it wins over OTEL_EXPORTER_OTLP_ENDPOINT"},
    Setting{"OTEL_EXPORTER_OTLP_HEADERS", kTracing,
            SecretKind{At<&Config::tracing, &Tracing::headers>,
                       "key=value, or several with commas, values percent-encoded", AreHeaders},
            "headers sent with the spans, such as api-key=..."},
    Setting{"OTEL_EXPORTER_OTLP_CERTIFICATE", kTracing,
            PathKind{At<&Config::tracing, &Tracing::certificate>},
            "file with the certificates to trust at an https URL; empty: those of the system"},
    Setting{"OTEL_EXPORTER_OTLP_TIMEOUT", kTracing,
            IntKind{At<&Config::tracing, &Tracing::timeout_ms>, 1, kHourMs, "ms"},
            "how long sending one batch of spans may take"},
    Setting{"OTEL_SERVICE_NAME",
            kTracing,
            TextKind{At<&Config::tracing, &Tracing::service_name>, "a name", NotEmpty},
            "name of this broker in traces",
            {"service.name of OTEL_RESOURCE_ATTRIBUTES, else queen", ComputeServiceName}},
    Setting{"OTEL_RESOURCE_ATTRIBUTES", kTracing,
            TextKind{At<&Config::tracing, &Tracing::resource_attributes>,
                     "key=value, or several with commas, values percent-encoded", ArePairs},
            "what else is said of this broker in traces"},
    Setting{"OTEL_TRACES_SAMPLER", kTracing,
            WordKind{At<&Config::tracing, &Tracing::sampler>, kSamplers},
            "which requests get a span; parentbased: as the caller's traceparent says, and where "
            "there is none as the rest of the word says"},
    Setting{"OTEL_TRACES_SAMPLER_ARG", kTracing,
            DoubleKind{At<&Config::tracing, &Tracing::sampler_arg>, 0.0, 1.0},
            "the share of traces that traceidratio takes"},
    Setting{"OTEL_BSP_SCHEDULE_DELAY", kTracing,
            IntKind{At<&Config::tracing, &Tracing::schedule_delay_ms>, 1, kHourMs, "ms"},
            "how long spans wait for more to be sent together"},
    Setting{"OTEL_BSP_MAX_QUEUE_SIZE", kTracing,
            IntKind{At<&Config::tracing, &Tracing::queue_size>, 1, 1'000'000},
            "most spans of one worker that wait to be sent; more are dropped and counted"},

    Setting{"LOG_LEVEL", kLogs, EnumAt<&Config::log, &Log::level>(kLogLevels),
            "least level that is written"},
    Setting{"LOG_FORMAT", kLogs, EnumAt<&Config::log, &Log::format>(kLogFormats),
            "format of the lines on standard error; with text, start and stop are told on standard "
            "output by a banner instead of lines"},
};

}  // namespace

std::span<const Setting> Settings() { return kSettings; }

const Setting* FindSetting(std::string_view name) {
  const auto found = std::ranges::find(kSettings, name, &Setting::name);
  return found == kSettings.end() ? nullptr : &*found;
}

}  // namespace queen::config
