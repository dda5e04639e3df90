// Session: what every command shares. The way to the broker, how to print, and how failures become
// exit codes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <queen/admin.h>
#include <queen/client.h>
#include "base/json_value.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/terminal.h"
#include "config/setting.h"

namespace queen::cli {

// What every command that talks to a broker takes.
struct SharedOptions {
  std::string url;
  std::string token_file;
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  std::string output = "table";
  bool no_colour = false;
  int64_t timeout_seconds = 30;
};

// The rows of those options.
std::vector<Option> SharedOptionRows(SharedOptions& options);

class Session {
 public:
  // Finds the broker and the token: flags, then QUEEN_URL, QUEEN_TOKEN and QUEEN_TOKEN_FILE.
  Session(SharedOptions options, const config::Environment& environment);
  ~Session();

  // Why there can be no session (a token file that cannot be read), or "".
  const std::string& problem() const { return problem_; }

  client::Client& client() { return *client_; }
  client::Admin& admin() { return *admin_; }
  // A client that goes on trying for minutes, for long work. Says once that it does.
  client::Client PatientClient() const;
  // One that tries each request so often.
  client::Client NewClient(int64_t tries) const;

  // The reply to GET `path` of each broker that --url names.
  std::vector<client::Admin::Json> FromEveryBroker(const std::string& path) const;
  // As --url gives it.
  std::string url() const;

  bool json() const { return options_.output == "json"; }
  const Terminal& out() const { return out_; }
  const config::Environment& environment() const { return environment_; }

  // Prints why on standard error, with what to do about it; answers the exit code.
  int Fail(const client::Error& error) const;
  int Fail(const std::string& why, ExitCode code = kFailed) const;

  // From the parsed document; answers an exit code.
  using Judge = std::function<int(const JsonValue&)>;

  // Prints a report: as it is with -o json, else by `show`. The exit code is that of `judge` in
  // both forms, where there is one; a document that it finds at fault is no table.
  int Show(const client::Admin::Json& report, const Judge& show, const Judge& judge = {}) const;

  // Prints a report of measured numbers, after measuring anew if `refresh`.
  int ShowMeasured(bool refresh, const std::function<client::Admin::Json()>& ask,
                   const std::function<int(const JsonValue&)>& show);

  // Prints a text on standard output; false if it, or one before it, could not be written.
  static bool Print(const std::string& text);

  // The exit code of a command that ends with `code`: one whose output was lost has failed, and
  // says so. Where the reader went away (`| head`) he has seen enough.
  static int Ended(int code);

 private:
  client::Options ClientOptions(int rounds) const;

  SharedOptions options_;
  const config::Environment& environment_;
  std::vector<std::string> urls_;
  std::string token_;
  std::string problem_;
  Terminal out_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<client::Admin> admin_;
};

}  // namespace queen::cli
