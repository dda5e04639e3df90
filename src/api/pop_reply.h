// The body of a pop's 200: from the segments in memory to JSON in one string. Payloads are the
// bytes that were pushed; nothing of them is parsed. What repeats in every message of a partition
// (names, lease, group) is escaped once, and the string is reserved to its size before the first
// byte.
//
// Encrypted payloads are decrypted here. One that cannot be is delivered as it is stored, with an
// `error` beside it that says why: refusing the pop would stop its partition for ever, and leaving
// the data out would lose it for those who ack without looking.
#pragma once

#include <string>
#include <string_view>

#include "sidecar/requests.h"
#include "storage/payload_cipher.h"

namespace queen::api {

// REQUIRES: result.deliveries is not empty
std::string WritePopReply(std::string_view group, const sidecar::PopResult& result,
                          const storage::PayloadCipher& cipher);

}  // namespace queen::api
