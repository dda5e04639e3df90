// Shell completion, from the tree of commands. The scripts for bash, zsh and fish only pass the
// words on to `queen __complete`, which answers one candidate per line, so that the three behave
// alike and know the names of queues and groups of the broker.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace queen::cli {

struct Candidate {
  std::string word;
  std::string help;
};

// Names the broker knows, for Offer::kQueue and kGroup; empty where it cannot be asked.
using AskBroker = std::function<std::vector<std::string>(Offer)>;

struct Completion {
  std::vector<Candidate> candidates;
  bool files = false;  // the shell's own file names are wanted
};

// `words` are those behind "queen", the last one unfinished.
Completion Complete(const Command& root, const std::vector<std::string>& words,
                    const AskBroker& ask);

// The script for "bash", "zsh" or "fish"; "" for another shell.
std::string CompletionScript(std::string_view shell);

}  // namespace queen::cli
