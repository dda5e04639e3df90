// Which handler serves a path. Patterns are segments: a word matches itself, ":name" any one
// segment that is not empty, and a last "*name" one or more segments that remain. Words win over
// parameters, but a path whose word has no such method falls back to the parameter.
//
// The raw path is split at '/' first and each segment decoded after, so an encoded slash stays
// inside its segment. A parameter of the query that is called ":name" stands for that segment,
// whatever the path has there: browsers cannot send a path with a segment "." or "..", encoded or
// not, nobody can send an empty one, and a word of a route hides a name that is the same. A path
// that is not well-formed UTF-8 after decoding, or contains NUL, is a 400; no route a 404; a route
// with other methods a 405 with Allow. HEAD is served by GET's handler (the connection leaves the
// body out) and OPTIONS by the router itself, for any path.
//
// Build it before the first request; then it is only read, and may be shared between threads if the
// handlers may.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/reply.h"
#include "http/request.h"
#include "http/route.h"

namespace queen::http {

// Called on the loop's thread. The reply may be sent at once or kept for later.
using Handler = std::function<void(Request, Reply)>;

class Router {
 public:
  Router();
  ~Router();
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;

  // REQUIRES: `pattern` starts with '/', and this method has no handler for it yet.
  void Add(Method method, std::string_view pattern, Handler handler) {
    Add(method, pattern, std::nullopt, std::move(handler));
  }
  void Add(Method method, std::string_view pattern, std::optional<auth::Access> access,
           Handler handler);

  // Asked before the handler of a route, once the path and the query are decoded: says who sent the
  // request (Request::SetIdentity), and whether they may. Not ok: the request is refused.
  using Guard = std::function<Status(Request& request, const RouteInfo& route)>;
  void SetGuard(Guard guard) { guard_ = std::move(guard); }

  // How a request is refused that no handler gets to see; else with the error at once.
  using Refuser = std::function<void(const Request& request, Reply reply, const Status& status)>;
  void OnRefusal(Refuser refuser) { refuser_ = std::move(refuser); }

  // The route of a request, as Dispatch finds it; null: it has none.
  const RouteInfo* RouteOf(const Request& request) const;

  // Answers the request, itself or through its handler.
  void Dispatch(Request request, Reply reply) const;

  size_t size() const { return routes_.size(); }
  // REQUIRES: number < size()
  const RouteInfo& route(size_t number) const;

 private:
  struct Route;
  struct Node;
  struct Path;
  struct Search;

  // The route for search.method at or below `node`, whose depth is `depth` segments.
  const Route* Find(const Node& node, size_t depth, Search& search) const;
  void Refuse(const Request& request, Reply reply, const Status& status) const;
  static const Route* Choose(const std::array<const Route*, kMethodCount>& routes, Search& search);

  std::unique_ptr<Node> root_;
  std::vector<std::unique_ptr<Route>> routes_;
  Refuser refuser_;
  Guard guard_;  // null: anybody may
};

}  // namespace queen::http
