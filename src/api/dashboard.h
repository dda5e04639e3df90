// The dashboard: GET / and GET /assets/*, pages that the build makes of dashboard/ and puts into
// the binary, each as it is and gzipped. They speak to this broker's public API and to nobody else;
// the Content-Security-Policy holds them to that.
//
// A file whose name has its hash never changes and is kept by browsers for ever; the others are
// asked for again and answered 304 while they are the same.
#pragma once

#include <span>
#include <string_view>

#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

struct DashboardAsset {
  std::string_view path;
  std::string_view content_type;
  std::string_view etag;  // in its quotes
  bool hashed;            // the name has the hash of the content
  std::string_view plain;
  std::string_view gzip;
};

// dashboard/build.mjs writes the definition.
std::span<const DashboardAsset> DashboardAssets();

void HandleDashboard(const http::Request& request, http::Reply reply);

// Whether the value of Accept-Encoding lets gzip through.
bool AcceptsGzip(std::string_view accept_encoding);

}  // namespace queen::api
