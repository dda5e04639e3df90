#include "storage/payload_cipher.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <climits>
#include <cstdlib>

#include "base/base64.h"
#include "base/json_reader.h"
#include "base/log.h"
#include "base/random.h"

namespace queen::storage {
namespace {

constexpr size_t kNonceBytes = 12;
constexpr size_t kTagBytes = 16;
constexpr size_t kKeyIdBytes = 4;
constexpr size_t kEnvelopeBytes = 96;

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

// OpenSSL refuses what we ask of it only when it is out of memory or broken.
void Require(bool ok) {
  if (ok) return;
  log::Error("OpenSSL cannot encrypt with AES-256-GCM");
  std::abort();
}

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* Bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

int Length(std::string_view text) {
  assert(text.size() <= INT_MAX);
  return static_cast<int>(text.size());
}

std::string KeyId(const EncryptionKey& key) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  Require(EVP_Digest(key.data(), key.size(), hash.data(), nullptr, EVP_sha256(), nullptr) == 1);
  std::string id;
  for (size_t i = 0; i < kKeyIdBytes; ++i) id += fmt::format("{:02x}", hash[i]);
  return id;
}

std::string BoundTo(PartitionId partition) {
  return fmt::format("queen payload, partition {}", partition.value);
}

// No name holds a control character.
std::string BoundTo(std::string_view queue, std::string_view partition) {
  return fmt::format("queen buffer\n{}\n{}", queue, partition);
}

constexpr std::string_view kEncrypted = R"({"encrypted":true)";

Status Undecryptable(std::string why) { return Status(Code::kUndecryptable, std::move(why)); }

struct Envelope {
  std::string key;
  std::string nonce;
  std::string tag;
  std::string data;
};

Result<Envelope> ReadEnvelope(std::string_view line) {
  const Status malformed = Undecryptable("The payload is marked as encrypted and is not");
  const Result<JsonValue> value = ParseJson(line);
  if (!value.ok() || !value->is_object()) return malformed;
  JsonScratch scratch;
  const auto text = [&](std::string_view name) -> std::optional<std::string_view> {
    const JsonValue found = value->Find(name);
    if (!found.is_string()) return std::nullopt;
    return found.Text(scratch).text;
  };
  const auto key = text("key");
  const auto nonce = text("nonce");
  const auto tag = text("tag");
  const auto data = text("data");
  if (!key || !nonce || !tag || !data) return malformed;
  auto nonce_bytes = DecodeBase64(*nonce);
  auto tag_bytes = DecodeBase64(*tag);
  auto data_bytes = DecodeBase64(*data);
  if (!nonce_bytes || nonce_bytes->size() != kNonceBytes || !tag_bytes ||
      tag_bytes->size() != kTagBytes || !data_bytes || data_bytes->size() > INT_MAX) {
    return malformed;
  }
  return Envelope{std::string(*key), *std::move(nonce_bytes), *std::move(tag_bytes),
                  *std::move(data_bytes)};
}

}  // namespace

// Looked up once: OpenSSL 3 searches its providers each time it is asked by name.
struct PayloadCipher::Algorithm {
  Algorithm() : cipher(EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr)) {
    Require(cipher != nullptr);
  }
  ~Algorithm() { EVP_CIPHER_free(cipher); }
  Algorithm(const Algorithm&) = delete;
  Algorithm& operator=(const Algorithm&) = delete;

  EVP_CIPHER* cipher;
};

PayloadCipher::PayloadCipher(const std::vector<EncryptionKey>& keys) {
  if (!keys.empty()) algorithm_ = std::make_unique<const Algorithm>();
  for (const EncryptionKey& key : keys) keys_.push_back({KeyId(key), key});
}

PayloadCipher::~PayloadCipher() = default;

std::string PayloadCipher::Encrypt(std::string_view payload, PartitionId partition) const {
  return EncryptFor(BoundTo(partition), payload);
}

