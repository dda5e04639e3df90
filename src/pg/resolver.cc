#include "pg/resolver.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <netdb.h>

namespace queen::pg {
namespace {

std::vector<std::string> Split(std::string_view list) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (true) {
    const size_t comma = list.find(',', begin);
    parts.emplace_back(list.substr(begin, comma - begin));
    if (comma == std::string_view::npos) return parts;
    begin = comma + 1;
  }
}

bool IsNumeric(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

bool NeedsResolving(const Candidate& candidate) {
  return candidate.hostaddr.empty() && !candidate.host.empty() && candidate.host[0] != '/' &&
         candidate.host[0] != '@';
}

// Fills in host, hostaddr and port from the environment and the service file it may name.
Keywords WithDefaults(const Keywords& keywords) {
  Keywords all = keywords;
  PQconninfoOption* defaults = PQconndefaults();
  if (defaults == nullptr) return all;
  for (const PQconninfoOption* option = defaults; option->keyword != nullptr; ++option) {
    const std::string_view name = option->keyword;
    if (name != "host" && name != "hostaddr" && name != "port") continue;
    // A host that is given makes the environment's address meaningless.
    const bool has_address = !Find(keywords, "host").empty() || !Find(keywords, "hostaddr").empty();
    if (name != "port" && has_address) continue;
    if (option->val != nullptr && Find(keywords, name).empty()) all.emplace_back(name, option->val);
  }
  PQconninfoFree(defaults);
  return all;
}

// Numeric, with the scope of a link-local address.
std::string AddressText(const addrinfo& info) {
  char text[NI_MAXHOST] = "";
  if (getnameinfo(info.ai_addr, info.ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) !=
      0) {
    return {};
  }
  return text;
}

}  // namespace

Result<std::vector<Candidate>> CandidatesOf(const Keywords& keywords) {
  std::vector<Candidate> candidates;
  if (!Find(keywords, "service").empty()) return candidates;
  const Keywords all = WithDefaults(keywords);
  const std::string_view hosts = Find(all, "host");
  const std::string_view addresses = Find(all, "hostaddr");
  if (hosts.empty() && addresses.empty()) return candidates;
  const auto host = Split(hosts.empty() ? addresses : hosts);
  const auto hostaddr = Split(addresses);
  const auto port = Split(Find(all, "port"));
  if (!addresses.empty() && hostaddr.size() != host.size()) {
    return Status(Code::kInvalidRequest, "host and hostaddr list different numbers of hosts");
  }
  if (port.size() != 1 && port.size() != host.size()) {
    return Status(Code::kInvalidRequest, "host and port list different numbers of entries");
  }
  for (size_t i = 0; i < host.size(); ++i) {
    candidates.push_back({.host = host[i],
                          .hostaddr = addresses.empty() ? "" : hostaddr[i],
                          .port = port.size() == 1 ? port[0] : port[i]});
  }
  return candidates;
}

Keywords WithCandidates(Keywords keywords, const std::vector<Candidate>& candidates) {
  if (candidates.empty()) return keywords;
  std::erase_if(keywords, [](const auto& keyword) {
    return keyword.first == "host" || keyword.first == "hostaddr" || keyword.first == "port";
  });
  std::string hosts;
  std::string addresses;
  std::string ports;
  for (const Candidate& candidate : candidates) {
    const std::string_view comma = &candidate == candidates.data() ? "" : ",";
    hosts.append(comma).append(candidate.host);
    addresses.append(comma).append(candidate.hostaddr);
    ports.append(comma).append(candidate.port);
  }
  keywords.emplace_back("host", std::move(hosts));
  keywords.emplace_back("hostaddr", std::move(addresses));
  keywords.emplace_back("port", std::move(ports));
  return keywords;
}

// Shared with the questions in flight, so that it outlives a Resolver that is destroyed early.
struct Resolver::State : std::enable_shared_from_this<State> {
  struct Question {
    uv_getaddrinfo_t request{};
    std::shared_ptr<State> state;
    size_t host = 0;
  };

  Loop* loop = nullptr;
  std::vector<Candidate> hosts;
  std::vector<std::vector<Candidate>> answers;  // per host
  std::string error;
  size_t waiting = 0;
  Done done;  // empty once forgotten or called

  void Start() {
    waiting = 1;  // held until every question is asked
    answers.resize(hosts.size());
    for (size_t i = 0; i < hosts.size(); ++i) {
      const Candidate& host = hosts[i];
      if (!NeedsResolving(host)) {
        answers[i] = {host};
      } else if (IsNumeric(host.host)) {
        answers[i] = {{.host = host.host, .hostaddr = host.host, .port = host.port}};
      } else {
        Ask(i);
      }
    }
    // Even without a question the answer comes later, never inside the constructor.
    loop->Post([self = shared_from_this()] { self->Answered(); });
  }

  void Ask(size_t i) {
    auto* question = new Question{.state = shared_from_this(), .host = i};
    question->request.data = question;
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    const int asked = uv_getaddrinfo(
        loop->uv(), &question->request,
        [](uv_getaddrinfo_t* request, int status, addrinfo* list) {
          const std::unique_ptr<Question> owned(static_cast<Question*>(request->data));
          owned->state->OnAddresses(owned->host, status, list);
          uv_freeaddrinfo(list);
        },
        hosts[i].host.c_str(), nullptr, &hints);
    if (asked != 0) {
      delete question;
      Failed(i, asked);
      return;
    }
    ++waiting;
  }

  void OnAddresses(size_t i, int status, const addrinfo* list) {
    if (status != 0) Failed(i, status);
    for (; status == 0 && list != nullptr; list = list->ai_next) {
      const std::string address = AddressText(*list);
      if (address.empty()) continue;
      answers[i].push_back({.host = hosts[i].host, .hostaddr = address, .port = hosts[i].port});
    }
    Answered();
  }

  void Failed(size_t i, int status) {
    error =
        fmt::format("the host name {} cannot be resolved: {}", hosts[i].host, uv_strerror(status));
  }

  void Answered() {
    if (--waiting > 0 || !done) return;
    std::vector<Candidate> candidates;
    for (auto& answer : answers) {
      for (Candidate& candidate : answer) candidates.push_back(std::move(candidate));
    }
    Done call = std::exchange(done, nullptr);
    if (candidates.empty()) {
      call(Status(Code::kDatabaseUnavailable, error));
    } else {
      call(std::move(candidates));
    }
  }
};

Resolver::Resolver(Loop& loop, std::vector<Candidate> hosts, Done done)
    : state_(std::make_shared<State>()) {
  loop.AssertOwner();
  state_->loop = &loop;
  state_->hosts = std::move(hosts);
  state_->done = std::move(done);
  state_->Start();
}

Resolver::~Resolver() { state_->done = nullptr; }

}  // namespace queen::pg
