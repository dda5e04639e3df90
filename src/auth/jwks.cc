#include "auth/jwks.h"

#include <optional>
#include <string>

#include "base/base64.h"
#include "base/json_range.h"
#include "base/json_reader.h"

namespace queen::auth {
namespace {

std::string TextAt(const JsonValue& object, std::string_view key) {
  const JsonValue value = object.Find(key);
  if (!value.is_string()) return {};
  JsonScratch scratch;
  const Result<std::string_view> text = value.String(scratch);
  return text.ok() ? std::string(*text) : std::string();
}

std::string BytesAt(const JsonValue& object, std::string_view key) {
  return DecodeBase64Url(TextAt(object, key)).value_or("");
}

std::optional<VerifyKey> ReadKey(const JsonValue& value) {
  const std::string use = TextAt(value, "use");
  if (!use.empty() && use != "sig") return std::nullopt;
  const std::string type = TextAt(value, "kty");
  const std::string curve = TextAt(value, "crv");
  std::string id = TextAt(value, "kid");
  std::optional<Result<VerifyKey>> key;
  if (type == "RSA") {
    key = VerifyKey::OfRsa(std::move(id), BytesAt(value, "n"), BytesAt(value, "e"));
  } else if (type == "EC" && curve == "P-256") {
    key = VerifyKey::OfP256(std::move(id), BytesAt(value, "x"), BytesAt(value, "y"));
  } else if (type == "OKP" && curve == "Ed25519") {
    key = VerifyKey::OfEd25519(std::move(id), BytesAt(value, "x"));
  }
  if (!key || !key->ok()) return std::nullopt;
  const std::string algorithm = TextAt(value, "alg");
  if (!algorithm.empty() && algorithm != AlgorithmName((*key)->algorithm())) return std::nullopt;
  return **std::move(key);
}

}  // namespace

Result<std::vector<VerifyKey>> ParseJwks(std::string_view text) {
  const Result<JsonValue> document = ParseJson(text);
  if (!document.ok() || !document->Find("keys").is_array()) {
    return Status(Code::kInvalidRequest, "it is no JSON Web Key Set");
  }
  std::vector<VerifyKey> keys;
  for (const JsonValue& value : JsonElements(document->Find("keys"))) {
    if (keys.size() == kJwksKeysMax) break;
    if (std::optional<VerifyKey> key = ReadKey(value)) keys.push_back(*std::move(key));
  }
  if (keys.empty()) {
    return Status(Code::kInvalidRequest, "it has no key for RS256, ES256 or EdDSA");
  }
  return keys;
}

}  // namespace queen::auth
