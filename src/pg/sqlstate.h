// From what PostgreSQL says (a SQLSTATE of five characters) to what we mean (a Code). One table in
// sqlstate.cc; codes of class QN are raised by our own procedures and are listed in
// base/error_codes.h. Nobody parses message text.
#pragma once

#include <string_view>

#include "base/status.h"

namespace queen::pg {

// Never kOk, whatever `sqlstate` is; what no rule covers is kDatabaseRefused. An empty one, which
// libpq gives to errors it made up itself, means that the connection broke.
Code CodeOf(std::string_view sqlstate);

// Whether a failed attempt to connect will fail again until a person changes something (password,
// database, permission, settings). Only a hint for people: we retry all the same.
bool NeedsAPerson(std::string_view sqlstate);

// Such a failure for the person: what is wrong, and where to look.
struct Refusal {
  std::string_view problem;
  std::string_view check;
};
Refusal RefusalOf(std::string_view sqlstate);

}  // namespace queen::pg
