// The type OIDs we send and read. They are fixed in every PostgreSQL (catalog/pg_type.dat) and
// spelled here so that libpq and server headers stay out of our public ones.
#pragma once

#include <cstdint>

namespace queen::pg {

using Oid = uint32_t;

namespace oid {
inline constexpr Oid kBool = 16;
inline constexpr Oid kBytea = 17;
inline constexpr Oid kName = 19;
inline constexpr Oid kInt8 = 20;
inline constexpr Oid kInt2 = 21;
inline constexpr Oid kInt4 = 23;
inline constexpr Oid kText = 25;
inline constexpr Oid kOid = 26;
inline constexpr Oid kJson = 114;
inline constexpr Oid kFloat8 = 701;
inline constexpr Oid kBoolArray = 1000;
inline constexpr Oid kByteaArray = 1001;
inline constexpr Oid kInt4Array = 1007;
inline constexpr Oid kTextArray = 1009;
inline constexpr Oid kInt8Array = 1016;
inline constexpr Oid kFloat8Array = 1022;
inline constexpr Oid kVarchar = 1043;
inline constexpr Oid kTimestampTz = 1184;
inline constexpr Oid kTimestampTzArray = 1185;
inline constexpr Oid kVoid = 2278;
inline constexpr Oid kUuid = 2950;
inline constexpr Oid kUuidArray = 2951;
inline constexpr Oid kJsonb = 3802;
inline constexpr Oid kXid8 = 5069;
inline constexpr Oid kJsonArray = 199;
}  // namespace oid

}  // namespace queen::pg
