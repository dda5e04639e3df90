#include "api/configure.h"

#include <gtest/gtest.h>

#include "api/test_api.h"

namespace queen::api {
namespace {

constexpr std::string_view kPath = "/api/v1/configure";

class ConfigureTest : public ApiTest {
 protected:
  const admin::ConfigureRequest& asked() { return manager_.configure.requests.back(); }
};

TEST_F(ConfigureTest, OnlyAQueue) {
  Send("POST", kPath, R"({"queue":"orders"})");
  ASSERT_EQ(manager_.configure.requests.size(), 1U);
  EXPECT_EQ(asked().queue, "orders");
  EXPECT_EQ(asked().namespace_name, std::nullopt);
  EXPECT_EQ(asked().task, std::nullopt);
  EXPECT_EQ(asked().options, "{}");
  EXPECT_FALSE(asked().replace);
}

TEST_F(ConfigureTest, KnownOptionsAreCopiedInNativeTypes) {
  Send("POST", kPath,
       R"({"queue":"","namespace":"n","task":"","options":{"leaseTime":6e1,"retryLimit":0,)"
       R"("maxSize":9223372036854775807,"retentionEnabled":true,"ttl":null,"unknown":[1]}})");
  ASSERT_EQ(manager_.configure.requests.size(), 1U);
  EXPECT_EQ(asked().queue, "");
  EXPECT_EQ(asked().namespace_name, "n");
  EXPECT_EQ(asked().task, "");
  EXPECT_EQ(asked().options, R"({"leaseTime":60,"retryLimit":0,"maxSize":9223372036854775807,)"
                             R"("retentionEnabled":true})");
}

TEST_F(ConfigureTest, EmptyOptions) {
  for (const std::string_view options : {"null", "{}"}) {
    const auto request =
        ParseConfigure(fmt::format(R"({{"queue":"q","options":{}}})", options), "", false);
    ASSERT_TRUE(request.ok()) << options;
    EXPECT_EQ(request->options, "{}");
  }
}

TEST_F(ConfigureTest, Modes) {
  const auto replaces = [](std::string_view body, std::string_view mode) {
    return ParseConfigure(body, mode, false)->replace;
  };
  EXPECT_FALSE(replaces(R"({"queue":"q"})", "merge"));
  EXPECT_TRUE(replaces(R"({"queue":"q"})", "replace"));
  EXPECT_TRUE(replaces(R"({"queue":"q","mode":"replace"})", ""));
  EXPECT_FALSE(replaces(R"({"queue":"q","mode":"merge"})", "replace"));
  EXPECT_EQ(Ask("POST", "/api/v1/configure?mode=x", R"({"queue":"q"})"),
            Refusal("mode must be merge or replace"));
}

TEST_F(ConfigureTest, BadBodies) {
  EXPECT_EQ(Ask("POST", kPath, "[]"), Refusal("The body must be an object"));
  EXPECT_EQ(Ask("POST", kPath, "{}"), Refusal("queue must be a string"));
  EXPECT_EQ(Ask("POST", kPath, R"({"queue":7})"), Refusal("queue must be a string"));
  EXPECT_EQ(Ask("POST", kPath, R"({"queue":"a\u0000"})"),
            Refusal("queue must not contain control characters"));
  EXPECT_EQ(Ask("POST", kPath, R"({"queue":"q","task":1})"), Refusal("task must be a string"));
  for (const char* options : {"5", "[]", R"([{"leaseTime":60}])", R"("leaseTime")", "true"}) {
    EXPECT_EQ(Ask("POST", kPath, fmt::format(R"({{"queue":"q","options":{}}})", options)),
              Refusal("options must be an object"));
  }
  EXPECT_TRUE(Ask("POST", kPath, "").starts_with("400 "));
  EXPECT_TRUE(manager_.configure.requests.empty());
}

TEST_F(ConfigureTest, BadOptionsAreNamed) {
  const auto refused = [this](std::string_view options) {
    return Ask("POST", kPath, fmt::format(R"({{"queue":"q","options":{}}})", options));
  };
  EXPECT_EQ(refused(R"({"leaseTime":"60"})"), Refusal("leaseTime must be a whole number"));
  EXPECT_EQ(refused(R"({"retryLimit":-1})"), Refusal("retryLimit must not be negative"));
  EXPECT_EQ(refused(R"({"priority":2147483648})"),
            Refusal("priority must not be above 2147483647"));
  EXPECT_EQ(refused(R"({"deadLetterQueue":1})"), Refusal("deadLetterQueue must be true or false"));
  EXPECT_EQ(refused(R"({"encryptionEnabled":true})"),
            Refusal("encryptionEnabled needs an encryption key, and this broker has none "
                    "(QUEEN_ENCRYPTION_KEY)"));
  EXPECT_TRUE(manager_.configure.requests.empty());
}

TEST_F(ConfigureTest, EncryptionWithAKey) {
  const auto request =
      ParseConfigure(R"({"queue":"q","options":{"encryptionEnabled":true}})", "", true);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->options, R"({"encryptionEnabled":true})");
  const auto off =
      ParseConfigure(R"({"queue":"q","options":{"encryptionEnabled":false}})", "", false);
  ASSERT_TRUE(off.ok());
  EXPECT_EQ(off->options, R"({"encryptionEnabled":false})");
}

TEST_F(ConfigureTest, TellsAllAndTheEngine) {
  Send("POST", kPath, R"({"queue":"q\"1"})");
  EXPECT_TRUE(engine_.changed.empty());
  manager_.configure.done(admin::ConfigureResult{.queue_id = QueueId{7},
                                                 .partition_id = PartitionId{9},
                                                 .namespace_name = "n",
                                                 .task = "t",
                                                 .options = R"({"leaseTime":300})"});
  EXPECT_EQ(Answer(), R"(200 {"configured":true,"queueId":"71756565-6e00-8071-8000-000000000007",)"
                      R"("partitionId":"71756565-6e00-8070-8000-000000000009","queue":"q\"1",)"
                      R"("namespace":"n","task":"t","options":{"leaseTime":300}})");
  EXPECT_EQ(engine_.changed, std::vector<std::string>{"q\"1"});
}

