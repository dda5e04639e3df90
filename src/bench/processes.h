// Processes of this machine, from /proc: who listens on a port, which postmaster belongs to a
// broker, and what processor time and memory they used. What cannot be read (another machine,
// another user's process) is nullopt. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace queen::bench {

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name{};         // as the kernel has it, at most 15 bytes
  double own_seconds = 0;     // user and system, all threads
  double reaped_seconds = 0;  // of children that have ended
};

// One line of /proc/<pid>/stat; nullopt if it is none.
std::optional<Process> ParseStat(std::string_view line, double ticks_per_second);

std::optional<Process> ReadProcess(pid_t pid);
// All there are.
std::vector<Process> ListProcesses();

// The process that listens on a TCP port of this machine.
std::optional<pid_t> FindListener(int port);

// The postmaster among `processes` that is a child of `broker`, else the only one there is. A
// postmaster is called postgres and its parent is not.
std::optional<pid_t> FindPostmaster(const std::vector<Process>& processes,
                                    std::optional<pid_t> broker);

// The processor time of the postmaster and everything below it, ended children included.
std::optional<double> ClusterSeconds(const std::vector<Process>& processes, pid_t postmaster);

// Begins a new peak of resident memory; false if that is not allowed (the peak is then of its whole
// life).
bool ResetPeakMemory(pid_t pid);
std::optional<uint64_t> PeakMemoryBytes(pid_t pid);

// The connection string of the cluster that `postmaster` runs, over its Unix socket and with the
// names a broker gives its own; nullopt if its files cannot be read or it has no socket.
std::optional<std::string> EmbeddedConninfo(pid_t postmaster);

}  // namespace queen::bench
