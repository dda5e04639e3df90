// `queen explain`: why a partition does or does not move on for a consumer group, in the broker's
// own words and numbers.
#include <fmt/format.h>

#include <memory>

#include "base/json_reader.h"
#include "cli/families.h"
#include "cli/json_text.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/units.h"

namespace queen::cli {
namespace {

struct ExplainOptions {
  std::string queue;
  std::string partition = "Default";
  std::string group;
};

// "leaseExpiresAt" -> "lease expires at".
std::string WordsOf(std::string_view key) {
  std::string words;
  for (const char c : key) {
    if (c >= 'A' && c <= 'Z' && !words.empty()) words += ' ';
    words += c == '_' ? ' ' : static_cast<char>(tolower(c));
  }
  return words;
}

std::string ValueText(const JsonValue& value) {
  const std::string text = TextOf(value);
  return value.is_string() && SecondsOf(text) > 0 ? ShowTime(text) : OrDash(text);
}

// Fields of objects as lines, those of inner objects indented below their name.
void AddLines(std::string& out, const Terminal& terminal, const JsonValue& object, size_t depth) {
  const std::string indent(depth * 2, ' ');
  for (const JsonField& field : JsonFields(object)) {
    if (depth == 0 && (field.key == "summary" || field.key == "next")) continue;  // said before
    if (field.value.is_null()) continue;
    const std::string name = terminal.Paint(Colour::kBold, Printable(WordsOf(field.key)));
    if (field.value.is_object()) {
      std::string inside;
      AddLines(inside, terminal, field.value, depth + 1);
      if (!inside.empty()) out.append(indent).append(name).append("\n").append(inside);
    } else if (field.value.is_array()) {
      size_t count = 0;
      std::string list;
      for (const JsonValue& element : JsonElements(field.value)) {
        ++count;
        if (element.is_object()) {
          list += fmt::format("{}  -\n", indent);
          AddLines(list, terminal, element, depth + 2);
        } else {
          list += fmt::format("{}  - {}\n", indent, Printable(ValueText(element)));
        }
      }
      out += fmt::format("{}{}{}\n{}", indent, name, count == 0 ? "  none" : "", list);
    } else {
      out += fmt::format("{}{}  {}\n", indent, name, Printable(ValueText(field.value)));
    }
  }
}

int PrintExplanation(const Session& session, const JsonValue& root) {
  std::string out = session.out().Paint(Colour::kBold, Printable(TextAt(root, "summary"))) + "\n";
  if (const std::string next = TextAt(root, "next"); !next.empty()) {
    out += "-> " + Printable(next) + "\n";
  }
  out += "\n";
  AddLines(out, session.out(), root, 0);
  Session::Print(out);
  return kDone;
}

int Explain(Session& session, const ExplainOptions& options) {
  const auto report = session.admin().Explain(options.queue, options.partition, options.group);
  const int code =
      session.Show(report, [&](const JsonValue& root) { return PrintExplanation(session, root); });
  if (code != kDone) return code;
  const auto root = ParseJson(*report);
  // A queue or partition that is not there is explained, too.
  return root.ok() && TextAt(*root, "cause").starts_with("missing_") ? kNothing : kDone;
}

}  // namespace

Command ExplainCommand() {
  auto options = std::make_shared<ExplainOptions>();
  return {"explain",
          "say why a partition is stuck or moves on",
          "Where the cursor of the group stands, who holds the lease until when, what is delayed\n"
          "and what failed how often.\n",
          {{"QUEUE", "", &options->queue, true, Offer::kQueue},
           {"PARTITION", "Default if not given", &options->partition, false}},
          {{"-g,--group", "NAME", "for this consumer group", &options->group, {}, Offer::kGroup}},
          [options](Session& session) { return Explain(session, *options); }};
}

}  // namespace queen::cli
