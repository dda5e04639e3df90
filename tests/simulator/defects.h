// The names of planted defects on the command line.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/planted.h"

namespace queen::simulator {

inline constexpr std::array kDefects{
    std::pair<std::string_view, planted::Defect>{"answered-early", planted::Defect::kAnsweredEarly},
    std::pair<std::string_view, planted::Defect>{"nobody-woken", planted::Defect::kNobodyWoken},
    std::pair<std::string_view, planted::Defect>{"pushed-twice", planted::Defect::kPushedTwice},
    std::pair<std::string_view, planted::Defect>{"believed", planted::Defect::kBelieved},
    std::pair<std::string_view, planted::Defect>{"doubt-unheard", planted::Defect::kDoubtUnheard},
    std::pair<std::string_view, planted::Defect>{"skipped", planted::Defect::kSkipped},
    std::pair<std::string_view, planted::Defect>{"nack-lost", planted::Defect::kNackLost},
    std::pair<std::string_view, planted::Defect>{"duplicate-taken",
                                                 planted::Defect::kDuplicateTaken},
    std::pair<std::string_view, planted::Defect>{"two-holders", planted::Defect::kTwoHolders},
    std::pair<std::string_view, planted::Defect>{"held-believed", planted::Defect::kHeldBelieved},
    std::pair<std::string_view, planted::Defect>{"not-announced", planted::Defect::kNotAnnounced},
    std::pair<std::string_view, planted::Defect>{"generations-kept",
                                                 planted::Defect::kGenerationsKept},
    std::pair<std::string_view, planted::Defect>{"group-of-before",
                                                 planted::Defect::kGroupOfBefore},
    std::pair<std::string_view, planted::Defect>{"refused-in-doubt",
                                                 planted::Defect::kRefusedInDoubt},
    std::pair<std::string_view, planted::Defect>{"carried-unproved",
                                                 planted::Defect::kCarriedUnproved},
    std::pair<std::string_view, planted::Defect>{"carried-stranded",
                                                 planted::Defect::kCarriedStranded},
};

inline std::optional<planted::Defect> DefectNamed(std::string_view name) {
  for (const auto& [known, defect] : kDefects) {
    if (known == name) return defect;
  }
  return std::nullopt;
}

}  // namespace queen::simulator
