#include "observe/sampler.h"

namespace queen::observe {
namespace {

constexpr std::string_view kParentBased = "parentbased_";
constexpr double kTwoTo63 = 9'223'372'036'854'775'808.0;

}  // namespace

Sampler::Sampler(std::string_view name, double ratio)
    : parent_based_(name.starts_with(kParentBased)) {
  if (parent_based_) name.remove_prefix(kParentBased.size());
  if (name == "always_on") ratio = 1;
  if (name == "always_off") ratio = 0;
  below_ = static_cast<uint64_t>(ratio * kTwoTo63);
}

bool Sampler::Takes(const TraceContext& parent, const std::array<uint8_t, 16>& trace_id) const {
  if (parent_based_ && parent.valid()) return parent.sampled();
  // The last 8 bytes are the random ones wherever ids are made of a time and random bytes.
  uint64_t number = 0;
  for (size_t i = 8; i < trace_id.size(); ++i) number = number << 8 | trace_id[i];
  return number >> 1 < below_;
}

}  // namespace queen::observe
