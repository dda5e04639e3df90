#include "auth/token_table.h"

#include <openssl/evp.h>

#include <cstring>
#include <utility>

#include "base/base64.h"
#include "base/random.h"

namespace queen::auth {
namespace {

constexpr size_t kRandomBytes = 32;
constexpr size_t kIdBytes = 6;

// Looked up once: doing so each time costs more than hashing a token.
const EVP_MD* Sha256() {
  static EVP_MD* const digest = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return digest;
}

}  // namespace

TokenHash HashToken(std::string_view token) {
  thread_local EVP_MD_CTX* const context = EVP_MD_CTX_new();
  TokenHash hash{};
  EVP_DigestInit_ex(context, Sha256(), nullptr);
  EVP_DigestUpdate(context, token.data(), token.size());
  EVP_DigestFinal_ex(context, hash.data(), nullptr);
  return hash;
}

std::string MakeToken() {
  std::string bytes(kRandomBytes, '\0');
  SecureRandomBytes(bytes.data(), bytes.size());
  std::string token(kTokenPrefix);
  AppendBase64Url(token, bytes);
  return token;
}

std::string TokenIdOf(const TokenHash& hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id;
  for (size_t i = 0; i < kIdBytes; ++i) {
    id += kDigits[hash[i] >> 4];
    id += kDigits[hash[i] & 15];
  }
  return id;
}

size_t TokenTable::Hasher::operator()(const TokenHash& hash) const {
  size_t value = 0;
  std::memcpy(&value, hash.data(), sizeof value);
  return value;
}

std::shared_ptr<const TokenTable::Map> TokenTable::MakeMap(std::vector<StoredToken> tokens) {
  auto map = std::make_shared<Map>();
  for (StoredToken& token : tokens) {
    (*map)[token.hash] = std::make_shared<const Identity>(std::move(token.identity));
  }
  return map;
}

void TokenTable::ReplaceStored(std::vector<StoredToken> tokens) {
  auto map = MakeMap(std::move(tokens));
  const std::lock_guard lock(mutex_);
  stored_ = std::move(map);
  awaits_database_.store(false, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
}

void TokenTable::ReplaceFile(std::vector<StoredToken> tokens) {
  auto map = MakeMap(std::move(tokens));
  const std::lock_guard lock(mutex_);
  file_ = std::move(map);
  generation_.fetch_add(1, std::memory_order_release);
}

IdentityRef TokenTable::FindIn(const Map* map, const TokenHash& hash) {
  if (map == nullptr) return nullptr;
  const auto found = map->find(hash);
  return found == map->end() ? nullptr : found->second;
}

IdentityRef TokenTable::Find(const TokenHash& hash) const {
  const std::lock_guard lock(mutex_);
  IdentityRef known = FindIn(stored_.get(), hash);
  return known ? known : FindIn(file_.get(), hash);
}

}  // namespace queen::auth
