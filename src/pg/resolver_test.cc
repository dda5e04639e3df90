#include "pg/resolver.h"

#include <gtest/gtest.h>

namespace queen::pg {
namespace {

std::vector<Candidate> Hosts(const Keywords& keywords) {
  auto hosts = CandidatesOf(keywords);
  EXPECT_TRUE(hosts.ok()) << hosts.status().ToString();
  return hosts.ok() ? *hosts : std::vector<Candidate>();
}

// What a Resolver answers, on a loop that runs until it has.
Result<std::vector<Candidate>> Resolve(std::vector<Candidate> hosts) {
  Loop loop("test");
  std::optional<Result<std::vector<Candidate>>> answer;
  std::unique_ptr<Resolver> resolver;
  loop.Post([&] {
    resolver = std::make_unique<Resolver>(loop, std::move(hosts), [&](auto result) {
      answer = std::move(result);
      resolver.reset();
      loop.Stop();
    });
    EXPECT_FALSE(answer.has_value());
  });
  loop.Run();
  return *std::move(answer);
}

TEST(Resolver, ListsOfHostsAndPorts) {
  using List = std::vector<Candidate>;
  EXPECT_EQ(Hosts({{"host", "a,b"}, {"port", "1,2"}}), (List{{"a", "", "1"}, {"b", "", "2"}}));
  EXPECT_EQ(Hosts({{"host", "a,b"}, {"port", "7"}}), (List{{"a", "", "7"}, {"b", "", "7"}}));
  EXPECT_EQ(Hosts({{"host", "a"}, {"hostaddr", "10.0.0.1"}, {"port", "1"}}),
            (List{{"a", "10.0.0.1", "1"}}));
  EXPECT_EQ(Hosts({{"hostaddr", "10.0.0.1"}, {"port", "1"}}),
            (List{{"10.0.0.1", "10.0.0.1", "1"}}));
  EXPECT_TRUE(Hosts({{"service", "shop"}, {"host", "a"}}).empty());
  EXPECT_FALSE(CandidatesOf({{"host", "a,b"}, {"port", "1,2,3"}}).ok());
  EXPECT_FALSE(CandidatesOf({{"host", "a,b"}, {"hostaddr", "10.0.0.1"}}).ok());
}

TEST(Resolver, CandidatesBecomeKeywords) {
  const Keywords keywords = WithCandidates({{"host", "old"}, {"user", "u"}, {"port", "9"}},
                                           {{"a", "1.1.1.1", "1"}, {"/tmp", "", "2"}});
  EXPECT_EQ(Find(keywords, "host"), "a,/tmp");
  EXPECT_EQ(Find(keywords, "hostaddr"), "1.1.1.1,");
  EXPECT_EQ(Find(keywords, "port"), "1,2");
  EXPECT_EQ(Find(keywords, "user"), "u");
}

TEST(Resolver, NumbersAndSocketsNeedNoQuestion) {
  auto answer = Resolve({{"/tmp", "", "1"}, {"127.0.0.1", "", "2"}, {"::1", "", "3"}});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(*answer, (std::vector<Candidate>{
                         {"/tmp", "", "1"}, {"127.0.0.1", "127.0.0.1", "2"}, {"::1", "::1", "3"}}));
}

TEST(Resolver, LocalhostHasAnAddress) {
  auto answer = Resolve({{"localhost", "", "1"}});
  ASSERT_TRUE(answer.ok());
  for (const Candidate& candidate : *answer) {
    EXPECT_EQ(candidate.host, "localhost");
    EXPECT_TRUE(candidate.hostaddr == "127.0.0.1" || candidate.hostaddr == "::1");
  }
}

TEST(Resolver, UnknownNamesAreLeftOutOrNamed) {
  auto some = Resolve({{"no-such-host.invalid", "", "1"}, {"127.0.0.1", "", "2"}});
  ASSERT_TRUE(some.ok());
  EXPECT_EQ(some->size(), 1U);
  auto none = Resolve({{"no-such-host.invalid", "", "1"}});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), Code::kDatabaseUnavailable);
  EXPECT_NE(none.status().message().find("no-such-host.invalid"), std::string::npos);
}

TEST(Resolver, DestroyedEarlyItForgets) {
  Loop loop("test");
  loop.Post([&] {
    Resolver resolver(loop, {{"localhost", "", "1"}}, [](auto) { FAIL(); });
    loop.Stop();
  });
  loop.Run();
}

}  // namespace
}  // namespace queen::pg
