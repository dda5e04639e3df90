#include "config/load.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "config/conninfo.h"
#include "config/pair_list.h"
#include "config/peer_list.h"
#include "config/settings.h"

namespace queen::config {
namespace {

// A file that lives as long as the test.
class ConfigFile {
 public:
  explicit ConfigFile(std::string_view text)
      : path_(testing::TempDir() + "queen_load_test_" + std::to_string(getpid()) + ".conf") {
    std::ofstream(path_) << text;
  }
  ~ConfigFile() { std::filesystem::remove(path_); }
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

using Lines = std::vector<std::string>;

Loaded LoadEnvironment(Environment environment) {
  environment.emplace("HOME", "/home/someone");
  return Load({{}, std::move(environment), {}});
}

std::string OriginOf(const Loaded& loaded, std::string_view name) {
  return loaded.origins[static_cast<size_t>(FindSetting(name) - Settings().data())];
}

TEST(Load, APasswordOnTheCommandLineIsAWarning) {
  const auto warnings = [](const std::string& url) {
    return Load({{{"DATABASE_URL", url}}, {{"HOME", "/h"}}, {}}).warnings;
  };
  for (const auto* url : {"postgresql://me:s3cret@db/app", "host=db password=s3cret",
                          "postgresql://me@db/app?password=s3cret"}) {
    ASSERT_EQ(warnings(url).size(), 1U) << url;
    EXPECT_NE(warnings(url)[0].find("--database-url"), std::string::npos);
    EXPECT_NE(warnings(url)[0].find("PGPASSFILE"), std::string::npos);
    EXPECT_EQ(warnings(url)[0].find("s3cret"), std::string::npos);
    EXPECT_EQ(LoadEnvironment({{"DATABASE_URL", url}}).warnings, Lines{});
  }
  EXPECT_EQ(warnings("postgresql://me@db:5432/app"), Lines{});
  EXPECT_EQ(warnings("host=db user=me"), Lines{});
}

TEST(Load, FlagsOverEnvironmentOverFileOverDefault) {
  const ConfigFile file("PORT = 1\nHOST = file\nPG_USER = file\nPG_HOST = h\n");
  const Loaded loaded = Load(
      {{{"PORT", "3"}}, {{"PORT", "2"}, {"HOST", "environment"}, {"HOME", "/h"}}, file.path()});
  EXPECT_EQ(loaded.problems, Lines{});
  EXPECT_EQ(loaded.config.http.port, 3);
  EXPECT_EQ(loaded.config.http.host, "environment");
  EXPECT_EQ(loaded.config.database.user, "file");
  EXPECT_EQ(loaded.config.database.name, "postgres");
  EXPECT_EQ(OriginOf(loaded, "PORT"), "flag --port");
  EXPECT_EQ(OriginOf(loaded, "HOST"), "environment");
  EXPECT_EQ(OriginOf(loaded, "PG_USER"), file.path() + ":3");
  EXPECT_EQ(OriginOf(loaded, "PG_DB"), "default");
}

TEST(Load, TheVariableNamesTheFileUnlessTheFlagDoes) {
  const ConfigFile file("PORT = 7\n");
  EXPECT_EQ(LoadEnvironment({{"QUEEN_CONFIG", file.path()}}).config.http.port, 7);
  const Loaded loaded =
      Load({{}, {{"QUEEN_CONFIG", "/nowhere"}, {"HOME", "/home/someone"}}, file.path()});
  EXPECT_EQ(loaded.problems, Lines{});
  EXPECT_EQ(loaded.config.http.port, 7);
}

TEST(Load, EachBadValueIsOneMessage) {
  const ConfigFile file("# a file\nNUM_WORKERS = many\n");
  const Loaded loaded =
      Load({{{"PORT", "70000"}}, {{"LOG_LEVEL", "loud"}, {"POP_MAX_BYTES", "5MB"}}, file.path()});
  EXPECT_EQ(
      loaded.problems,
      (Lines{"PORT (flag --port): \"70000\" is out of range; allowed: 0..65535",
             "NUM_WORKERS (" + file.path() + ":2): \"many\" is not a whole number; allowed: 1..256",
             "POP_MAX_BYTES (environment): \"5MB\" is not a size in bytes; allowed: 1KiB..1GiB",
             "LOG_LEVEL (environment): \"loud\" is not known; allowed: one of trace, debug, info, "
             "warn, error, off"}));
}

TEST(Load, MessagesNeverHoldASecret) {
  const Loaded loaded = LoadEnvironment({{"PG_PASSWORD", "s3\ncret"}, {"DATABASE_URL", "s3cret"}});
  EXPECT_EQ(loaded.problems,
            (Lines{"DATABASE_URL (environment): the value is not a connection string; allowed: "
                   "postgresql://user@host:port/database or key=value pairs",
                   "PG_PASSWORD (environment): the value holds a control character; allowed: a "
                   "text (secret)"}));
}

TEST(Load, EncryptionKeysAreChecked) {
  const std::string key(64, 'a');
  const Loaded good = LoadEnvironment({{"QUEEN_ENCRYPTION_KEY", key + "," + key}});
  EXPECT_EQ(good.problems, Lines{});
  EXPECT_EQ(good.config.encryption.keys, key + "," + key);
  const Loaded bad = LoadEnvironment({{"QUEEN_ENCRYPTION_KEY", key + "a"}});
  EXPECT_EQ(bad.problems,
            (Lines{"QUEEN_ENCRYPTION_KEY (environment): the value is not valid; allowed: 64 "
                   "hexadecimal digits or base64 of 32 bytes, or several with commas (secret)"}));
}

TEST(Load, UnknownAndDuplicateKeysOfTheFileStopTheStart) {
  const ConfigFile file("PORT = 1\nPORTS = 2\nNONSENSE = s3cret\nPORT = 3\n");
  const Loaded loaded = Load({{}, {{"HOME", "/h"}}, file.path()});
  const std::string& path = file.path();
  EXPECT_EQ(loaded.problems, (Lines{path + ":2: unknown key PORTS; did you mean PORT?",
                                    path + ":3: unknown key NONSENSE",
                                    path + ":4: PORT was already set on line 1"}));
}

TEST(Load, AFileThatCannotBeReadStopsTheStart) {
  EXPECT_EQ(LoadEnvironment({{"QUEEN_CONFIG", "/nowhere/queen.conf"}}).problems,
            Lines{"cannot read the configuration file /nowhere/queen.conf: No such file or "
                  "directory"});
}

TEST(Load, AFlagGivenTwiceStopsTheStart) {
  const Loaded loaded = Load({{{"PORT", "1"}, {"PORT", "2"}}, {{"HOME", "/h"}}, {}});
  EXPECT_EQ(loaded.problems, Lines{"the flag --port is given twice"});
}

TEST(Load, AnEmptyVariableIsNotSet) {
  const Loaded loaded = LoadEnvironment({{"PORT", ""}, {"DATABASE_URL", ""}, {"QUEEN_CONFIG", ""}});
  EXPECT_EQ(loaded.problems, Lines{});
  EXPECT_EQ(loaded.config.http.port, 6632);
  EXPECT_TRUE(loaded.config.uses_embedded());
}

TEST(Load, ComputedDefaultsFollowWhatIsGiven) {
  const Loaded loaded = LoadEnvironment(
      {{"NUM_WORKERS", "3"}, {"DB_STATEMENT_TIMEOUT", "60000"}, {"PG_USE_SSL", "true"}});
  EXPECT_EQ(loaded.problems, Lines{});
  EXPECT_EQ(loaded.config.sidecar.pool_size, 12);
  EXPECT_EQ(loaded.config.database.in_flight_deadline_ms, 65'000);
  EXPECT_EQ(loaded.config.database.ssl_mode, "require");
  EXPECT_GE(LoadEnvironment({}).config.server.workers, 2);
  EXPECT_LE(LoadEnvironment({}).config.server.workers, 8);
}

TEST(Load, TheDataDirectoryFollowsTheUser) {
  const Loaded loaded = LoadEnvironment({{"XDG_DATA_HOME", "/data"}});
  EXPECT_EQ(loaded.config.embedded.data_dir, geteuid() == 0 ? "/var/lib/queen" : "/data/queen");
  const Loaded relative = LoadEnvironment({{"XDG_DATA_HOME", "data"}});
  EXPECT_EQ(relative.config.embedded.data_dir,
            geteuid() == 0 ? "/var/lib/queen" : "/home/someone/.local/share/queen");
}

TEST(Load, TheFileBufferIsInTheDataDirectoryUnlessItIsElsewhereOrOff) {
  const auto directory = [](const Environment& environment) {
    return LoadEnvironment(environment).config.buffer.directory;
  };
  EXPECT_EQ(directory({{"QUEEN_DATA_DIR", "/srv/queen"}}), "/srv/queen/buffer");
  EXPECT_EQ(directory({{"QUEEN_DATA_DIR", "/srv/queen"}, {"FILE_BUFFER_DIR", "/b"}}), "/b");
  EXPECT_TRUE(LoadEnvironment({}).config.buffer.is_on());
  EXPECT_FALSE(LoadEnvironment({{"FILE_BUFFER_MAX_BYTES", "0"}}).config.buffer.is_on());
}

TEST(Load, ContradictionsNameBothSettings) {
  EXPECT_EQ(
      LoadEnvironment({{"DB_STATEMENT_TIMEOUT", "30000"}, {"DB_IN_FLIGHT_DEADLINE_MS", "30000"}})
          .problems,
      Lines{"DB_IN_FLIGHT_DEADLINE_MS (30000) must be above DB_STATEMENT_TIMEOUT (30000): "
            "the server has to have the chance to cancel first"});
  EXPECT_EQ(LoadEnvironment({{"POP_WAIT_BASE_INTERVAL_MS", "2000"}}).problems,
            Lines{"POP_WAIT_BASE_INTERVAL_MS (2000) must not be above POP_WAIT_MAX_INTERVAL_MS "
                  "(1000)"});
  EXPECT_EQ(LoadEnvironment({{"QUEEN_HTTP_BODY_BYTES_MAX", "1024"}}).config.http.request_bytes_max,
            4096);
  EXPECT_TRUE(LoadEnvironment(
                  {{"QUEEN_HTTP_BODY_BYTES_MAX", "3072"}, {"QUEEN_HTTP_REQUEST_BYTES_MAX", "4096"}})
                  .problems.empty());
  EXPECT_EQ(LoadEnvironment(
                {{"QUEEN_HTTP_BODY_BYTES_MAX", "3073"}, {"QUEEN_HTTP_REQUEST_BYTES_MAX", "4096"}})
                .problems,
            Lines{"QUEEN_HTTP_REQUEST_BYTES_MAX (4096) must be at least 4/3 of "
                  "QUEEN_HTTP_BODY_BYTES_MAX (3073): the largest body has to fit"});
  EXPECT_EQ(LoadEnvironment({{"NUM_WORKERS", "4"}, {"SIDECAR_POOL_SIZE", "3"}}).problems,
            Lines{"SIDECAR_POOL_SIZE (3) must be at least NUM_WORKERS (4): every worker needs a "
                  "connection"});
  EXPECT_EQ(LoadEnvironment({{"PG_USE_SSL", "1"}, {"PG_SSLMODE", "disable"}}).problems,
            Lines{"PG_USE_SSL (true) contradicts PG_SSLMODE (disable)"});
}

TEST(Load, WhichServerIsUsed) {
  const Loaded neither = LoadEnvironment({});
  EXPECT_TRUE(neither.config.uses_embedded());
  EXPECT_EQ(neither.warnings, Lines{});

  const Loaded host = LoadEnvironment({{"PG_HOST", "a,b"}, {"PG_PASSWORD", "it's"}});
  EXPECT_FALSE(host.config.uses_embedded());
  EXPECT_EQ(host.warnings, Lines{});
  EXPECT_EQ(Conninfo(host.config),
            "host='a,b' port='5432' user='postgres' password='it\\'s' dbname='postgres' "
            "sslmode='prefer' target_session_attrs='read-write'");

  const Loaded both = LoadEnvironment(
      {{"DATABASE_URL", "postgresql://db/app"}, {"PG_HOST", "a"}, {"PG_PORT", "1"}});
  EXPECT_EQ(Conninfo(both.config), "postgresql://db/app");
  EXPECT_EQ(both.warnings, Lines{"both DATABASE_URL and PG_HOST, PG_PORT are set; DATABASE_URL "
                                 "wins"});

  const Loaded half = LoadEnvironment({{"PG_USER", "me"}});
  EXPECT_TRUE(half.config.uses_embedded());
  EXPECT_EQ(half.warnings, Lines{"PG_USER is set, but neither PG_HOST nor DATABASE_URL: the broker "
                                 "runs its own PostgreSQL"});
}

TEST(Load, NearMissesInTheEnvironmentAreWarnings) {
  const Loaded loaded = LoadEnvironment({{"NUM_WORKER", "2"},
                                         {"QUEEN_DATADIR", "/x"},
                                         {"QUEEN_NONSENSE", "1"},
                                         {"POST", "1"},
                                         {"PATH", "/bin"},
                                         {"PGPASSWORD", "x"},
                                         {"PGHOST", "db"},
                                         {"QUEEN_SERVICE_HOST", "10.0.0.1"},
                                         {"QUEEN_PORT", "tcp://10.0.0.1:6632"},
                                         {"QUEEN_PORT_6632_TCP_ADDR", "10.0.0.1"}});
  EXPECT_EQ(loaded.problems, Lines{});
  EXPECT_EQ(
      loaded.warnings,
      (Lines{"the environment variable NUM_WORKER is not a setting; did you mean NUM_WORKERS?",
             "the environment variable PGHOST does not name a server for the broker; did you mean "
             "PG_HOST?",
             "the environment variable QUEEN_DATADIR is not a setting; did you mean "
             "QUEEN_DATA_DIR?",
             "the environment variable QUEEN_NONSENSE is not a setting"}));
}

TEST(Load, TheEnvironmentOfAProcess) {
  const char* const variables[] = {"A=1", "B=", "C", "A=2", "D=x=y", nullptr};
  const Environment environment = EnvironmentOf(variables);
  EXPECT_EQ(environment, (Environment{{"A", "1"}, {"B", ""}, {"D", "x=y"}}));
}

TEST(LoadTest, PeersNeedASecretUnlessToldSoExplicitly) {
  const auto problems = [](Environment environment) {
    environment["QUEEN_UDP_PEERS"] = "a:1,b";
    environment["DATABASE_URL"] = "postgresql://h/db";
    environment["FILE_BUFFER_DIR"] = "/tmp";
    Sources sources;
    sources.environment = std::move(environment);
    return Load(sources).problems;
  };
  const std::vector<std::string> refused = problems({});
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_TRUE(refused[0].starts_with("QUEEN_SYNC_SECRET must be given"));
  EXPECT_TRUE(problems({{"QUEEN_SYNC_SECRET", "s"}}).empty());
  EXPECT_TRUE(problems({{"QUEEN_SYNC_ALLOW_NO_SECRET", "true"}}).empty());
}

TEST(PeerListTest, NamesAddressesAndPorts) {
  using Peers = std::vector<PeerName>;
  EXPECT_EQ(ParsePeerList("", 6633), Peers{});
  EXPECT_EQ(ParsePeerList("queen-peers", 6633), (Peers{{"queen-peers", 6633}}));
  EXPECT_EQ(ParsePeerList("a:1, 10.0.0.2:65535 ,[fd00::1]:7", 6633),
            (Peers{{"a", 1}, {"10.0.0.2", 65535}, {"fd00::1", 7}}));
  EXPECT_EQ(ParsePeerList("[fd00::1]", 6633), (Peers{{"fd00::1", 6633}}));
  for (const char* wrong : {",", "a,", "a:", "a:0", "a:65536", "a:x", ":1", "a b:1", "[fd00::1",
                            "[fd00::1]7", "fd00::1"}) {
    EXPECT_FALSE(ParsePeerList(wrong, 6633)) << wrong;
  }
}

TEST(LoadTest, TracesAreOffUntilAnEndpointIsNamed) {
  const auto load = [](Environment environment) { return Load({{}, std::move(environment), {}}); };
  EXPECT_FALSE(load({{"OTEL_SERVICE_NAME", "x"}}).config.tracing.is_on());
  EXPECT_TRUE(load({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"}}).config.tracing.is_on());
  EXPECT_TRUE(load({{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c/t"}}).config.tracing.is_on());
  for (const char* endpoint : {"c:4318", "grpc://c:4317", "http://", "http:///v1", "http://a b"}) {
    EXPECT_FALSE(load({{"OTEL_EXPORTER_OTLP_ENDPOINT", endpoint}}).problems.empty()) << endpoint;
  }
  EXPECT_FALSE(load({{"OTEL_EXPORTER_OTLP_HEADERS", "api key=1"}}).problems.empty());
  EXPECT_FALSE(load({{"OTEL_TRACES_SAMPLER", "jaeger_remote"}}).problems.empty());
  EXPECT_FALSE(load({{"OTEL_TRACES_SAMPLER_ARG", "1.5"}}).problems.empty());
}

TEST(LoadTest, TheServiceIsNamedByItsOwnVariableFirst) {
  const auto name = [](Environment environment) {
    return Load({{}, std::move(environment), {}}).config.tracing.service_name;
  };
  EXPECT_EQ(name({}), "queen");
  EXPECT_EQ(name({{"OTEL_RESOURCE_ATTRIBUTES", "a=b,service.name=from%20list"}}), "from list");
  EXPECT_EQ(name({{"OTEL_RESOURCE_ATTRIBUTES", "service.name=list"}, {"OTEL_SERVICE_NAME", "own"}}),
            "own");
}

TEST(PairListTest, KeysAndValues) {
  using Pairs = PairList;
  EXPECT_EQ(ParsePairList(""), Pairs());
  EXPECT_EQ(ParsePairList("a=1"), (Pairs{{"a", "1"}}));
  EXPECT_EQ(ParsePairList(" a = 1 ,, b=x=y, c=,"), (Pairs{{"a", "1"}, {"b", "x=y"}, {"c", ""}}));
  EXPECT_EQ(ParsePairList("a=%2C%3d%20b"), (Pairs{{"a", ",= b"}}));
  for (const std::string_view bad : {"a", "=1", "a=%", "a=%2", "a=%2x", "a=%0A", "a=\n", "a=%-1"}) {
    EXPECT_FALSE(ParsePairList(bad)) << bad;
  }
}

}  // namespace
}  // namespace queen::config
