#include "auth/identity.h"

#include <algorithm>

#include "auth/queue_pattern.h"

namespace queen::auth {
namespace {

bool AnyMatches(const std::vector<std::string>& patterns, std::string_view queue) {
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return MatchesPattern(pattern, queue); });
}

bool AnyIsAll(const std::vector<std::string>& patterns) {
  return std::ranges::find(patterns, "*") != patterns.end();
}

}  // namespace

bool QueueLimits::Allow(Verb verb, std::string_view queue) const {
  if (!limited) return true;
  switch (verb) {
    case Verb::kPush:
      return AnyMatches(push, queue);
    case Verb::kPop:
      return AnyMatches(pop, queue);
    case Verb::kAdmin:
      return AnyMatches(admin, queue);
    case Verb::kSee:
      return AnyMatches(push, queue) || AnyMatches(pop, queue) || AnyMatches(admin, queue);
  }
  return false;
}

bool QueueLimits::AllowAll(Verb verb) const {
  if (!limited) return true;
  switch (verb) {
    case Verb::kPush:
      return AnyIsAll(push);
    case Verb::kPop:
      return AnyIsAll(pop);
    case Verb::kAdmin:
      return AnyIsAll(admin);
    case Verb::kSee:
      return AnyIsAll(push) || AnyIsAll(pop) || AnyIsAll(admin);
  }
  return false;
}

const Identity& Nobody() {
  static const Identity nobody{.source = Identity::Source::kNone,
                               .role = Role::kAdmin,
                               .subject = {},
                               .token_id = {},
                               .queues = {}};
  return nobody;
}

std::string_view SourceName(Identity::Source source) {
  switch (source) {
    case Identity::Source::kNone:
      return "none";
    case Identity::Source::kJwt:
      return "jwt";
    case Identity::Source::kToken:
      return "token";
    case Identity::Source::kTokenFile:
      return "token-file";
    case Identity::Source::kCertificate:
      return "certificate";
  }
  return "";
}

}  // namespace queen::auth
