// Which route a request took, as the router knows it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "auth/access.h"
#include "http/method.h"

namespace queen::http {

struct RouteInfo {
  Method method = Method::kOther;
  std::string pattern;
  size_t number = 0;  // in the order of Router::Add, from 0
  // What it asks of its callers; nullopt: nobody said, and a guard lets only admins through.
  std::optional<auth::Access> access = {};
};

}  // namespace queen::http
