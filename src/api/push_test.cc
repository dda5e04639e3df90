#include "api/push.h"

#include <gtest/gtest.h>

#include "api/push_items.h"
#include "api/test_api.h"

namespace queen::api {
namespace {

using sidecar::PushItem;
using sidecar::PushOutcome;

constexpr std::string_view kPath = "/api/v1/push";
constexpr std::string_view kTrace = "0190a6e2-5b1c-7abc-8def-0123456789ab";

PushOutcome Queued(int64_t seq) {
  return {.status = PushOutcome::Status::kQueued,
          .id = {.created_millis = 1'769'898'605'123, .partition = {7}, .seq = seq},
          .error = {}};
}

class PushTest : public ApiTest {
 protected:
  // Sends a body that reaches the engine; its items.
  const std::vector<PushItem>& Items(std::string_view body) {
    const size_t before = engine_.pushes.size();
    Send("POST", kPath, body);
    EXPECT_EQ(engine_.pushes.size(), before + 1) << body << " -> " << Answer();
    static const std::vector<PushItem> none;
    return engine_.pushes.size() > before ? engine_.pushes.back().items : none;
  }
  // The first item of such a body.
  const PushItem& Item(std::string_view fields) {
    return Items(fmt::format(R"({{"items":[{{"queue":"q",{}}},{{"queue":"other"}}]}})", fields))
        .front();
  }
  std::string ItemError(std::string_view fields) { return Item(fields).error; }

  std::string PushOf(std::string_view item) {
    return Ask("POST", kPath, fmt::format(R"({{"items":[{}]}})", item));
  }
};

TEST_F(PushTest, BufferedMessagesHaveATransactionIdAndNoMessageId) {
  Items(R"({"items":[{"queue":"q","partition":"a\"b"},{"queue":"q","transactionId":"mine"}]})");
  PushOutcome made;
  made.status = PushOutcome::Status::kBuffered;
  made.made_txn = *Uuid::Parse(kTrace);
  PushOutcome given;
  given.status = PushOutcome::Status::kBuffered;
  engine_.FinishPush(std::vector<PushOutcome>{made, given});
  EXPECT_EQ(Answer(),
            fmt::format(R"(201 [{{"index":0,"transaction_id":"{}","status":"buffered","queue":"q",)"
                        R"("partition":"a\"b"}},)"
                        R"({{"index":1,"transaction_id":"mine","status":"buffered","queue":"q",)"
                        R"("partition":"Default"}}])",
                        kTrace));
}

TEST_F(PushTest, ItemsAreViewsOfTheBody) {
  const auto& items = Items(R"( {"other": {"items": []}, "items": [
      {"queue":"orders", "partition":"p1", "payload": {"b": 1.50, "a": "\u0000"},
       "transactionId":"t-1", "x": [[]]},
      {"queue":"orders"},
      {"payload":null, "queue":"orders", "partition":"", "transactionId":null, "traceId":null,
       "headers":null} ] } )");
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0].queue, "orders");
  EXPECT_EQ(items[0].partition, "p1");
  EXPECT_EQ(items[0].payload, R"({"b": 1.50, "a": "\u0000"})");
  EXPECT_EQ(items[0].txn, "t-1");
  EXPECT_EQ(items[0].meta, "");
  EXPECT_EQ(items[0].error, "");
  const std::string& body = engine_.pushes.back().body;
  EXPECT_GE(items[0].payload.data(), body.data());
  EXPECT_LT(items[0].payload.data(), body.data() + body.size());
  EXPECT_EQ(items[1].partition, "Default");
  EXPECT_EQ(items[1].payload, "null");
  EXPECT_EQ(items[1].txn, "");
  EXPECT_EQ(items[2].partition, "");
  EXPECT_EQ(items[2].payload, "null");
  EXPECT_EQ(items[2].error, "");
}

TEST_F(PushTest, PayloadsKeepTheirBytes) {
  for (const std::string_view payload :
       {"null", "{}", "[]", "true", "0", "-0.0e+10", "9223372036854775808", "1E400",
        "0.1000000000000000055", R"("\u0000")", R"("\uD800")", R"({"b":1,"a":2,"b":3})",
        R"({ "k" : [ 1 , 2 ] })", "\"\xF0\x9F\x91\x91\"", R"("\/\"")"}) {
    EXPECT_EQ(Item(fmt::format(R"("payload":{})", payload)).payload, payload);
  }
}

