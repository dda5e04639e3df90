#include "pg/connect_options.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <memory>

namespace queen::pg {
namespace {

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using OptionList = std::unique_ptr<PQconninfoOption, FreeOptions>;

Status Malformed() {
  return Status(Code::kInvalidRequest,
                "the PostgreSQL connection string cannot be parsed; characters of a password such "
                "as @ / : % # must be percent-encoded in a URL");
}

void Set(Keywords& keywords, std::string_view name, std::string value) {
  for (auto& [key, current] : keywords) {
    if (key == name) {
      current = std::move(value);
      return;
    }
  }
  keywords.emplace_back(name, std::move(value));
}

bool Has(const Keywords& keywords, std::string_view name) {
  return std::any_of(keywords.begin(), keywords.end(),
                     [&](const auto& keyword) { return keyword.first == name; });
}

void SetDefault(Keywords& keywords, std::string_view name, std::string value) {
  if (!Has(keywords, name)) keywords.emplace_back(name, std::move(value));
}

// One port, or one for each host; where it is left out libpq takes its own.
bool ArePorts(std::string_view text) {
  while (!text.empty()) {
    const std::string_view port = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), port.size() + 1));
    uint16_t number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    const bool is_port = error == std::errc() && end == port.data() + port.size() && number > 0;
    if (!port.empty() && !is_port) return false;
  }
  return true;
}

// The keywords in a connection string, without defaults and environment. No error shows any of it:
// where it is malformed, any part may be the password.
Result<Keywords> ParseConninfo(const std::string& conninfo) {
  Keywords keywords;
  if (conninfo.empty()) return keywords;
  char* error = nullptr;
  const OptionList options(PQconninfoParse(conninfo.c_str(), &error));
  if (!options) {
    PQfreemem(error);
    return Malformed();
  }
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) keywords.emplace_back(option->keyword, option->val);
  }
  // "postgresql://user:secret" without a host has the password for a port.
  if (!ArePorts(Find(keywords, "port"))) return Malformed();
  return keywords;
}

// The caller's keywords: the connection string with `keywords` on top.
Keywords Given(const ConnectOptions& options) {
  auto parsed = ParseConninfo(options.conninfo);
  Keywords given = parsed.ok() ? *std::move(parsed) : Keywords{};
  for (const auto& [name, value] : options.keywords) Set(given, name, value);
  return given;
}

Status CheckKeywordNames(const Keywords& keywords) {
  const OptionList known(PQconndefaults());
  if (!known) return Status(Code::kInternal, "libpq gave no list of its keywords");
  for (const auto& [name, value] : keywords) {
    bool found = false;
    for (const PQconninfoOption* option = known.get(); option->keyword != nullptr; ++option) {
      found = found || name == option->keyword;
    }
    if (!found) return Status(Code::kInvalidRequest, "libpq has no keyword " + name);
    if (value.find('\0') != std::string::npos) {
      return Status(Code::kInvalidRequest, "a NUL byte in the keyword " + name);
    }
  }
  return Status::Ok();
}

bool IsSettingName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  });
}

// `positive` must be > 0, the others >= 0.
Status CheckNumber(std::string_view name, int value, bool positive) {
  if (value < 0 || (positive && value == 0)) {
    return Status(Code::kInvalidRequest, fmt::format("{} is {}, which is too small", name, value));
  }
  return Status::Ok();
}

struct Address {
  std::string host;  // "": libpq's own choice of a socket
  std::string port;
  std::string user;
  std::string dbname;
};

// What was given, and what libpq takes where nothing was.
Address AddressOf(const Keywords& given) {
  const OptionList defaults(PQconndefaults());
  const auto value_of = [&](std::string_view name) {
    std::string value(Find(given, name));
    if (!value.empty() || !defaults) return value;
    for (const PQconninfoOption* option = defaults.get(); option->keyword != nullptr; ++option) {
      if (name == option->keyword && option->val != nullptr) value = option->val;
    }
    return value;
  };
  Address address{value_of("host"), value_of("port"), value_of("user"), value_of("dbname")};
  if (address.host.empty()) address.host = value_of("hostaddr");
  return address;
}

// One word for a shell, quoted where it has to be.
std::string ShellWord(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_./,:@%+=-").find(c) != std::string_view::npos;
  });
  if (plain && !text.empty()) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string_view Find(const Keywords& keywords, std::string_view name) {
  for (const auto& [key, value] : keywords) {
    if (key == name) return value;
  }
  return {};
}

Status CheckConninfo(const std::string& conninfo) { return ParseConninfo(conninfo).status(); }

