#include "bench/push_request.h"

#include <cassert>

#include "base/json_writer.h"

namespace queen::bench {
namespace {

constexpr size_t kPartitionDigits = 7;

void WritePartition(char* out, uint32_t partition) {
  *out = 'p';
  for (size_t i = kPartitionDigits; i > 0; --i, partition /= 10) {
    out[i] = static_cast<char>('0' + partition % 10);
  }
}

}  // namespace

std::string PartitionName(uint32_t partition) {
  assert(partition <= kPartitionMax);
  std::string name(1 + kPartitionDigits, '\0');
  WritePartition(name.data(), partition);
  return name;
}

PushRequest::PushRequest(const Target& target, const Shape& shape) {
  std::string queue;
  AppendJsonString(queue, shape.queue);
  std::string body = R"({"items":[)";
  for (int64_t i = 0; i < shape.batch; ++i) {
    Item item;
    body.append(i == 0 ? "" : ",").append(R"({"queue":)").append(queue).append(R"(,"partition":")");
    item.partition = body.size();
    body.append(PartitionName(0)).append(R"(")");
    if (shape.transaction_ids) {
      body += R"(,"transactionId":")";
      item.transaction_id = body.size();
      body.append(kTransactionIdBytes, '0').append(R"(")");
    }
    body += R"(,"payload":)";
    item.stamp = body.size() + kStampOffset;
    body.append(MakePayload(static_cast<size_t>(shape.payload_bytes))).append("}");
    items_.push_back(item);
  }
  body += "]}";

  bytes_ = target.PostHead("/api/v1/push", body.size());
  const size_t head = bytes_.size();
  bytes_ += body;
  for (Item& item : items_) {
    item.partition += head;
    if (shape.transaction_ids) item.transaction_id += head;
    item.stamp += head;
  }
}

void PushRequest::Set(size_t index, const Stamp& stamp, std::string_view transaction_id) {
  const Item& item = items_[index];
  WritePartition(bytes_.data() + item.partition, stamp.partition);
  if (item.transaction_id != 0) {
    transaction_id.copy(bytes_.data() + item.transaction_id, kTransactionIdBytes);
  }
  WriteStamp(bytes_.data() + item.stamp, stamp);
}

}  // namespace queen::bench