std::string PayloadCipher::EncryptBuffered(std::string_view payload, std::string_view queue,
                                           std::string_view partition) const {
  return EncryptFor(BoundTo(queue, partition), payload);
}

Result<std::string> PayloadCipher::Decrypt(std::string_view line, PartitionId partition) const {
  return DecryptFor(BoundTo(partition), line);
}

Result<std::string> PayloadCipher::DecryptBuffered(std::string_view line, std::string_view queue,
                                                   std::string_view partition) const {
  return DecryptFor(BoundTo(queue, partition), line);
}

std::string PayloadCipher::EncryptFor(std::string_view bound, std::string_view payload) const {
  assert(can_encrypt());
  const Key& key = keys_.front();
  std::string nonce(kNonceBytes, '\0');
  SecureRandomBytes(nonce.data(), nonce.size());
  std::string data(payload.size(), '\0');
  std::string tag(kTagBytes, '\0');
  const Context context(EVP_CIPHER_CTX_new());
  int length = 0;
  Require(context != nullptr &&
          EVP_EncryptInit_ex2(context.get(), algorithm_->cipher, key.bytes.data(), Bytes(nonce),
                              nullptr) == 1 &&
          EVP_EncryptUpdate(context.get(), nullptr, &length, Bytes(bound), Length(bound)) == 1 &&
          EVP_EncryptUpdate(context.get(), Bytes(data), &length, Bytes(payload), Length(payload)) ==
              1 &&
          EVP_EncryptFinal_ex(context.get(), Bytes(data) + length, &length) == 1 &&
          EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, tag.data()) == 1);

  std::string line;
  line.reserve(kEnvelopeBytes + (data.size() + 2) / 3 * 4);
  line.append(R"({"key":")").append(key.id).append(R"(","nonce":")");
  AppendBase64(line, nonce);
  line += R"(","tag":")";
  AppendBase64(line, tag);
  line += R"(","data":")";
  AppendBase64(line, data);
  line += "\"}";
  return line;
}

Result<std::string> PayloadCipher::DecryptFor(std::string_view bound, std::string_view line) const {
  Result<Envelope> envelope = ReadEnvelope(line);
  if (!envelope.ok()) return envelope.status();
  const auto key = std::find_if(keys_.begin(), keys_.end(),
                                [&](const Key& known) { return known.id == envelope->key; });
  if (key == keys_.end()) {
    return Undecryptable("The payload is encrypted with a key that this broker does not have");
  }
  std::string payload(envelope->data.size(), '\0');
  const Context context(EVP_CIPHER_CTX_new());
  int length = 0;
  Require(context != nullptr &&
          EVP_DecryptInit_ex2(context.get(), algorithm_->cipher, key->bytes.data(),
                              Bytes(envelope->nonce), nullptr) == 1 &&
          EVP_DecryptUpdate(context.get(), nullptr, &length, Bytes(bound), Length(bound)) == 1 &&
          EVP_DecryptUpdate(context.get(), Bytes(payload), &length, Bytes(envelope->data),
                            Length(envelope->data)) == 1 &&
          EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes,
                              envelope->tag.data()) == 1);
  if (EVP_DecryptFinal_ex(context.get(), Bytes(payload) + length, &length) != 1) {
    return Undecryptable("The encrypted payload was changed after it was stored");
  }
  return payload;
}

std::string EncryptedMeta(std::string_view meta) {
  if (meta.empty()) return std::string(kEncrypted) + "}";
  assert(meta.starts_with('{') && meta.size() > 2);
  return std::string(kEncrypted).append(",").append(meta.substr(1));
}

bool IsEncryptedMeta(std::string_view meta) { return meta.starts_with(kEncrypted); }

std::string PlainMeta(std::string_view meta) {
  assert(IsEncryptedMeta(meta));
  meta.remove_prefix(kEncrypted.size());
  return meta.starts_with(',') ? "{" + std::string(meta.substr(1)) : std::string();
}

}  // namespace queen::storage
