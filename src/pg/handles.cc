#include "pg/handles.h"

#include <libpq-fe.h>

namespace queen::pg {

void FinishConnection::operator()(pg_conn* connection) const { PQfinish(connection); }

void ClearResult::operator()(pg_result* result) const { PQclear(result); }

}  // namespace queen::pg
