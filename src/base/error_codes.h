// The one list of error codes. Each row: enumerator, stable name in JSON ("code"), SQLSTATE that
// our procedures raise for it ("" when SQL never does), HTTP status, whether the caller may retry
// the same request, and the text used when nobody says anything more precise.
//
// Rows with status 200 are refusals inside an answer (success:false), never a reply's status.
// SQLSTATE class QN is ours; standard classes are mapped in pg/ (MapSqlState), not here.
#pragma once

#define QUEEN_ERROR_CODES(X)                                                                     \
  X(kOk, "ok", "00000", 200, false, "")                                                          \
  X(kInvalidRequest, "invalid_request", "QN400", 400, false, "Bad request")                      \
  X(kUnauthenticated, "unauthenticated", "", 401, false, "Authentication required")              \
  X(kForbidden, "forbidden", "QN403", 403, false, "Insufficient permissions")                    \
  X(kNotFound, "not_found", "QN404", 404, false, "Not found")                                    \
  X(kRouteNotFound, "route_not_found", "", 404, false, "No such route")                          \
  X(kMethodNotAllowed, "method_not_allowed", "", 405, false, "Method not allowed")               \
  X(kRequestTimeout, "request_timeout", "", 408, true, "The request took too long to arrive")    \
  X(kConflict, "conflict", "QN409", 409, false, "Conflict")                                      \
  X(kPayloadTooLarge, "payload_too_large", "", 413, false, "The body is too large")              \
  X(kUriTooLong, "uri_too_long", "", 414, false, "The request target is too long")               \
  X(kExpectationFailed, "expectation_failed", "", 417, false, "Unsupported expectation")         \
  X(kTooManyRequests, "too_many_requests", "", 429, true, "Too many requests")                   \
  X(kHeadersTooLarge, "headers_too_large", "", 431, false, "The header is too large")            \
  X(kInternal, "internal", "QN500", 500, false, "Internal error")                                \
  X(kNotImplemented, "not_implemented", "", 501, false, "Not implemented")                       \
  X(kOverloaded, "overloaded", "", 503, true, "Too much work is waiting")                        \
  X(kDiskFull, "disk_full", "", 503, true, "The disk of the file buffer is full")                \
  X(kShuttingDown, "shutting_down", "", 503, true, "The broker is shutting down")                \
  X(kDatabaseUnavailable, "database_unavailable", "", 503, true, "PostgreSQL cannot be reached") \
  X(kDatabaseRetry, "database_retry", "", 503, true, "PostgreSQL asked to try again")            \
  X(kStatementTimeout, "statement_timeout", "", 503, true, "PostgreSQL took too long")           \
  X(kOutcomeUnknown, "outcome_unknown", "", 503, true, "The outcome is unknown")                 \
  X(kDatabaseRefused, "database_refused", "", 500, false, "PostgreSQL refused the statement")    \
  X(kHttpVersion, "http_version_not_supported", "", 505, false, "Unsupported HTTP version")      \
  X(kWrongIsolation, "wrong_isolation", "QN010", 500, false,                                     \
    "Pushing needs the isolation level read committed")                                          \
  X(kLineCountMismatch, "line_count_mismatch", "QN011", 500, false,                              \
    "The number of lines differs from the number of messages")                                   \
  X(kMessageNotFound, "message_not_found", "QN101", 200, false, "Message not found")             \
  X(kInvalidLease, "invalid_lease", "QN102", 200, false, "Invalid or expired lease")             \
  X(kMessageSettled, "message_settled", "QN103", 200, false, "Message already settled")          \
  X(kDuplicateTransactionId, "duplicate_transaction_id", "QN104", 200, false,                    \
    "Duplicate transactionId")                                                                   \
  X(kQueueFull, "queue_full", "", 200, false, "Queue is full")                                   \
  X(kEncryptionChanged, "encryption_changed", "QN012", 503, true,                                \
    "The queue's encryption was switched on or off meanwhile")                                   \
  X(kNoEncryptionKey, "no_encryption_key", "", 200, false,                                       \
    "The queue is encrypted, and this broker has no key")                                        \
  X(kUndecryptable, "undecryptable", "", 200, false, "The payload cannot be decrypted")          \
  X(kStreamQueryNotFound, "stream_query_not_found", "QN105", 404, false, "No such query")        \
  X(kSchemaTooNew, "schema_too_new", "QN020", 500, false,                                        \
    "The database schema is newer than this broker understands")
