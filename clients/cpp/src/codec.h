// The JSON of the HTTP contract: requests written, replies read. Replies are read leniently (fields
// that are missing are empty), because brokers of other versions answer as well.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "queen/client.h"

namespace queen::client {

// Why this message cannot be sent, or "".
std::string ProblemOf(const NewMessage& message);

// One item of a push.
void AppendItem(std::string& out, const NewMessage& message);
std::string EncodePush(const std::vector<NewMessage>& messages);
std::string EncodeAcks(const std::vector<Acknowledgment>& acks);
std::string EncodeTransaction(const Transaction& transaction);

// nullopt if the text is no reply of that kind with `count` entries.
std::optional<std::vector<PushOutcome>> DecodePush(std::string_view body, size_t count);
std::optional<std::vector<AckOutcome>> DecodeAcks(std::string_view body, size_t count);
std::optional<std::vector<Message>> DecodePop(std::string_view body);

struct TransactionReply {
  bool success = false;
  std::string error;
  std::vector<PushOutcome> pushes;
};
std::optional<TransactionReply> DecodeTransaction(std::string_view body);

// The text of a string field of an object, "" if it is not there.
std::string TextField(std::string_view object, std::string_view key);

}  // namespace queen::client
