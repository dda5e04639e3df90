// From the configuration to the embedded cluster's options.
#pragma once

#include "config/config.h"
#include "embedded/embedded_postgres.h"

namespace queen::server {

inline embedded::Options EmbeddedOptionsOf(const config::Config& config) {
  embedded::Options options;
  options.data_dir = config.embedded.data_dir;
  options.bin_dir = config.embedded.bin_dir;
  options.user = config.embedded.os_user;
  return options;
}

}  // namespace queen::server
