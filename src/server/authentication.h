// Authentication of the broker, as the settings say: what is made of them for auth/, and whether
// the broker may start with them at all.
#pragma once

#include <memory>

#include "auth/authority.h"
#include "base/status.h"
#include "config/config.h"

namespace queen::server {

// Not ok: the broker would be open to everybody who reaches it over a network, and nobody said that
// this is meant. The message names the ways out.
Status CheckNobodyIsLetInUnasked(const config::Config& config);

// Whether it is open to a network all the same, because QUEEN_ALLOW_ANONYMOUS says so.
bool IsOpenToTheNetwork(const config::Config& config);

// Null: authentication is off. An error when a key or the file of tokens cannot be used.
Result<std::unique_ptr<auth::Authority>> MakeAuthority(const config::Config& config);

}  // namespace queen::server