Status ConnectOptions::Validate() const {
  const auto parsed = ParseConninfo(conninfo);
  if (!parsed.ok()) return parsed.status();
  QUEEN_RETURN_IF_ERROR(CheckKeywordNames(keywords));
  QUEEN_RETURN_IF_ERROR(CheckNumber("connect_timeout_ms", connect_timeout_ms, true));
  QUEEN_RETURN_IF_ERROR(CheckNumber("in_flight_deadline_ms", in_flight_deadline_ms, true));
  QUEEN_RETURN_IF_ERROR(CheckNumber("backoff_base_ms", backoff_base_ms, true));
  QUEEN_RETURN_IF_ERROR(CheckNumber("backoff_max_ms", backoff_max_ms, true));
  QUEEN_RETURN_IF_ERROR(CheckNumber("keepalives_idle_s", keepalives_idle_s, false));
  QUEEN_RETURN_IF_ERROR(CheckNumber("keepalives_interval_s", keepalives_interval_s, false));
  QUEEN_RETURN_IF_ERROR(CheckNumber("keepalives_count", keepalives_count, false));
  QUEEN_RETURN_IF_ERROR(CheckNumber("tcp_user_timeout_ms", tcp_user_timeout_ms, false));
  QUEEN_RETURN_IF_ERROR(CheckNumber("statement_timeout_ms", statement_timeout_ms, false));
  QUEEN_RETURN_IF_ERROR(CheckNumber("lock_timeout_ms", lock_timeout_ms, false));
  QUEEN_RETURN_IF_ERROR(
      CheckNumber("idle_in_transaction_timeout_ms", idle_in_transaction_timeout_ms, false));
  QUEEN_RETURN_IF_ERROR(CheckNumber("client_connection_check_interval_ms",
                                    client_connection_check_interval_ms, false));
  if (backoff_max_ms < backoff_base_ms) {
    return Status(Code::kInvalidRequest, "backoff_max_ms is below backoff_base_ms");
  }
  if (in_flight_deadline_ms <= statement_timeout_ms) {
    return Status(Code::kInvalidRequest,
                  fmt::format("the in-flight deadline of {} ms must be longer than the statement "
                              "timeout of {} ms",
                              in_flight_deadline_ms, statement_timeout_ms));
  }
  ConnectOptions pinned = *this;
  pinned.settings.clear();
  const Keywords ours = pinned.SessionSettings();
  for (const auto& [name, value] : settings) {
    if (!IsSettingName(name)) {
      return Status(Code::kInvalidRequest, "not the name of a setting: " + name);
    }
    if (Has(ours, name)) {
      return Status(Code::kInvalidRequest, "the setting " + name + " is pinned by the broker");
    }
  }
  return Status::Ok();
}

Keywords ConnectOptions::SessionSettings() const {
  Keywords pinned = {
      {"default_transaction_isolation", "read committed"},
      {"synchronous_commit", "on"},
      // That a commit no longer waits for its standby is only said in a warning.
      {"client_min_messages", "notice"},
      {"search_path", "pg_catalog,pg_temp"},
      {"timezone", "UTC"},
      {"datestyle", "ISO"},
      {"intervalstyle", "postgres"},
      {"enable_seqscan", "off"},
      // The newest row of a key is one step from the end of the index, and many from its begin
      // while an old transaction keeps what was removed: a bitmap is of all of them.
      {"enable_bitmapscan", "off"},
      {"jit", "off"},
      {"plan_cache_mode", plan_cache_mode},
      {"statement_timeout", std::to_string(statement_timeout_ms)},
      {"lock_timeout", std::to_string(lock_timeout_ms)},
      {"idle_in_transaction_session_timeout", std::to_string(idle_in_transaction_timeout_ms)},
      // Our connections idle by design; a server-wide limit would cut them one by one.
      {"idle_session_timeout", "0"},
  };
  const auto unless_zero = [&](std::string_view name, int value) {
    if (value != 0) pinned.emplace_back(name, std::to_string(value));
  };
  unless_zero("tcp_keepalives_idle", keepalives_idle_s);
  unless_zero("tcp_keepalives_interval", keepalives_interval_s);
  unless_zero("tcp_keepalives_count", keepalives_count);
  unless_zero("tcp_user_timeout", tcp_user_timeout_ms);
  unless_zero("client_connection_check_interval", client_connection_check_interval_ms);
  for (const auto& [name, value] : settings) pinned.emplace_back(name, value);
  return pinned;
}

std::string StartupOptions(const Keywords& settings) {
  std::string options;
  for (const auto& [name, value] : settings) {
    if (!options.empty()) options += ' ';
    options += "-c ";
    options += name;
    options += '=';
    for (const char c : value) {
      if (c == '\\' || c == ' ' || (c >= '\t' && c <= '\r')) options += '\\';
      options += c;
    }
  }
  return options;
}

Keywords ConnectOptions::ConnectionKeywords() const {
  Keywords all = Given(*this);
  SetDefault(all, "application_name", application_name);
  SetDefault(all, "target_session_attrs", "read-write");
  // Looking for a Kerberos ticket reads files and may ask a server, all on the loop's thread.
  SetDefault(all, "gssencmode", "disable");
  const auto unless_zero = [&](std::string_view name, int value) {
    if (value != 0) SetDefault(all, name, std::to_string(value));
  };
  unless_zero("keepalives_idle", keepalives_idle_s);
  unless_zero("keepalives_interval", keepalives_interval_s);
  unless_zero("keepalives_count", keepalives_count);
  unless_zero("tcp_user_timeout", tcp_user_timeout_ms);
  Set(all, "client_encoding", "UTF8");
  std::string options(Find(all, "options"));
  if (!options.empty()) options += ' ';
  // The server applies them in order, so ours, which come last, win.
  Set(all, "options", options + StartupOptions(SessionSettings()));
  return all;
}

std::string ConnectOptions::Describe() const {
  const Address address = AddressOf(Given(*this));
  return fmt::format("{}@{}:{}/{}", address.user,
                     address.host.empty() ? "local socket" : address.host, address.port,
                     address.dbname);
}

std::string ConnectOptions::PsqlCommand() const {
  const Address address = AddressOf(Given(*this));
  std::string command = "psql";
  const auto add = [&](std::string_view flag, const std::string& value) {
    if (!value.empty()) command += fmt::format(" {}{}", flag, ShellWord(value));
  };
  add("-h ", address.host);
  add("-p ", address.port);
  add("-U ", address.user);
  add("", address.dbname);
  return command;
}

int ConnectOptions::EffectiveConnectTimeoutMs() const {
  const Keywords given = Given(*this);
  const std::string_view text = Find(given, "connect_timeout");
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool usable =
      error == std::errc() && end == text.data() + text.size() && seconds > 0 && seconds < 86'400;
  return usable ? seconds * 1000 : connect_timeout_ms;
}

}  // namespace queen::pg
