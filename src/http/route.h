// Which route a request took, as the router knows it.
#pragma once

#include <cstddef>
#include <string>

#include "http/method.h"

namespace queen::http {

struct RouteInfo {
  Method method = Method::kOther;
  std::string pattern;
  size_t number = 0;  // in the order of Router::Add, from 0
};

}  // namespace queen::http
