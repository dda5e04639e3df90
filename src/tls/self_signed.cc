#include "tls/self_signed.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "tls/context.h"
#include "tls/handles.h"
#include "tls/openssl_error.h"

namespace queen::tls {
namespace {

constexpr int64_t kWeekSeconds = int64_t{7} * 24 * 3600;
constexpr long kClockSkewSeconds = 3600;

bool IsAddress(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, name.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1;
}

std::string AlternativeNames(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text.append(text.empty() ? "" : ",").append(IsAddress(name) ? "IP:" : "DNS:").append(name);
  }
  return text;
}

bool AddExtension(X509* certificate, int kind, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : std::string();
}

bool Fill(X509* certificate, EVP_PKEY* key, const SelfSignedOptions& options) {
  std::array<unsigned char, 8> serial{};
  if (RAND_bytes(serial.data(), static_cast<int>(serial.size())) != 1) return false;
  uint64_t number = 0;
  memcpy(&number, serial.data(), serial.size());
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), number >> 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kClockSkewSeconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate), long{options.days} * 24 * 3600);
  X509_NAME* const subject = X509_get_subject_name(certificate);
  return X509_set_pubkey(certificate, key) == 1 &&
         X509_NAME_add_entry_by_txt(
             subject, "CN", MBSTRING_UTF8,
             reinterpret_cast<const unsigned char*>(options.common_name.data()),
             static_cast<int>(options.common_name.size()), -1, 0) == 1 &&
         X509_set_issuer_name(certificate, subject) == 1 &&
         AddExtension(certificate, NID_subject_alt_name, AlternativeNames(options.names)) &&
         AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE") &&
         AddExtension(certificate, NID_key_usage, "critical,digitalSignature,keyCertSign") &&
         X509_sign(certificate, key, EVP_sha256()) > 0;
}

// Whole or not at all, and never readable by others.
Status WriteFile(const std::string& path, const std::string& text) {
  const std::string fresh = fmt::format("{}.{}", path, getpid());
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const auto failed = [&] {
    return Status(Code::kInternal, fmt::format("Cannot write {}: {}", fresh, strerror(errno)));
  };
  if (fd < 0) return failed();
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (close(fd) != 0 || !written) return failed();
  return std::rename(fresh.c_str(), path.c_str()) == 0 ? Status::Ok() : failed();
}

}  // namespace

Result<PemPair> MakeSelfSigned(const SelfSignedOptions& options) {
  const KeyPtr key(EVP_EC_gen("P-256"));
  const CertificatePtr certificate(X509_new());
  const BioPtr certificate_text(BIO_new(BIO_s_mem()));
  const BioPtr key_text(BIO_new(BIO_s_mem()));
  if (!key || !certificate || !Fill(certificate.get(), key.get(), options) ||
      PEM_write_bio_X509(certificate_text.get(), certificate.get()) != 1 ||
      PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return Status(Code::kInternal, "Cannot make a certificate: " + TakeError());
  }
  return PemPair{TextOf(certificate_text.get()), TextOf(key_text.get())};
}

Result<PemFiles> KeepSelfSigned(const std::string& directory, const SelfSignedOptions& options) {
  PemFiles files{directory + "/self-signed.crt", directory + "/self-signed.key"};
  Files pair;
  pair.certificate = files.certificate;
  pair.key = files.key;
  const auto there = Context::Load(pair);
  if (there.ok() && (*there)->expires_at() > time(nullptr) + kWeekSeconds) return files;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return Status(Code::kInternal, fmt::format("Cannot make {}: {}", directory, error.message()));
  }
  const auto made = MakeSelfSigned(options);
  if (!made.ok()) return made.status();
  QUEEN_RETURN_IF_ERROR(WriteFile(files.key, made->key));
  QUEEN_RETURN_IF_ERROR(WriteFile(files.certificate, made->certificate));
  return files;
}

}  // namespace queen::tls
