#include "auth/verify_key.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>
#include <cassert>

namespace queen::auth {
namespace {

constexpr size_t kP256NumberBytes = 32;
constexpr size_t kEd25519Bytes = 32;
constexpr size_t kRsaNumberBytesMax = 2048;

template <typename T, void (*kFree)(T*)>
struct Deleter {
  void operator()(T* pointer) const { kFree(pointer); }
};
using Bignum = std::unique_ptr<BIGNUM, Deleter<BIGNUM, BN_free>>;
using PkeyContext = std::unique_ptr<EVP_PKEY_CTX, Deleter<EVP_PKEY_CTX, EVP_PKEY_CTX_free>>;
using ParamBuilder = std::unique_ptr<OSSL_PARAM_BLD, Deleter<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>>;
using ParamList = std::unique_ptr<OSSL_PARAM, Deleter<OSSL_PARAM, OSSL_PARAM_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Deleter<EVP_MD_CTX, EVP_MD_CTX_free>>;

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Status Invalid(std::string why) { return Status(Code::kInvalidRequest, std::move(why)); }

Bignum ToNumber(std::string_view bytes) {
  return Bignum(BN_bin2bn(Bytes(bytes), static_cast<int>(bytes.size()), nullptr));
}

// Null when the numbers make no key.
EVP_PKEY* MakePkey(const char* type, OSSL_PARAM_BLD* builder) {
  const ParamList params(OSSL_PARAM_BLD_to_param(builder));
  const PkeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* pkey = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &pkey, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
    ERR_clear_error();
    return nullptr;
  }
  return pkey;
}

// Tokens have r and s one after the other, OpenSSL has them in DER. Empty when it cannot be.
std::string ToDer(std::string_view signature) {
  if (signature.size() != 2 * kP256NumberBytes) return {};
  const std::unique_ptr<ECDSA_SIG, Deleter<ECDSA_SIG, ECDSA_SIG_free>> pair(ECDSA_SIG_new());
  Bignum r = ToNumber(signature.substr(0, kP256NumberBytes));
  Bignum s = ToNumber(signature.substr(kP256NumberBytes));
  if (!pair || !r || !s || ECDSA_SIG_set0(pair.get(), r.get(), s.get()) != 1) return {};
  static_cast<void>(r.release());  // they are the pair's now
  static_cast<void>(s.release());
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(pair.get(), &der);
  if (size <= 0) return {};
  std::string out(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return out;
}

bool VerifyHmac(std::string_view secret, std::string_view text, std::string_view signature) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> expected{};
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), Bytes(text), text.size(),
           expected.data(), &size) == nullptr) {
    return false;
  }
  return signature.size() == size && CRYPTO_memcmp(expected.data(), signature.data(), size) == 0;
}

bool VerifyDigest(EVP_PKEY* pkey, const EVP_MD* digest, std::string_view text,
                  std::string_view signature) {
  const DigestContext context(EVP_MD_CTX_new());
  const bool valid = context &&
                     EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, pkey) == 1 &&
                     EVP_DigestVerify(context.get(), Bytes(signature), signature.size(),
                                      Bytes(text), text.size()) == 1;
  if (!valid) ERR_clear_error();
  return valid;
}

EVP_PKEY* ReadPem(std::string_view pem) {
  const auto open = [&] {
    return std::unique_ptr<BIO, decltype(&BIO_free)>(
        BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  };
  const auto bio = open();
  if (EVP_PKEY* pkey = PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr)) return pkey;
  const auto again = open();
  X509* certificate = PEM_read_bio_X509(again.get(), nullptr, nullptr, nullptr);
  EVP_PKEY* pkey = certificate == nullptr ? nullptr : X509_get_pubkey(certificate);
  X509_free(certificate);
  ERR_clear_error();
  return pkey;
}

}  // namespace

std::optional<Algorithm> ParseAlgorithm(std::string_view name) {
  for (const Algorithm algorithm :
       {Algorithm::kHs256, Algorithm::kRs256, Algorithm::kEs256, Algorithm::kEdDsa}) {
    if (name == AlgorithmName(algorithm)) return algorithm;
  }
  return std::nullopt;
}

std::string_view AlgorithmName(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kHs256:
      return "HS256";
    case Algorithm::kRs256:
      return "RS256";
    case Algorithm::kEs256:
      return "ES256";
    case Algorithm::kEdDsa:
      return "EdDSA";
  }
  return "";
}

