#include "embedded/cluster_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

namespace queen::embedded {
namespace {

constexpr char kIncludeLine[] = "include 'queen.conf'";

constexpr char kHba[] =
    "# Written by Queen at every start; see queen.conf for where to put your own settings.\n"
    "local  all  all  peer map=queen\n";

Status CannotWrite(const std::string& path) {
  return Status(Code::kInternal, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

// A name as pg_ident.conf reads it: quoted, so that nothing in it is special.
std::string QuoteIdent(const std::string& name) { return fmt::format("\"{}\"", name); }

Status AddIncludeLine(const Layout& layout, const ClusterUser& user) {
  const std::string path = layout.cluster + "/postgresql.conf";
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::string conf = text.str();
  if (("\n" + conf).find(std::string("\n") + kIncludeLine) != std::string::npos) {
    return Status::Ok();
  }
  if (!conf.empty() && !conf.ends_with('\n')) conf += '\n';
  conf += kIncludeLine;
  conf += '\n';
  return ReplaceFile(path, conf, user);
}

}  // namespace

std::string QuoteConf(const std::string& value) {
  std::string quoted = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') quoted += c;
    quoted += c;
  }
  return quoted + "'";
}

std::string RenderConf(const std::vector<Setting>& settings, const Layout& layout) {
  std::string conf = fmt::format(
      "# Written by Queen at every start for this machine; changes here are lost.\n"
      "# Put your own settings into {}, which is read last.\n",
      layout.custom_conf);
  const auto add = [&conf](const std::string& name, const std::string& value) {
    conf += fmt::format("{} = {}\n", name, QuoteConf(value));
  };
  for (const Setting& setting : settings) add(setting.name, setting.value);
  add("listen_addresses", "");
  add("unix_socket_permissions", "0700");
  add("hba_file", layout.cluster + "/queen_hba.conf");
  add("ident_file", layout.cluster + "/queen_ident.conf");
  conf += fmt::format("include_if_exists {}\n", QuoteConf(layout.custom_conf));
  return conf;
}

std::string RenderIdent(const ClusterUser& user) {
  std::string map = "# Written by Queen at every start.\n";
  for (const std::string& name : std::set<std::string>{user.broker_name, user.name}) {
    for (const char* role : {"queen", "postgres"}) {
      map += fmt::format("queen  {}  {}\n", QuoteIdent(name), role);
    }
  }
  return map;
}

Status ReplaceFile(const std::string& path, const std::string& text, const ClusterUser& user) {
  const std::string temporary = path + ".queen-new";
  unlink(temporary.c_str());
  const int fd =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return CannotWrite(temporary);
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = write(fd, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += static_cast<size_t>(wrote);
  }
  const bool written =
      done == text.size() && (!user.drops || fchown(fd, user.uid, user.gid) == 0) && fsync(fd) == 0;
  Status failure = written ? Status::Ok() : CannotWrite(temporary);
  close(fd);
  if (!failure.ok()) return failure;
  if (rename(temporary.c_str(), path.c_str()) != 0) return CannotWrite(path);
  return Status::Ok();
}

Status WriteClusterFiles(const std::vector<Setting>& settings, const Layout& layout,
                         const ClusterUser& user) {
  QUEEN_RETURN_IF_ERROR(
      ReplaceFile(layout.cluster + "/queen.conf", RenderConf(settings, layout), user));
  QUEEN_RETURN_IF_ERROR(ReplaceFile(layout.cluster + "/queen_hba.conf", kHba, user));
  QUEEN_RETURN_IF_ERROR(ReplaceFile(layout.cluster + "/queen_ident.conf", RenderIdent(user), user));
  return AddIncludeLine(layout, user);
}

}  // namespace queen::embedded
