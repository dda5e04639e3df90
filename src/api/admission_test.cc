// Who is let in: pages of other sites, clients over their limits, and bodies of strangers.

#include "api/admission.h"

#include <gtest/gtest.h>

#include "api/test_api.h"

namespace queen::api {
namespace {

using auth::Identity;
using auth::Role;

constexpr std::string_view kPop = "/api/v1/pop/queue/q";

class AdmissionTest : public ApiTest {
 protected:
  AdmissionTest() {
    context_.host_names = &names_;
    context_.metrics = [](MetricsFormat, MetricsDone) {};
  }

  // 0: it was let in, and is answered later.
  int StatusOf(std::string_view method, std::string_view path, std::string_view headers) {
    Send(method, path, "", headers);
    return response().status;
  }

  http::HostNames names_{{}};
};

// ---- pages of other sites

TEST_F(AdmissionTest, PagesOfOtherSitesThatCarryNoOrigin) {
  EXPECT_EQ(StatusOf("GET", kPop, ""), 0) << "no browser";
  EXPECT_EQ(StatusOf("GET", kPop, "Sec-Fetch-Site: same-origin\r\n"), 0);
  EXPECT_EQ(StatusOf("GET", kPop, "Sec-Fetch-Site: none\r\n"), 0) << "typed by hand";
  for (const char* site : {"cross-site", "same-site", "something new"}) {
    for (const char* mode : {"no-cors", "navigate"}) {
      const std::string headers =
          fmt::format("Sec-Fetch-Site: {}\r\nSec-Fetch-Mode: {}\r\n", site, mode);
      EXPECT_EQ(StatusOf("GET", kPop, headers), 403) << headers;
      EXPECT_EQ(StatusOf("POST", "/api/v1/push", headers), 403) << headers;
      EXPECT_EQ(StatusOf("DELETE", "/api/v1/resources/queues/q", headers), 403) << headers;
    }
  }
  EXPECT_NE(response().body.find("QUEEN_CORS_ORIGINS"), std::string::npos);
}

TEST_F(AdmissionTest, LinksOfOtherSitesToTheDashboardWork) {
  const std::string link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n";
  EXPECT_EQ(StatusOf("GET", "/", link), 200);
  EXPECT_NE(StatusOf("GET", "/assets/app.js", link), 403);
  EXPECT_EQ(StatusOf("GET", "/livez", link), 200);
  EXPECT_EQ(StatusOf("GET", "/", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"), 403);
}

TEST_F(AdmissionTest, PagesOfNamedOrigins) {
  context_.allow_origins = {"https://app.example"};
  const std::string foreign = "Sec-Fetch-Site: cross-site\r\n";
  EXPECT_EQ(StatusOf("GET", kPop, foreign + "Referer: https://app.example/page\r\n"), 0);
  EXPECT_EQ(StatusOf("GET", kPop, foreign + "Referer: https://app.example\r\n"), 0);
  EXPECT_EQ(StatusOf("GET", kPop, foreign + "Referer: https://app.example.evil/\r\n"), 403);
  EXPECT_EQ(StatusOf("GET", kPop, foreign), 403);
  EXPECT_EQ(StatusOf("GET", kPop, foreign + "Origin: https://app.example\r\n"), 0);
  context_.allow_origins = {"*"};
  EXPECT_EQ(StatusOf("GET", kPop, foreign), 0);
}

TEST_F(AdmissionTest, ATokenIsGivenToNoPageAndACertificateToAll) {
  const std::string foreign = "Sec-Fetch-Site: cross-site\r\n";
  SignIn(Identity{.source = Identity::Source::kToken, .role = Role::kReadWrite});
  EXPECT_EQ(StatusOf("GET", kPop, foreign), 0);
  SignIn(Identity{.source = Identity::Source::kCertificate, .role = Role::kReadWrite});
  EXPECT_EQ(StatusOf("GET", kPop, foreign), 403);
  EXPECT_EQ(StatusOf("GET", kPop, "Origin: https://evil.example\r\n"), 403);
  EXPECT_EQ(StatusOf("GET", kPop, ""), 0);
}

// ---- limits of one client

TEST_F(AdmissionTest, NewTokensOfOneSubjectShareItsBucket) {
  http::ClientLimits limits({.requests_per_second = 3});
  context_.client_limits = &limits;
  int let_in = 0;
  for (int i = 0; i < 9; ++i) {
    SignIn(Identity{.source = Identity::Source::kJwt,
                    .role = Role::kReadWrite,
                    .subject = "worker",
                    .token_id = std::to_string(i)});
    let_in += StatusOf("POST", "/api/v1/push", "") == 429 ? 0 : 1;
  }
  EXPECT_LE(let_in, 4);
  SignIn(Identity{.source = Identity::Source::kJwt, .role = Role::kReadWrite, .subject = "other"});
  EXPECT_EQ(StatusOf("POST", "/api/v1/push", ""), 400);
  // Who is called nothing is known by the address, or by a token that lasts.
  SignIn(Identity{.source = Identity::Source::kJwt, .role = Role::kReadWrite, .token_id = "1"});
  StatusOf("POST", "/api/v1/push", "");
  const size_t clients = limits.clients();
  SignIn(Identity{.source = Identity::Source::kJwt, .role = Role::kReadWrite, .token_id = "2"});
  StatusOf("POST", "/api/v1/push", "");
  EXPECT_EQ(limits.clients(), clients);
}

// ---- bodies of strangers

class BodyTest : public AdmissionTest {
 protected:
  BodyTest() {
    context_.authenticate =
        [](std::optional<std::string_view> header) -> Result<auth::IdentityRef> {
      if (header != "good") return Status(Code::kUnauthenticated);
      return auth::IdentityRef(
          std::make_shared<const Identity>(Identity{.role = Role::kReadWrite, .subject = "a"}));
    };
  }

  // 0: the body is read.
  int Refused(std::string_view method, std::string_view path, std::string_view headers) {
    http::Request head = *http::ParseRequest(
        fmt::format("{} {} HTTP/1.1\r\nHost: x\r\n{}\r\n", method, path, headers));
    const std::optional<http::Response> response = RefuseBody(context_, router_, head);
    return response ? response->status : 0;
  }
};

TEST_F(BodyTest, NeedATokenWhateverTheirPathIs) {
  for (const char* path : {"/api/v1/push", "/nowhere", "/health", "/", "/%zz"}) {
    EXPECT_EQ(Refused("POST", path, ""), 401) << path;
    EXPECT_EQ(Refused("GET", path, "Authorization: bad\r\n"), 401) << path;
    EXPECT_EQ(Refused("OPTIONS", path, ""), 401) << path;
    EXPECT_EQ(Refused("POST", path, "Authorization: good\r\n"), 0) << path;
  }
  EXPECT_EQ(Refused("POST", "/api/v1/system/maintenance", "Authorization: good\r\n"), 403);
  context_.authenticate = {};
  EXPECT_EQ(Refused("POST", "/api/v1/push", ""), 0);
  EXPECT_EQ(Refused("POST", "/api/v1/push", "Origin: https://evil.example\r\n"), 403);
}

TEST_F(BodyTest, StrangersPayFromTheirAddressAndOthersOnce) {
  http::ClientLimits limits({.requests_per_second = 1});
  context_.client_limits = &limits;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Refused("POST", "/api/v1/push", "Authorization: good\r\n"), 0);
  }
  EXPECT_EQ(limits.clients(), 0U) << "they pay when all of it is there";
  int refused = 0;
  for (int i = 0; i < 5; ++i) refused += Refused("POST", "/api/v1/push", "") == 429 ? 1 : 0;
  EXPECT_GE(refused, 3);
  EXPECT_EQ(limits.clients(), 1U);
}

}  // namespace
}  // namespace queen::api
