// The request methods the router tells apart.
#pragma once

#include <cstddef>
#include <string_view>

namespace queen::http {

// kOther is any method without a route of ours (TRACE, CONNECT, PROPFIND, ...).
enum class Method { kGet, kHead, kPost, kPut, kPatch, kDelete, kOptions, kOther };

inline constexpr size_t kMethodCount = static_cast<size_t>(Method::kOther) + 1;

constexpr std::string_view MethodName(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kHead:
      return "HEAD";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
    case Method::kOptions:
      return "OPTIONS";
    case Method::kOther:
      break;
  }
  return "OTHER";
}

}  // namespace queen::http
