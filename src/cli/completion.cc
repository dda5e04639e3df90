#include "cli/completion.h"

#include <algorithm>

namespace queen::cli {
namespace {

constexpr std::string_view kBash = R"(# Completion of queen for bash: source it, or put it into
# /usr/share/bash-completion/completions/queen. Written by `queen completion bash`.
_queen() {
    local line word
    COMPREPLY=()
    while IFS= read -r line; do
        if [ "$line" = ":files" ]; then
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
            return
        fi
        printf -v word %q "${line%%$'\t'*}"
        COMPREPLY+=("$word")
    done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _queen queen
)";

constexpr std::string_view kZsh = R"(#compdef queen
# Completion of queen for zsh: put it as _queen into a directory of $fpath. Written by
# `queen completion zsh`.
_queen() {
    local line
    local -a candidates
    for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        if [[ "$line" = ":files" ]]; then
            _files
            return
        fi
        [[ -n "$line" ]] && candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    (( ${#candidates} )) && _describe queen candidates
}
if [ "$funcstack[1]" = "_queen" ]; then
    _queen "$@"
else
    compdef _queen queen
fi
)";

constexpr std::string_view kFish = R"(# Completion of queen for fish: put it into
# ~/.config/fish/completions/queen.fish. Written by `queen completion fish`.
function __queen_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines ($words[1] __complete $words[2..-1] 2>/dev/null)
    if test "$lines[1]" = ":files"
        __fish_complete_path (commandline -ct)
    else
        string join \n -- $lines
    end
end
complete -c queen -f -a '(__queen_complete)'
)";

bool IsSwitch(const Option& option) { return std::holds_alternative<bool*>(option.target); }

const Option* FindOption(const Command& command, std::string_view word) {
  for (const Option& option : command.options) {
    const size_t comma = option.names.find(',');
    if (word == LongName(option)) return &option;
    if (comma != std::string::npos && word == std::string_view(option.names).substr(0, comma)) {
      return &option;
    }
  }
  return nullptr;
}

class Completer {
 public:
  Completer(const AskBroker& ask, std::string unfinished)
      : ask_(ask), unfinished_(std::move(unfinished)) {}

  void Add(const std::string& word, const std::string& help) {
    if (word.starts_with(unfinished_)) result_.candidates.push_back({word, help});
  }

  void AddOffer(Offer offer) {
    if (offer == Offer::kFile) result_.files = true;
    if (offer != Offer::kQueue && offer != Offer::kGroup) return;
    for (const std::string& name : ask_(offer)) Add(name, "");
  }

  void AddValuesOf(const Option& option) {
    for (const std::string& choice : option.choices) Add(choice, "");
    AddOffer(option.offer);
  }

  Completion Take() { return std::move(result_); }

 private:
  const AskBroker& ask_;
  const std::string unfinished_;
  Completion result_;
};

}  // namespace

Completion Complete(const Command& root, const std::vector<std::string>& words,
                    const AskBroker& ask) {
  const std::string unfinished = words.empty() ? "" : words.back();
  Completer completer(ask, unfinished);
  const Command* command = &root;
  const Option* wants_value = nullptr;
  size_t arguments = 0;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (wants_value != nullptr) {
      wants_value = nullptr;
    } else if (word.starts_with('-')) {
      const Option* option = FindOption(*command, word);
      if (option != nullptr && !IsSwitch(*option)) wants_value = option;
    } else if (!command->children.empty()) {
      const auto child = std::ranges::find(command->children, word, &Command::name);
      if (child == command->children.end()) return {};
      command = &*child;
    } else {
      ++arguments;
    }
  }
  if (wants_value != nullptr) {
    completer.AddValuesOf(*wants_value);
    return completer.Take();
  }
  if (unfinished.starts_with('-')) {
    for (const Option& option : command->options) completer.Add(LongName(option), option.help);
    return completer.Take();
  }
  for (const Command& child : command->children) completer.Add(child.name, child.summary);
  if (command->children.empty() && !command->arguments.empty()) {
    const size_t place = std::min(arguments, command->arguments.size() - 1);
    completer.AddOffer(command->arguments[place].offer);
  }
  return completer.Take();
}

std::string CompletionScript(std::string_view shell) {
  if (shell == "bash") return std::string(kBash);
  if (shell == "zsh") return std::string(kZsh);
  if (shell == "fish") return std::string(kFish);
  return "";
}

}  // namespace queen::cli
