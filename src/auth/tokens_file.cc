#include "auth/tokens_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>

#include "auth/jwt.h"
#include "auth/roles.h"
#include "base/comma_list.h"
#include "base/utf8.h"

namespace queen::auth {
namespace {

constexpr std::string_view kHashPrefix = "sha256:";
constexpr size_t kFileBytesMax = size_t{4} << 20;

Status Invalid(std::string why) { return Status(Code::kInvalidRequest, std::move(why)); }

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == line.npos) return words;
    line.remove_prefix(begin);
    const size_t end = std::min(line.find_first_of(" \t\r"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<TokenHash> ParseHash(std::string_view text) {
  TokenHash hash{};
  if (text.size() != 2 * hash.size()) return std::nullopt;
  for (size_t i = 0; i < hash.size(); ++i) {
    const int high = DigitOf(text[2 * i]);
    const int low = DigitOf(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    hash[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return hash;
}

Status TakeHash(std::string_view word, TokenHash& hash) {
  if (word.starts_with(kHashPrefix)) {
    const std::optional<TokenHash> parsed = ParseHash(word.substr(kHashPrefix.size()));
    if (!parsed) return Invalid("sha256: is followed by 64 hexadecimal digits");
    hash = *parsed;
    return Status::Ok();
  }
  if (word.size() < kPlainTokenBytesMin) {
    return Invalid(fmt::format("a token has at least {} characters", kPlainTokenBytesMin));
  }
  hash = HashToken(word);
  return Status::Ok();
}

Status TakeOption(std::string_view word, Identity& identity) {
  const size_t equals = word.find('=');
  const std::string_view key = word.substr(0, equals);
  const std::string_view value = equals == word.npos ? "" : word.substr(equals + 1);
  if (key == "sub") {
    identity.subject = value;
    if (value.size() <= kSubjectBytesMax && IsValidUtf8(value)) return Status::Ok();
    return Invalid("sub= is at most 255 bytes of UTF-8");
  }
  std::vector<std::string>* list = key == "push"    ? &identity.queues.push
                                   : key == "pop"   ? &identity.queues.pop
                                   : key == "admin" ? &identity.queues.admin
                                                    : nullptr;
  if (list == nullptr || equals == word.npos) {
    return Invalid("after the role there may be sub=, push=, pop= and admin=");
  }
  identity.queues.limited = true;
  *list = SplitCommaList(value);
  return Status::Ok();
}

Result<StoredToken> ParseLine(const std::vector<std::string_view>& words) {
  StoredToken token;
  QUEEN_RETURN_IF_ERROR(TakeHash(words[0], token.hash));
  const std::optional<Role> role = words.size() < 2 ? std::nullopt : ParseRole(words[1]);
  if (!role) return Invalid("after the token comes a role: read-only, read-write or admin");
  token.identity.role = *role;
  token.identity.source = Identity::Source::kTokenFile;
  token.identity.token_id = TokenIdOf(token.hash);
  for (size_t i = 2; i < words.size(); ++i) {
    QUEEN_RETURN_IF_ERROR(TakeOption(words[i], token.identity));
  }
  return token;
}

Result<std::string> ReadAll(int fd) {
  std::string text;
  std::array<char, size_t{16} * 1024> piece{};
  while (true) {
    const ssize_t size = read(fd, piece.data(), piece.size());
    if (size == 0) return text;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return Invalid(std::strerror(errno));
    text.append(piece.data(), static_cast<size_t>(size));
    if (text.size() > kFileBytesMax) return Invalid("the file is too large");
  }
}

}  // namespace

Result<std::vector<StoredToken>> ParseTokensFile(std::string_view text) {
  std::vector<StoredToken> tokens;
  std::set<TokenHash> seen;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> words = Words(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty() || words[0].starts_with('#')) continue;
    Result<StoredToken> token = ParseLine(words);
    if (!token.ok()) return Invalid(fmt::format("line {}: {}", number, token.status().message()));
    if (!seen.insert(token->hash).second) {
      return Invalid(fmt::format("line {}: the token was there before", number));
    }
    tokens.push_back(*std::move(token));
  }
  return tokens;
}

Result<std::vector<StoredToken>> ReadTokensFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Invalid(std::strerror(errno));
  struct stat info {};
  Result<std::string> text = Invalid("it is no file");
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    const bool exposed = (info.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) != 0;
    text = exposed ? Invalid(fmt::format("others may read or change it: chmod 600 {}", path))
                   : ReadAll(fd);
  }
  close(fd);
  if (!text.ok()) return text.status();
  return ParseTokensFile(*text);
}

}  // namespace queen::auth
