// How fast request bodies are read, beside simdjson's DOM parser on the same bodies: push bodies of
// 100 items with payloads of about 200 bytes of different make. Bytes per second are the figure.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <simdjson.h>

#include <functional>
#include <string>
#include <vector>

#include "base/json_line.h"
#include "base/json_reader.h"

namespace queen {
namespace {

constexpr int kItems = 100;

std::string Repeat(std::string_view text, size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += text;
  return out;
}

std::string PushBody(const std::function<std::string(int)>& payload) {
  std::string body = R"({"items":[)";
  for (int i = 0; i < kItems; ++i) {
    if (i > 0) body += ',';
    body += fmt::format(
        R"({{"queue":"orders","partition":"customer-{}","transactionId":"0195e0f0-7a3b-7c4d-8e5f-{:012}",)"
        R"("payload":{}}})",
        i % 10, i, payload(i));
  }
  return body + "]}";
}

std::string StringBody() {
  return PushBody([](int) { return R"({"data":")" + Repeat("abcdefghij", 190) + "\"}"; });
}

std::string RecordBody() {
  return PushBody([](int i) {
    return fmt::format(
        R"({{"orderId":{},"customer":"Customer {}","email":"someone.{}@example.com","total":{}.25,)"
        R"("currency":"EUR","paid":true,"note":null,"lines":[{{"sku":"A-{}","qty":2,"price":12.5}},)"
        R"({{"sku":"B-{}","qty":1,"price":99.95}}]}})",
        100000 + i, i, i, i * 7, i, i);
  });
}

std::string EscapedBody() {
  return PushBody([](int) { return '"' + Repeat(R"({\"name\":\"value\",\"n\":12},)", 200) + '"'; });
}

std::string NonAsciiBody() {
  return PushBody(
      [](int) { return R"({"text":")" + Repeat("Привет, мир. 你好世界 ", 190) + "\"}"; });
}

std::string IndentedBody() {
  return PushBody([](int i) {
    return fmt::format(
        "{{\n        \"id\": {},\n        \"name\": \"{}\",\n        \"tags\": [\n"
        "          \"a\",\n          \"b\"\n        ]\n      }}",
        i, Repeat("name ", 60));
  });
}

const std::vector<std::string>& Bodies() {
  static const std::vector<std::string> bodies = {StringBody(), RecordBody(), EscapedBody(),
                                                  NonAsciiBody(), IndentedBody()};
  return bodies;
}

const std::string& BodyOf(benchmark::State& state) {
  static constexpr const char* kNames[] = {"strings", "records", "escaped", "non-ascii",
                                           "indented"};
  state.SetLabel(kNames[state.range(0)]);
  return Bodies()[static_cast<size_t>(state.range(0))];
}

void SetRate(benchmark::State& state, const std::string& body) {
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(body.size()));
}

void Validate(benchmark::State& state) {
  const std::string& body = BodyOf(state);
  while (state.KeepRunning()) {
    if (!ParseJson(body).ok()) state.SkipWithError("refused");
  }
  SetRate(state, body);
}

struct Item {
  JsonValue queue, partition, transaction_id, trace_id, headers, payload;
};

bool ReadPush(std::string_view body, std::vector<Item>& items) {
  JsonReader reader(body);
  items.clear();
  if (!reader.EnterObject()) return false;
  while (reader.NextField()) {
    if (reader.key() != "items" || !reader.EnterArray()) continue;
    while (reader.NextElement()) {
      Item& item = items.emplace_back();
      if (!reader.EnterObject()) continue;
      while (reader.NextField()) {
        const std::string_view key = reader.key();
        if (key == "queue")
          item.queue = reader.Value();
        else if (key == "partition")
          item.partition = reader.Value();
        else if (key == "payload")
          item.payload = reader.Value();
        else if (key == "transactionId")
          item.transaction_id = reader.Value();
        else if (key == "traceId")
          item.trace_id = reader.Value();
        else if (key == "headers")
          item.headers = reader.Value();
      }
    }
  }
  return reader.Finish().ok();
}

void ExtractPush(benchmark::State& state) {
  const std::string& body = BodyOf(state);
  std::vector<Item> items;
  while (state.KeepRunning()) {
    if (!ReadPush(body, items) || items.size() != kItems) state.SkipWithError("refused");
  }
  SetRate(state, body);
}

void ExtractPushToLines(benchmark::State& state) {
  const std::string& body = BodyOf(state);
  std::vector<Item> items;
  std::string lines;
  while (state.KeepRunning()) {
    if (!ReadPush(body, items)) state.SkipWithError("refused");
    lines.clear();
    for (const Item& item : items) {
      AppendJsonLine(lines, item.payload.raw());
      lines += '\n';
    }
  }
  SetRate(state, body);
}

void SimdjsonDom(benchmark::State& state) {
  const std::string& body = BodyOf(state);
  const simdjson::padded_string padded(body);
  simdjson::dom::parser parser;
  while (state.KeepRunning()) {
    if (parser.parse(padded).error() != simdjson::SUCCESS) state.SkipWithError("refused");
  }
  SetRate(state, body);
}

BENCHMARK(Validate)->DenseRange(0, 4);
BENCHMARK(ExtractPush)->DenseRange(0, 4);
BENCHMARK(ExtractPushToLines)->DenseRange(0, 4);
BENCHMARK(SimdjsonDom)->DenseRange(0, 4);

}  // namespace
}  // namespace queen

BENCHMARK_MAIN();
