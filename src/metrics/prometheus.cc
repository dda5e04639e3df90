#include "metrics/prometheus.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace queen::metrics {
namespace {

std::string_view NameOf(Kind kind) {
  switch (kind) {
    case Kind::kCounter:
      return "counter";
    case Kind::kGauge:
      return "gauge";
    case Kind::kHistogram:
      return "histogram";
  }
  return "untyped";
}

// In label values the quote is escaped as well, in help texts it is not.
void AppendEscaped(std::string& out, std::string_view text, bool escape_quote) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\\' || (c == '"' && escape_quote)) {
      out += '\\';
      out += c;
    } else {
      out += c;
    }
  }
}

std::string FormatNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

std::string FormatNumber(uint64_t value) { return fmt::format("{}", value); }

// One line: name, suffix, labels and, for a bucket, `le`.
void AppendSample(std::string& out, const Family& family, std::string_view suffix,
                  const Labels& labels, std::string_view le, const std::string& value) {
  out += family.name;
  out += suffix;
  char separator = '{';
  const auto append_label = [&out, &separator](std::string_view name, std::string_view text) {
    out += separator;
    out += name;
    out += "=\"";
    AppendEscaped(out, text, true);
    out += '"';
    separator = ',';
  };
  for (const auto& [name, text] : labels) append_label(name, text);
  if (!le.empty()) append_label("le", le);
  if (separator == ',') out += '}';
  out += ' ';
  out += value;
  out += '\n';
}

void AppendHistogram(std::string& out, const Family& family, const Labels& labels,
                     const Histograms& histograms) {
  const HistogramSnapshot snapshot(histograms);
  const Unit unit = family.unit;
  for (unsigned exponent = unit.first_exponent; exponent <= unit.last_exponent; ++exponent) {
    const double edge = static_cast<double>(uint64_t{1} << exponent) / unit.divisor;
    AppendSample(out, family, "_bucket", labels, FormatNumber(edge),
                 FormatNumber(snapshot.CountUpToPowerOfTwo(exponent)));
  }
  AppendSample(out, family, "_bucket", labels, "+Inf", FormatNumber(snapshot.count()));
  AppendSample(out, family, "_sum", labels, {},
               FormatNumber(static_cast<double>(snapshot.sum()) / unit.divisor));
  AppendSample(out, family, "_count", labels, {}, FormatNumber(snapshot.count()));
}

struct AppendSeries {
  std::string& out;
  const Family& family;
  const Labels& labels;

  void operator()(const std::unique_ptr<Counters>& counters) const {
    AppendSample(out, family, {}, labels, {}, FormatNumber(Total(*counters)));
  }
  void operator()(const std::unique_ptr<Histograms>& histograms) const {
    AppendHistogram(out, family, labels, *histograms);
  }
  void operator()(const Computed& computed) const {
    AppendSample(out, family, {}, labels, {}, FormatNumber(computed()));
  }
  void operator()(const Collected& collected) const {
    collected([this](const Labels& its_labels, double value) {
      AppendSample(out, family, {}, its_labels, {}, FormatNumber(value));
    });
  }
};

}  // namespace

std::string RenderPrometheus(const Registry& registry) {
  std::string out;
  registry.ForEachFamily([&out](const Family& family) {
    out += "# HELP " + family.name + ' ';
    AppendEscaped(out, family.help, false);
    fmt::format_to(std::back_inserter(out), "\n# TYPE {} {}\n", family.name, NameOf(family.kind));
    for (const Series& series : family.series) {
      std::visit(AppendSeries{out, family, series.labels}, series.source);
    }
  });
  return out;
}

}  // namespace queen::metrics
