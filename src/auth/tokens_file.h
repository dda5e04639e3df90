// QUEEN_TOKENS_FILE: tokens of one's own, a line each, for a broker without an issuer of tokens:
//
//   # who            what it may        its name          which queues
//   sha256:9f86...   read-write         sub=worker-1      push=orders.*,audit pop=orders.*
//   s3cret-and-long  admin              sub=ops
//
// The token itself, or "sha256:" and its hash in 64 hexadecimal digits; a role; and, in any order,
// sub=, push=, pop= and admin=, the last three with patterns separated by commas. Once one of them
// is given, what is left out is not allowed.
//
// Nobody but the owner may write the file, and others than its owner and group may not read it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "auth/token_table.h"
#include "base/status.h"

namespace queen::auth {

// A token in the file that is written out has at least so many characters.
inline constexpr size_t kPlainTokenBytesMin = 16;

// Errors name the line, never what stands in it.
Result<std::vector<StoredToken>> ParseTokensFile(std::string_view text);

// Checks who may read and write it, and parses it.
Result<std::vector<StoredToken>> ReadTokensFile(const std::string& path);

}  // namespace queen::auth
