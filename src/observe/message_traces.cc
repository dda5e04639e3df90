#include "observe/message_traces.h"

#include "base/json_reader.h"
#include "http/request.h"

namespace queen::observe {
namespace {

TraceContext TraceOfHeaders(JsonReader& reader) {
  TraceContext context;
  JsonScratch scratch;
  while (reader.NextField()) {
    if (!http::EqualsIgnoringCase(reader.key(), kTraceparent)) continue;
    const JsonValue value = reader.Value();
    if (!value.is_string()) continue;
    context = TraceContext::Parse(value.Text(scratch).text).value_or(TraceContext());
  }
  return context;
}

}  // namespace

TraceContext TraceOfMeta(std::string_view meta) {
  TraceContext context;
  // Most lines have no headers, and need not be parsed to see that.
  if (meta.find("headers") == std::string_view::npos) return context;
  JsonReader reader(meta);
  if (!reader.EnterObject()) return context;
  while (reader.NextField()) {
    if (reader.key() == "headers" && reader.EnterObject()) context = TraceOfHeaders(reader);
  }
  return reader.Finish().ok() ? context : TraceContext();
}

std::string MessageTraces::KeyOf(PartitionId partition, std::string_view txn) {
  std::string key = std::to_string(partition.value);
  key += '/';
  key += txn;
  return key;
}

void MessageTraces::Add(PartitionId partition, std::string_view txn, const SpanLink& link) {
  Shard& shard = shards_[PlaceOf(partition)];
  std::string key = KeyOf(partition, txn);
  const std::lock_guard lock(shard.mutex);
  if (shard.current.size() >= generation_max_) {
    shard.previous = std::move(shard.current);
    shard.current = {};
  }
  shard.current.insert_or_assign(std::move(key), link);
}

std::optional<SpanLink> MessageTraces::Find(PartitionId partition, std::string_view txn) const {
  const Shard& shard = shards_[PlaceOf(partition)];
  const std::string key = KeyOf(partition, txn);
  const std::lock_guard lock(shard.mutex);
  for (const Generation* generation : {&shard.current, &shard.previous}) {
    const auto found = generation->find(key);
    if (found != generation->end()) return found->second;
  }
  return std::nullopt;
}

}  // namespace queen::observe