TEST_F(ConfigureTest, NamesWhatItIgnored) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(IgnoredNames(R"({"queue":"q","namespace":"n","task":"t","mode":"merge","options":{}})"),
            Names{});
  EXPECT_EQ(IgnoredNames(R"({"queue":"q","options":{"leaseTme":5,"leaseTime":6,"ttl":null}})"),
            Names{"leaseTme"});
  EXPECT_EQ(IgnoredNames(R"({"queue":"q","leaseTime":5,"options":{"a":1,"a":2,"leaseTime":null}})"),
            (Names{"leaseTime", "a"}));
  std::string many = R"({"queue":"q","options":{)";
  for (int i = 0; i < 200; ++i) many += fmt::format("{}\"o{}\":1", i == 0 ? "" : ",", i);
  EXPECT_EQ(IgnoredNames(many + "}}").size(), kIgnoredNamesMax);

  Send("POST", kPath, R"({"queue":"q","retryLimit":1,"options":{"lease\"Tme":5}})");
  manager_.configure.done(admin::ConfigureResult{.queue_id = QueueId{7},
                                                 .partition_id = PartitionId{9},
                                                 .namespace_name = "",
                                                 .task = "",
                                                 .options = "{}"});
  EXPECT_TRUE(Answer().ends_with(R"("options":{},"ignored":["retryLimit","lease\"Tme"]})"))
      << Answer();
}

TEST_F(ConfigureTest, AFailure) {
  Send("POST", kPath, R"({"queue":"q"})");
  manager_.configure.done(Status(Code::kDatabaseUnavailable));
  EXPECT_EQ(response().status, 503);
}

}  // namespace
}  // namespace queen::api
