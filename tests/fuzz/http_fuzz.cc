// Fuzzes the way of bytes from the socket to a handler: parser -> router -> request -> response
// head. The first byte of the input seeds the places where the stream is cut into reads; the rest
// is the stream. Checked: nothing crashes, cutting does not change what is seen, every dispatched
// request is answered once, and every reply has a well-formed head.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "http/parser.h"
#include "http/router.h"
#include "http/test_target.h"

namespace queen::http {
namespace {

void Check(bool condition) {
  if (!condition) std::abort();
}

// Uses everything a handler could use of a request, and answers with it.
void Describe(Request request, Reply reply) {
  std::string body(MethodName(request.method()));
  body.append(request.target()).append(request.path());
  for (const char* name : {"queue", "partition", "file"}) {
    Check(IsValidUtf8(request.Param(name)));
    body.append(request.Param(name));
  }
  const auto batch = request.query().Int("batch", 1, 1, 1000);
  body.append(batch.ok() ? std::to_string(*batch) : batch.status().message());
  const auto number = request.query().Number("number", 1);
  body.append(number.ok() ? std::to_string(*number) : number.status().message());
  body.append(request.query().Bool("wait").ok() ? "read" : "refused");
  body.append(request.Header("X-Test").value_or("none"));
  body.append(request.TakeBody());
  reply.Send(Response::Json(200, std::move(body)));
}

const Router& TheRouter() {
  static const Router router = [] {
    Router r;
    r.Add(Method::kGet, "/", Describe);
    r.Add(Method::kGet, "/livez", Describe);
    r.Add(Method::kPost, "/api/v1/push", Describe);
    r.Add(Method::kGet, "/api/v1/pop/queue/:queue", Describe);
    r.Add(Method::kGet, "/api/v1/pop/queue/:queue/partition/:partition", Describe);
    r.Add(Method::kGet, "/api/v1/pop/queue/fixed/:partition", Describe);
    r.Add(Method::kGet, "/assets/*file", Describe);
    return r;
  }();
  return router;
}

// Small, so that the fuzzer reaches them.
const Limits& SmallLimits() {
  static const Limits limits = [] {
    Limits l;
    l.header_bytes_max = 512;
    l.target_bytes_max = 200;
    l.body_bytes_max = 256;
    return l;
  }();
  return limits;
}

// What the server says to `stream` when read in pieces of random sizes, or whole.
std::string Serve(std::string_view stream, std::minstd_rand* cuts) {
  Parser parser(SmallLimits());
  const auto target = std::make_shared<TestTarget>();
  uint64_t sequence = 0;
  std::string said;
  while (!stream.empty()) {
    const size_t size =
        cuts == nullptr ? stream.size() : std::min<size_t>(stream.size(), 1 + (*cuts)() % 40);
    // An allocation of its own, so that reading beyond it is noticed.
    const std::vector<char> piece(stream.begin(), stream.begin() + static_cast<long>(size));
    stream.remove_prefix(size);
    std::string_view input(piece.data(), piece.size());
    while (!input.empty()) {
      const Parser::Event event = parser.Next(input);
      if (event == Parser::Event::kRefused) {
        // Which of several reasons is found first depends on the cuts, that one is found does not.
        std::string refusal;
        AppendHead(ErrorResponse(parser.refusal()), {.close = true}, refusal);
        Check(refusal.starts_with("HTTP/1.1 ") && refusal.ends_with("\r\n\r\n"));
        return said + "refused";
      }
      if (event != Parser::Event::kRequest) continue;
      TheRouter().Dispatch(parser.Take(), Reply(target, ++sequence));
      Check(target->responses.size() == 1 && target->abandoned.empty());
      AppendHead(target->responses[sequence], {}, said);
      said.append(target->responses[sequence].body);
      target->responses.clear();
    }
  }
  return said + (parser.started() ? "..." : "");
}

}  // namespace
}  // namespace queen::http

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace queen::http;
  if (size == 0) return 0;
  std::minstd_rand cuts(data[0] + 1U);
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = Serve(stream, nullptr);
  Check(Serve(stream, &cuts) == whole);
  return 0;
}