TEST_F(PushTest, LargeAndDeepPayloads) {
  const std::string large = "\"" + std::string(2 << 20, 'x') + "\"";
  EXPECT_EQ(Item("\"payload\":" + large).payload, large);
  const auto nested = [](size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  // The body's object, the list and the item are levels too.
  EXPECT_EQ(Item("\"payload\":" + nested(kJsonDepthMax - 3)).error, "");
  EXPECT_TRUE(PushOf(R"({"queue":"q","payload":)" + nested(kJsonDepthMax - 2) + "}")
                  .starts_with(R"(400 {"error":"Invalid JSON at byte )"));
}

TEST_F(PushTest, NamesAreDecoded) {
  const PushItem& item =
      Item(R"("queue":"a\"b\\c\/&\u00e9","partition":"\ud83d\udc51","transactionId":"\u0041\"")");
  EXPECT_EQ(item.queue, "a\"b\\c/&\xC3\xA9");
  EXPECT_EQ(item.partition, "\xF0\x9F\x91\x91");
  EXPECT_EQ(item.txn, "A\"");
  EXPECT_EQ(item.error, "");
}

TEST_F(PushTest, TheLastOfRepeatedFieldsWins) {
  const PushItem& item =
      Item(R"("partition":5,"partition":"b","payload":1,"payload":2,"queue":null,"queue":"z")");
  EXPECT_EQ(item.queue, "z");
  EXPECT_EQ(item.partition, "b");
  EXPECT_EQ(item.payload, "2");
  EXPECT_EQ(Items(R"({"items":[{"queue":1}],"items":[{"queue":"last"}]})").front().queue, "last");
  EXPECT_EQ(Ask("POST", kPath, R"({"items":[{"queue":"a"}],"items":{}})"),
            Refusal("items array is required"));
}

TEST_F(PushTest, BrokenEnvelopes) {
  for (const std::string_view body :
       {"{}", "[]", "null", "7", R"("items")", R"({"items":null})", R"({"items":{}})",
        R"({"items":"x"})", R"({"Items":[]})", R"([{"queue":"q"}])"}) {
    EXPECT_EQ(Ask("POST", kPath, body), Refusal("items array is required")) << body;
  }
  EXPECT_EQ(Ask("POST", kPath, R"({"items":[]})"), "201 []");
  EXPECT_TRUE(engine_.pushes.empty());
}

TEST_F(PushTest, WhatIsNotJson) {
  EXPECT_EQ(Ask("POST", kPath, ""), Refusal("Invalid JSON at byte 0: there is no value"));
  for (const std::string_view body :
       {R"({"items":[)", R"({"items":[{"queue":"q","payload":01}]})", R"({"items":[]} x)",
        R"({"items":[{"queue":"q"},]})", "{\"items\":[{\"queue\":\"\xFF\"}]}",
        R"({"items":[{"queue":1},{"x":tru}]})", R"({"other":{"a":nul},"items":[]})"}) {
    const std::string answer = Ask("POST", kPath, body);
    EXPECT_TRUE(answer.starts_with(R"(400 {"error":"Invalid JSON at byte )")) << answer;
  }
  EXPECT_TRUE(engine_.pushes.empty());
}

TEST_F(PushTest, FieldsOfTheWrongType) {
  for (const std::string_view queue : {"null", "5", "true", "[]", "{}"}) {
    EXPECT_EQ(PushOf(fmt::format(R"({{"queue":{}}})", queue)), Refusal("Queue must be a string"));
  }
  EXPECT_EQ(PushOf(R"({"queue":""})"), Refusal("Queue must be a string that is not empty"));
  for (const std::string_view item : {"{}", "null", "7", R"("x")", "[]", R"({"payload":1})"}) {
    EXPECT_EQ(PushOf(item), Refusal("Queue must be a string"));
  }
  for (const std::string_view partition : {"null", "5", "false", "[]", "{}"}) {
    EXPECT_EQ(PushOf(fmt::format(R"({{"queue":"q","partition":{}}})", partition)),
              Refusal("Partition must be a string"));
  }
  EXPECT_EQ(PushOf(R"({"queue":"q","transactionId":5})"),
            Refusal("transactionId must be a string"));
  EXPECT_EQ(PushOf(R"({"queue":"q","traceId":5})"), Refusal("traceId must be a string"));
  EXPECT_EQ(PushOf(R"({"queue":"q","headers":[]})"), Refusal("headers must be an object"));
  // One wrong item refuses all, and the first is told.
  EXPECT_EQ(PushOf(R"({"queue":"q"},{"queue":"q","partition":1},{"queue":2})"),
            Refusal("Partition must be a string"));
  EXPECT_TRUE(engine_.pushes.empty());
}

TEST_F(PushTest, BadValuesFailTheirItemAlone) {
  const std::string long_name(256, 'n');
  EXPECT_EQ(ItemError(R"("queue":"\u0000")"), "queue must not contain control characters");
  EXPECT_EQ(ItemError(R"("queue":"\uD800")"), "queue must not contain half of a surrogate pair");
  EXPECT_EQ(ItemError(fmt::format(R"("queue":"{}")", long_name)),
            "queue must not be longer than 255 bytes");
  EXPECT_EQ(ItemError(R"("partition":"a\nb")"), "partition must not contain control characters");
  EXPECT_EQ(ItemError(fmt::format(R"("partition":"{}")", long_name)),
            "partition must not be longer than 255 bytes");
  EXPECT_EQ(ItemError(fmt::format(R"("transactionId":"{}")", long_name)),
            "transactionId must not be longer than 255 characters");
  EXPECT_EQ(ItemError(R"("transactionId":"\t")"),
            "transactionId must not contain control characters");
  EXPECT_EQ(ItemError(R"("traceId":"nope")"), "traceId must be a UUID");
  EXPECT_EQ(ItemError(R"("headers":{"a":1})"), "headers must be a flat object of strings");
  EXPECT_EQ(ItemError(R"("headers":{"a":{"b":"c"}})"), "headers must be a flat object of strings");
  EXPECT_EQ(engine_.pushes.back().items[1].error, "");
}

TEST_F(PushTest, HeadersMayFillTheirLimit) {
  const auto headers = [](size_t bytes) {  // {"k":"..."}
    return fmt::format(R"("headers":{{ "k" : "{}" }})", std::string(bytes - 8, 'v'));
  };
  EXPECT_EQ(ItemError(headers(kHeadersBytesMax)), "");
  EXPECT_EQ(ItemError(headers(kHeadersBytesMax + 1)), "headers must not be longer than 8192 bytes");
}

TEST_F(PushTest, MetaIsOneLine) {
  EXPECT_EQ(Item(R"("traceId":"0190A6E2-5B1C-7ABC-8DEF-0123456789AB")").meta,
            R"({"traceId":"0190a6e2-5b1c-7abc-8def-0123456789ab"})");
  EXPECT_EQ(Item(R"("traceId":"")").meta, "");
  EXPECT_EQ(Item("\"headers\":{\n \"traceparent\" : \"00-ab\",\r\n\t\"\\u0061\":\"\\n\"}").meta,
            R"({"headers":{"traceparent":"00-ab","\u0061":"\n"}})");
  EXPECT_EQ(Item(R"("headers":{})").meta, R"({"headers":{}})");
  EXPECT_EQ(Item(R"("producerSub":"forged")").meta, "");
}

TEST_F(PushTest, TheServerStampsTheProducer) {
  SignIn({.subject = "user \"1\""});
  EXPECT_EQ(Item(R"("producerSub":"forged")").meta, R"({"producerSub":"user \"1\""})");
  EXPECT_EQ(Item(fmt::format(R"("traceId":"{}")", kTrace)).meta,
            R"({"traceId":"0190a6e2-5b1c-7abc-8def-0123456789ab","producerSub":"user \"1\""})");
}

TEST_F(PushTest, ItemsThatNameNoTraceBelongToTheRequests) {
  constexpr std::string_view kCaller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const std::string headers = fmt::format("traceparent: {}\r\ntracestate: a=\"b\"\r\n", kCaller);
  const auto metas = [&](std::string_view lines) {
    Send("POST", "/api/v1/push",
         R"({"items":[{"queue":"q"},{"queue":"q","headers":{"traceparent":"own"}}]})", lines);
    return engine_.pushes.back().items[0].meta + engine_.pushes.back().items[1].meta;
  };
  constexpr std::string_view kOwn = R"({"headers":{"traceparent":"own"}})";
  EXPECT_EQ(metas(headers), fmt::format(R"({{"headers":{{"traceparent":"{}",)"
                                        R"("tracestate":"a=\"b\""}}}}{})",
                                        kCaller, kOwn));
  EXPECT_EQ(engine_.pushes.back().trace.caller.ToTraceparent(), kCaller);
  EXPECT_FALSE(engine_.pushes.back().trace.span.valid());
  EXPECT_EQ(metas(headers + headers), kOwn) << "two of them are none";
  EXPECT_FALSE(engine_.pushes.back().trace.caller.valid());
}

