// What may be a name: queues, partitions, consumer groups, namespaces, tasks, and the ids that
// producers give to their messages. Every text that reaches SQL as a name passes here, so NUL,
// control characters and broken UTF-8 end at the edge. Messages begin with the field's name as the
// client wrote it, because that is what its author looks for.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/json_string.h"
#include "base/status.h"

namespace queen::api {

inline constexpr size_t kNameBytesMax = 255;
inline constexpr size_t kTransactionIdCharactersMax = 255;
// An entry of the index on stream state must fit a third of a page of PostgreSQL, 2,704 bytes.
inline constexpr size_t kStateKeyBytesMax = 2'048;

// Ok, or a kInvalidRequest such as "queue must not contain control characters". An empty name is
// ok; whether there must be one is the caller's question.
Status CheckName(std::string_view field, std::string_view name);
// The same for a string of a JSON body, which may also say half of a surrogate pair.
Status CheckName(std::string_view field, const JsonText& name);

// A transactionId counts characters, not bytes.
Status CheckTransactionId(const JsonText& id);

// A key of stream state, or the beginning of one, is no name: SDKs build it of several parts with
// control characters between them. It may hold any character but NUL.
Status CheckStateKey(std::string_view field, const JsonText& key);

}  // namespace queen::api
