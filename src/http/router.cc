#include "http/router.h"

#include <algorithm>
#include <cassert>

#include "base/utf8.h"
#include "http/percent.h"

namespace queen::http {
namespace {

// No route is that deep.
constexpr size_t kSegmentsMax = 32;

constexpr std::string_view kAllowedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
constexpr std::string_view kAllowedHeaders =
    "Authorization, Content-Type, Accept, X-Requested-With";
constexpr std::string_view kPreflightSeconds = "86400";

bool NeedsDecoding(std::string_view path) {
  return std::any_of(path.begin(), path.end(),
                     [](char c) { return c == '%' || static_cast<unsigned char>(c) >= 0x80; });
}

Response PreflightResponse() {
  Response response = Response::Empty(204);
  response.AddHeader("Access-Control-Allow-Methods", kAllowedMethods);
  response.AddHeader("Access-Control-Allow-Headers", kAllowedHeaders);
  response.AddHeader("Access-Control-Max-Age", kPreflightSeconds);
  response.AddHeader("Allow", kAllowedMethods);
  return response;
}

}  // namespace

struct Router::Route {
  RouteInfo info;
  std::vector<std::string> parameters;  // ":name" or "*name", as the pattern has them
  Handler handler;
};

struct Router::Node {
  std::vector<std::pair<std::string, std::unique_ptr<Node>>> words;
  std::unique_ptr<Node> parameter;
  std::array<const Route*, kMethodCount> routes{};  // the path ends here
  std::array<const Route*, kMethodCount> rest{};    // "*name" from here on
};

// A path in decoded segments. They are views of the raw path, or of `decoded` where the path needs
// decoding.
struct Router::Path {
  std::array<std::string_view, kSegmentsMax> segments;
  size_t count = 0;
  std::string decoded;

  // False when the path is not well-formed.
  bool Split(std::string_view raw) {
    raw.remove_prefix(1);
    const bool decode = NeedsDecoding(raw);
    // Never grows beyond this, so the views stay valid.
    if (decode) decoded.reserve(raw.size());
    bool more = !raw.empty();
    while (more) {
      const size_t slash = raw.find('/');
      std::string_view segment = raw.substr(0, slash);
      more = slash != raw.npos;
      if (more) raw.remove_prefix(slash + 1);
      if (decode) {
        const size_t begin = decoded.size();
        if (!AppendPercentDecoded(segment, Plus::kIsPlus, decoded)) return false;
        segment = std::string_view(decoded).substr(begin);
        if (segment.find('\0') != segment.npos || !IsValidUtf8(segment)) return false;
      }
      if (count < kSegmentsMax) segments[count] = segment;
      ++count;
    }
    return true;
  }

