#include "http/request.h"

#include <algorithm>

#include "http/percent.h"

namespace queen::http {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

}  // namespace

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return Lower(x) == Lower(y); });
}

std::string Request::path() const {
  std::string decoded;
  if (!AppendPercentDecoded(raw_path(), Plus::kIsPlus, decoded)) return std::string(raw_path());
  return decoded;
}

Status Request::DecodeQuery() {
  if (query_span_.size == 0) return Status::Ok();
  auto parsed = Query::Parse(raw_query());
  if (!parsed.ok()) return parsed.status();
  query_ = *std::move(parsed);
  return Status::Ok();
}

std::optional<std::string_view> Request::Header(std::string_view name) const {
  for (const Field& field : headers_) {
    if (EqualsIgnoringCase(At(field.name), name)) return At(field.value);
  }
  return std::nullopt;
}

size_t Request::CountHeaders(std::string_view name) const {
  return static_cast<size_t>(
      std::count_if(headers_.begin(), headers_.end(),
                    [&](const Field& field) { return EqualsIgnoringCase(At(field.name), name); }));
}

std::string_view Request::Param(std::string_view name) const {
  for (const auto& [key, value] : params_) {
    if (key == name) return value;
  }
  return {};
}

void Request::AddParam(std::string_view name, std::string value) {
  params_.emplace_back(name, std::move(value));
}

void Request::SplitTarget() {
  const std::string_view all = target();
  const auto span = [&](size_t begin, size_t end) {
    return Span{target_.begin + static_cast<uint32_t>(begin), static_cast<uint32_t>(end - begin)};
  };
  size_t begin = 0;
  // Proxies may send the absolute form, "http://host/path".
  if (const size_t scheme = all.find("://"); !all.starts_with('/') && scheme != all.npos) {
    begin = std::min(all.find_first_of("/?", scheme + 3), all.size());
    // Without a path it means "/", which stands in "://".
    path_ = span(scheme + 1, scheme + 2);
  }
  const size_t end = std::min(all.find('?', begin), all.size());
  if (begin < end && all[begin] == '/') path_ = span(begin, end);
  if (end < all.size()) query_span_ = span(end + 1, all.size());
}

}  // namespace queen::http
