// The families of commands, each in a file of its own.
#pragma once

#include <vector>

#include "cli/command.h"

namespace queen::cli {

Command PushCommand();
Command PopCommand();
Command TailCommand();
Command QueuesCommand();
Command QueueCommand();
Command GroupsCommand();
Command GroupCommand();
Command SeekCommand();
Command DlqCommand();
Command MessagesCommand();
Command MessageCommand();
Command TraceCommand();
Command TopCommand();
Command DoctorCommand();
Command ExplainCommand();
Command AuditCommand();

}  // namespace queen::cli
