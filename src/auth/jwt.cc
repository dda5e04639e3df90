#include "auth/jwt.h"

#include <algorithm>
#include <cmath>

#include "base/base64.h"
#include "base/json_range.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/utf8.h"

namespace queen::auth {
namespace {

Status Refused(std::string why) { return Status(Code::kUnauthenticated, std::move(why)); }

Status WrongForm(std::string_view claim) {
  return Refused("Invalid token: the claim " + std::string(claim) + " has the wrong form");
}

bool IsPlainText(std::string_view text) {
  return IsValidUtf8(text) && std::ranges::none_of(text, [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

// The text of a string; nullopt for anything else, and for texts that no name may be.
std::optional<std::string> TextOf(const JsonValue& value) {
  if (!value.is_string()) return std::nullopt;
  JsonScratch scratch;
  const Result<std::string_view> text = value.String(scratch);
  if (!text.ok() || !IsPlainText(*text)) return std::nullopt;
  return std::string(*text);
}

// A text or a list of texts, appended; false for anything else.
bool AppendTexts(const JsonValue& value, std::vector<std::string>& texts) {
  if (value.absent_or_null()) return true;
  if (!value.is_array()) {
    std::optional<std::string> text = TextOf(value);
    if (text) texts.push_back(*std::move(text));
    return !texts.empty();
  }
  for (const JsonValue& element : JsonElements(value)) {
    std::optional<std::string> text = TextOf(element);
    if (!text) return false;
    texts.push_back(*std::move(text));
  }
  return true;
}

Status TakeTime(const JsonValue& payload, std::string_view claim, std::optional<double>& out) {
  const JsonValue value = payload.Find(claim);
  if (value.absent()) return Status::Ok();
  const Result<double> number = value.Double();
  if (!number.ok() || !std::isfinite(*number)) return WrongForm(claim);
  out = *number;
  return Status::Ok();
}

Status TakeText(const JsonValue& payload, std::string_view claim, std::string& out) {
  const JsonValue value = payload.Find(claim);
  if (value.absent_or_null()) return Status::Ok();
  std::optional<std::string> text = TextOf(value);
  if (!text) return WrongForm(claim);
  out = *std::move(text);
  return Status::Ok();
}

void WriteList(JsonWriter& writer, std::string_view key, const std::vector<std::string>& list) {
  writer.Key(key);
  writer.BeginArray();
  for (const std::string& pattern : list) writer.String(pattern);
  writer.EndArray();
}

}  // namespace

Result<Jwt> ParseJwt(std::string_view token) {
  if (token.size() > kTokenBytesMax) return Refused("Invalid token: it is too long");
  const size_t first = token.find('.');
  const size_t second = first == token.npos ? token.npos : token.find('.', first + 1);
  if (second == token.npos || token.find('.', second + 1) != token.npos) {
    return Refused("Invalid token");
  }
  const std::optional<std::string> header = DecodeBase64Url(token.substr(0, first));
  std::optional<std::string> payload = DecodeBase64Url(token.substr(first + 1, second - first - 1));
  std::optional<std::string> signature = DecodeBase64Url(token.substr(second + 1));
  if (!header || !payload || !signature) return Refused("Invalid token: it is not base64url");
  const Result<JsonValue> head = ParseJson(*header);
  if (!head.ok() || !head->is_object()) return Refused("Invalid token: its header is no object");
  if (!head->Find("crit").absent()) {
    return Refused("Invalid token: it demands extensions (crit) that nobody here knows");
  }
  Jwt jwt;
  const std::optional<std::string> name = TextOf(head->Find("alg"));
  const std::optional<Algorithm> algorithm = name ? ParseAlgorithm(*name) : std::nullopt;
  if (!algorithm) return Refused("Invalid token: its algorithm is not accepted");
  jwt.algorithm = *algorithm;
  if (const JsonValue id = head->Find("kid"); !id.absent_or_null()) {
    std::optional<std::string> text = TextOf(id);
    if (!text) return Refused("Invalid token: kid must be a string");
    jwt.key_id = *std::move(text);
  }
  jwt.signed_part = token.substr(0, second);
  jwt.signature = *std::move(signature);
  jwt.payload = *std::move(payload);
  return jwt;
}

Result<QueueLimits> ReadQueueLimits(const JsonValue& value) {
  QueueLimits limits;
  if (value.absent_or_null()) return limits;
  if (!value.is_object()) return WrongForm("queen");
  limits.limited = true;
  for (const JsonField& field : JsonFields(value)) {
    std::vector<std::string>* list = field.key == "push"    ? &limits.push
                                     : field.key == "pop"   ? &limits.pop
                                     : field.key == "admin" ? &limits.admin
                                                            : nullptr;
    // What it would limit nobody knows.
    if (list == nullptr) return WrongForm("queen");
    list->clear();
    if (!field.value.is_array() || !AppendTexts(field.value, *list) ||
        list->size() > kPatternsMax) {
      return WrongForm("queen");
    }
  }
  return limits;
}

std::string WriteQueueLimits(const QueueLimits& limits) {
  if (!limits.limited) return "null";
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  WriteList(writer, "push", limits.push);
  WriteList(writer, "pop", limits.pop);
  WriteList(writer, "admin", limits.admin);
  writer.EndObject();
  return out;
}

Result<Claims> ReadClaims(std::string_view payload, const RoleClaims& names) {
  const Result<JsonValue> object = ParseJson(payload);
  if (!object.ok() || !object->is_object()) {
    return Refused("Invalid token: its claims are no object");
  }
  Claims claims;
  QUEEN_RETURN_IF_ERROR(TakeTime(*object, "exp", claims.expires));
  QUEEN_RETURN_IF_ERROR(TakeTime(*object, "nbf", claims.not_before));
  QUEEN_RETURN_IF_ERROR(TakeText(*object, "iss", claims.issuer));
  QUEEN_RETURN_IF_ERROR(TakeText(*object, "sub", claims.subject));
  if (claims.subject.size() > kSubjectBytesMax || HasControls(claims.subject)) {
    return WrongForm("sub");
  }
  if (!AppendTexts(object->Find("aud"), claims.audience)) return WrongForm("aud");
  for (const std::string& name : {names.one, names.many}) {
    std::vector<std::string> roles;
    if (!AppendTexts(object->Find(name), roles)) return WrongForm(name);
    claims.roles.insert(claims.roles.end(), roles.begin(), roles.end());
  }
  Result<QueueLimits> limits = ReadQueueLimits(object->Find("queen"));
  if (!limits.ok()) return limits.status();
  claims.queues = *std::move(limits);
  return claims;
}

Status CheckClaims(const Claims& claims, const ClaimRules& rules, int64_t now_seconds) {
  const auto now = static_cast<double>(now_seconds);
  const auto skew = static_cast<double>(rules.skew_seconds);
  if (claims.expires && now >= *claims.expires + skew) return Refused("The token has expired");
  if (claims.not_before && now < *claims.not_before - skew) {
    return Refused("The token is not valid yet");
  }
  if (!rules.issuer.empty() && claims.issuer != rules.issuer) {
    return Refused("The token is from another issuer");
  }
  if (!rules.audience.empty() &&
      std::ranges::find(claims.audience, rules.audience) == claims.audience.end()) {
    return Refused("The token is for another audience");
  }
  return Status::Ok();
}

}  // namespace queen::auth
