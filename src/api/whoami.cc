#include "api/whoami.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "http/response.h"

namespace queen::api {
namespace {

void WritePatterns(JsonWriter& writer, std::string_view name,
                   const std::vector<std::string>& patterns) {
  writer.Key(name);
  writer.BeginArray();
  for (const std::string& pattern : patterns) writer.String(pattern);
  writer.EndArray();
}

}  // namespace

std::string WriteIdentity(const auth::Identity& who, bool asked) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Field("authentication", asked);
  writer.Field("role", auth::RoleName(asked ? who.role : auth::Role::kAdmin));
  writer.Key("subject");
  who.subject.empty() ? writer.Null() : writer.String(who.subject);
  writer.Field("source", auth::SourceName(who.source));
  writer.Key("queues");
  if (asked && who.queues.limited) {
    writer.BeginObject();
    WritePatterns(writer, "push", who.queues.push);
    WritePatterns(writer, "pop", who.queues.pop);
    WritePatterns(writer, "admin", who.queues.admin);
    writer.EndObject();
  } else {
    writer.Null();
  }
  writer.EndObject();
  return out;
}

void HandleWhoAmI(const Context& context, const http::Request& request, http::Reply reply) {
  const bool asked = static_cast<bool>(context.authenticate);
  reply.Send(http::Response::Json(200, WriteIdentity(request.identity(), asked)));
}

}  // namespace queen::api