VerifyKey VerifyKey::OfSecret(std::string secret) {
  assert(!secret.empty());
  VerifyKey key;
  key.secret_ = std::move(secret);
  return key;
}

Result<VerifyKey> VerifyKey::OfPem(std::string_view pem) {
  EVP_PKEY* pkey = ReadPem(pem);
  if (pkey == nullptr) return Invalid("it is no public key or certificate in PEM");
  return OfPkey("", pkey);
}

// Takes the key, which is then freed with the VerifyKey.
Result<VerifyKey> VerifyKey::OfPkey(std::string id, evp_pkey_st* pkey) {
  VerifyKey key;
  key.id_ = std::move(id);
  key.pkey_ = std::shared_ptr<evp_pkey_st>(pkey, EVP_PKEY_free);
  switch (EVP_PKEY_get_base_id(pkey)) {
    case EVP_PKEY_RSA:
      if (EVP_PKEY_get_bits(pkey) < kRsaBitsMin) {
        return Invalid(fmt::format("an RSA key needs at least {} bits", kRsaBitsMin));
      }
      key.algorithm_ = Algorithm::kRs256;
      return key;
    case EVP_PKEY_EC: {
      std::array<char, 64> curve{};
      size_t size = 0;
      EVP_PKEY_get_group_name(pkey, curve.data(), curve.size(), &size);
      if (std::string_view(curve.data(), size) != "prime256v1") {
        return Invalid("an EC key must be on the curve P-256");
      }
      key.algorithm_ = Algorithm::kEs256;
      return key;
    }
    case EVP_PKEY_ED25519:
      key.algorithm_ = Algorithm::kEdDsa;
      return key;
    default:
      return Invalid("a key must be RSA, EC on the curve P-256, or Ed25519");
  }
}

Result<VerifyKey> VerifyKey::OfRsa(std::string id, std::string_view n, std::string_view e) {
  if (n.size() > kRsaNumberBytesMax || e.size() > kRsaNumberBytesMax) {
    return Invalid("the RSA key is too long");
  }
  const Bignum modulus = ToNumber(n);
  const Bignum exponent = ToNumber(e);
  const ParamBuilder builder(OSSL_PARAM_BLD_new());
  if (!modulus || !exponent || !builder ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get()) != 1) {
    return Invalid("the RSA key is not valid");
  }
  EVP_PKEY* pkey = MakePkey("RSA", builder.get());
  if (pkey == nullptr) return Invalid("the RSA key is not valid");
  return OfPkey(std::move(id), pkey);
}

Result<VerifyKey> VerifyKey::OfP256(std::string id, std::string_view x, std::string_view y) {
  if (x.size() != kP256NumberBytes || y.size() != kP256NumberBytes) {
    return Invalid("x and y of an EC key have 32 bytes each");
  }
  std::string point = "\x04";  // not compressed
  point.append(x).append(y);
  const ParamBuilder builder(OSSL_PARAM_BLD_new());
  if (!builder ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) != 1) {
    return Invalid("the EC key is not valid");
  }
  EVP_PKEY* pkey = MakePkey("EC", builder.get());
  if (pkey == nullptr) return Invalid("the EC key is not on its curve");
  return OfPkey(std::move(id), pkey);
}

Result<VerifyKey> VerifyKey::OfEd25519(std::string id, std::string_view x) {
  EVP_PKEY* pkey = x.size() != kEd25519Bytes
                       ? nullptr
                       : EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, Bytes(x), x.size());
  if (pkey == nullptr) return Invalid("x of an Ed25519 key has 32 bytes");
  return OfPkey(std::move(id), pkey);
}

bool VerifyKey::Verify(std::string_view text, std::string_view signature) const {
  switch (algorithm_) {
    case Algorithm::kHs256:
      return VerifyHmac(secret_, text, signature);
    case Algorithm::kRs256:
      return VerifyDigest(pkey_.get(), EVP_sha256(), text, signature);
    case Algorithm::kEs256: {
      const std::string der = ToDer(signature);
      return !der.empty() && VerifyDigest(pkey_.get(), EVP_sha256(), text, der);
    }
    case Algorithm::kEdDsa:
      return VerifyDigest(pkey_.get(), nullptr, text, signature);
  }
  return false;
}

}  // namespace queen::auth
