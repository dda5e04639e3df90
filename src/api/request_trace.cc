#include "api/request_trace.h"

#include "base/json_writer.h"

namespace queen::api {
namespace {

constexpr size_t kTraceparentBytes = 55;

std::string_view OnlyHeader(const http::Request& request, std::string_view name) {
  const auto value = request.Header(name);
  return value && request.CountHeaders(name) == 1 ? *value : std::string_view();
}

// As it came, if it says no more than it could say in our version.
std::string CallersTraceparent(const RequestTrace& trace, const http::Request& request) {
  const std::string_view text = OnlyHeader(request, kTraceparent);
  return text.size() == kTraceparentBytes ? std::string(text) : trace.caller.ToTraceparent();
}

}  // namespace

RequestTrace TraceOf(const Context& context, const http::Request& request) {
  RequestTrace trace;
  const std::string_view traceparent = OnlyHeader(request, kTraceparent);
  if (!traceparent.empty()) {
    trace.caller = TraceContext::Parse(traceparent).value_or(TraceContext());
  }
  if (context.start_span) trace.span = context.start_span(trace.caller);
  return trace;
}

std::string TraceHeaders(const RequestTrace& trace, const http::Request& request) {
  if (!trace.caller.valid() && !trace.span.valid()) return {};
  std::string members = "\"traceparent\":";
  AppendJsonString(members, trace.span.valid() ? trace.span.ToTraceparent()
                                               : CallersTraceparent(trace, request));
  if (!trace.caller.valid()) return members;
  const std::string_view tracestate = OnlyHeader(request, kTracestate);
  if (IsTracestate(tracestate)) {
    members += ",\"tracestate\":";
    AppendJsonString(members, tracestate);
  }
  return members;
}

}  // namespace queen::api