TEST_F(PushTest, WithASpanOfItsOwnTheRequestHandsThatOn) {
  const auto span = *TraceContext::Parse("00-4bf92f3577b34da6a3ce929d0e0e4736-1111111111111111-01");
  TraceContext caller;
  context_.start_span = [&](const TraceContext& from) {
    caller = from;
    return span;
  };
  Send("POST", "/api/v1/push", R"({"items":[{"queue":"q"}]})",
       "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00\r\n");
  EXPECT_EQ(caller.span_id[1], 0xf0);
  EXPECT_EQ(engine_.pushes.back().items[0].meta,
            fmt::format(R"({{"headers":{{"traceparent":"{}"}}}})", span.ToTraceparent()));
  EXPECT_EQ(engine_.pushes.back().trace.span, span);
  Send("POST", "/api/v1/push", R"({"items":[{"queue":"q"}]})", "tracestate: a=b\r\n");
  EXPECT_EQ(engine_.pushes.back().items[0].meta,
            fmt::format(R"({{"headers":{{"traceparent":"{}"}}}})", span.ToTraceparent()));
}

TEST_F(PushTest, RepliesInRequestOrder) {
  Items(fmt::format(R"({{"items":[
      {{"queue":"a\"b","transactionId":"t\"1","traceId":"{}"}},
      {{"queue":"q"}},
      {{"queue":"q","transactionId":"seen"}},
      {{"queue":"q","transactionId":"\n"}},
      {{"queue":"q"}} ]}})",
                    kTrace));
  PushOutcome duplicate = Queued(2);
  duplicate.status = PushOutcome::Status::kDuplicate;
  engine_.FinishPush(std::vector<PushOutcome>{
      Queued(0), Queued(1), duplicate, {}, {.id = {}, .error = "Queue is full"}});
  const std::string partition = EncodePartitionId({7}).ToString();
  const auto id = [](int64_t seq) { return EncodeMessageId(Queued(seq).id).ToString(); };
  EXPECT_EQ(Answer(),
            fmt::format(
                R"(201 [{{"index":0,"transaction_id":"t\"1","status":"queued","message_id":"{0}",)"
                R"("partition_id":"{3}","trace_id":"{4}","queueName":"a\"b"}},)"
                R"({{"index":1,"transaction_id":"{1}","status":"queued","message_id":"{1}",)"
                R"("partition_id":"{3}","trace_id":null,"queueName":"q"}},)"
                R"({{"index":2,"transaction_id":"seen","status":"duplicate","message_id":"{2}",)"
                R"("queueName":"q"}},)"
                R"({{"index":3,"status":"failed","error":"transactionId must not contain control )"
                R"(characters"}},)"
                R"({{"index":4,"status":"failed","error":"Queue is full"}}])",
                id(0), id(1), id(2), partition, kTrace));
}

TEST_F(PushTest, WhatCannotBeStoredNeedsNoEngine) {
  EXPECT_EQ(PushOf(R"({"queue":"q","traceId":"x"})"),
            R"(201 [{"index":0,"status":"failed","error":"traceId must be a UUID"}])");
  EXPECT_TRUE(engine_.pushes.empty());
}

TEST_F(PushTest, AFailureOfTheEngine) {
  Items(R"({"items":[{"queue":"q"}]})");
  engine_.FinishPush(Status(Code::kDatabaseUnavailable));
  EXPECT_EQ(Answer(),
            R"~(503 {"error":"PostgreSQL cannot be reached: Connection refused (ECONNREFUSED)",)~"
            R"("code":"database_unavailable"})");
}

TEST_F(PushTest, AnEndlessListIsRefused) {
  std::string body = R"({"items":[{"queue":"q"})";
  for (size_t i = 0; i < kPushItemsMax; ++i) body += R"(,{"queue":"q"})";
  body += "]}";
  EXPECT_EQ(Ask("POST", kPath, body),
            R"(413 {"error":"A push has at most 200000 items","code":"payload_too_large"})");
}

}  // namespace
}  // namespace queen::api