  // The segments from `first` on, as a path.
  std::string Rest(size_t first) const {
    std::string rest(segments[first]);
    for (size_t i = first + 1; i < count; ++i) rest.append("/").append(segments[i]);
    return rest;
  }
};

struct Router::Search {
  Method method;
  Path path;
  // Where the parameters of the route being tried stand.
  std::array<size_t, kSegmentsMax> parameter_at;
  size_t parameter_count = 0;
  bool ends_in_rest = false;
  std::array<bool, kMethodCount> allowed{};
  bool any_allowed = false;
};

Router::Router() : root_(std::make_unique<Node>()) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;

void Router::Add(Method method, std::string_view pattern, std::optional<auth::Access> access,
                 Handler handler) {
  assert(pattern.starts_with('/'));
  auto route = std::make_unique<Route>();
  route->info = {method, std::string(pattern), routes_.size(), access};
  route->handler = std::move(handler);
  Node* node = root_.get();
  bool rest = false;
  pattern.remove_prefix(1);
  while (!pattern.empty()) {
    assert(!rest && "nothing may follow *name");
    const std::string_view segment = pattern.substr(0, pattern.find('/'));
    pattern.remove_prefix(std::min(pattern.size(), segment.size() + 1));
    assert(!segment.empty());
    if (segment.front() == '*') {
      route->parameters.emplace_back(segment);
      rest = true;
    } else if (segment.front() == ':') {
      route->parameters.emplace_back(segment);
      if (node->parameter == nullptr) node->parameter = std::make_unique<Node>();
      node = node->parameter.get();
    } else {
      const auto found = std::find_if(node->words.begin(), node->words.end(),
                                      [&](const auto& word) { return word.first == segment; });
      node = found != node->words.end()
                 ? found->second.get()
                 : node->words.emplace_back(segment, std::make_unique<Node>()).second.get();
    }
  }
  assert(node != nullptr);
  const Route*& place = (rest ? node->rest : node->routes)[static_cast<size_t>(method)];
  assert(place == nullptr && "the route exists already");
  place = route.get();
  routes_.push_back(std::move(route));
}

const RouteInfo& Router::route(size_t number) const { return routes_[number]->info; }

const Router::Route* Router::Choose(const std::array<const Route*, kMethodCount>& routes,
                                    Search& search) {
  const Route* route = routes[static_cast<size_t>(search.method)];
  if (route == nullptr && search.method == Method::kHead) {
    route = routes[static_cast<size_t>(Method::kGet)];
  }
  if (route != nullptr) return route;
  for (size_t i = 0; i < kMethodCount; ++i) {
    if (routes[i] == nullptr) continue;
    search.allowed[i] = true;
    search.any_allowed = true;
  }
  return nullptr;
}

const Router::Route* Router::Find(const Node& node, size_t depth, Search& search) const {
  if (depth == search.path.count) return Choose(node.routes, search);
  if (depth >= kSegmentsMax) return nullptr;
  const std::string_view segment = search.path.segments[depth];
  for (const auto& [word, child] : node.words) {
    if (word != segment) continue;
    if (const Route* route = Find(*child, depth + 1, search)) return route;
    break;
  }
  const size_t parameters_before = search.parameter_count;
  if (node.parameter != nullptr && !segment.empty()) {
    search.parameter_at[search.parameter_count++] = depth;
    if (const Route* route = Find(*node.parameter, depth + 1, search)) return route;
    search.parameter_count = parameters_before;
  }
  if (segment.empty()) return nullptr;
  if (const Route* route = Choose(node.rest, search)) {
    search.parameter_at[search.parameter_count++] = depth;
    search.ends_in_rest = true;
    return route;
  }
  return nullptr;
}

void Router::Refuse(const Request& request, Reply reply, const Status& status) const {
  if (refuser_) return refuser_(request, std::move(reply), status);
  reply.SendError(status);
}

const RouteInfo* Router::RouteOf(const Request& request) const {
  Search search;
  search.method = request.method();
  if (request.raw_path().empty() || !search.path.Split(request.raw_path())) return nullptr;
  if (search.path.count > kSegmentsMax) return nullptr;
  const Route* route = Find(*root_, 0, search);
  return route == nullptr ? nullptr : &route->info;
}

void Router::Dispatch(Request request, Reply reply) const {
  if (request.method() == Method::kOptions) return reply.Send(PreflightResponse());
  Search search;
  search.method = request.method();
  if (request.raw_path().empty() || !search.path.Split(request.raw_path())) {
    return Refuse(request, std::move(reply),
                  Status(Code::kInvalidRequest, "The path is not valid percent-encoded UTF-8"));
  }
  const bool searchable = search.path.count <= kSegmentsMax;
  const Route* route = searchable ? Find(*root_, 0, search) : nullptr;
  if (route == nullptr && !search.any_allowed) {
    return Refuse(request, std::move(reply), Status(Code::kRouteNotFound));
  }
  if (route == nullptr) {
    std::string allow = "OPTIONS";
    std::string takes;
    if (search.allowed[static_cast<size_t>(Method::kGet)]) allow += ", HEAD";
    for (size_t i = 0; i < kMethodCount; ++i) {
      if (!search.allowed[i]) continue;
      allow.append(", ").append(MethodName(static_cast<Method>(i)));
      takes.append(takes.empty() ? "" : " or ").append(MethodName(static_cast<Method>(i)));
    }
    Response response = ErrorResponse(
        Status(Code::kMethodNotAllowed, "Method not allowed; this path takes " + takes));
    response.AddHeader("Allow", allow);
    return reply.Send(std::move(response));
  }
  reply.SetRoute(route->info);
  request.SetAccess(route->info.access ? &*route->info.access : nullptr);
  if (const Status status = request.DecodeQuery(); !status.ok()) {
    return Refuse(request, std::move(reply), status);
  }
  for (size_t i = 0; i < search.parameter_count; ++i) {
    const size_t at = search.parameter_at[i];
    const bool rest = search.ends_in_rest && i + 1 == search.parameter_count;
    const std::string_view name = route->parameters[i];
    const std::optional<std::string_view> said = request.query().Get(name);
    std::string value(said && !rest ? *said : search.path.segments[at]);
    request.AddParam(name.substr(1), rest ? search.path.Rest(at) : std::move(value));
  }
  if (guard_) {
    const Status status = guard_(request, route->info);
    if (!status.ok()) return Refuse(request, std::move(reply), status);
  }
  route->handler(std::move(request), std::move(reply));
}

}  // namespace queen::http
