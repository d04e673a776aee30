#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "draw.hpp"
#include "reference/router_reference.hpp"

namespace eplb::gpu::test {

/// What logits are made of.
enum class LogitFilling : std::uint8_t {
  kRandom,
  kCoarse,      ///< Of few values: many ties.
  kEqual,       ///< All the same: nothing but ties.
  kInfinities,  ///< Some of either sign.
  kNan,         ///< Many NaN, infinities, and now and then nothing but NaN in a row.
};

inline constexpr std::array kLogitFillings{LogitFilling::kRandom, LogitFilling::kCoarse,
                                           LogitFilling::kEqual, LogitFilling::kInfinities,
                                           LogitFilling::kNan};

inline constexpr std::array kScorings{RouterScoring::kSoftmax, RouterScoring::kSigmoid,
                                      RouterScoring::kSqrtSoftplus};

struct RouterSizes {
  std::int32_t row_count = 0;
  std::int32_t expert_count = 0;
  std::int32_t top_k = 0;
};

/// Groups, renormalization and factor are drawn; groups and top groups such as are legal.
[[nodiscard]] RouterRule drawn_rule(const RouterSizes& sizes, RouterScoring scoring, Draw& draw);

/// Logits that BF16 can hold if `is_bf16`; a bias as often as not, not a number here and there.
[[nodiscard]] RouterCase drawn_router_case(const RouterRule& rule, std::int32_t row_count,
                                           LogitFilling filling, bool is_bf16, Draw& draw);

/// Rule and sizes, for messages.
[[nodiscard]] std::string description_of(const RouterCase& router);

/// Values as the device is given them: floats, or the upper halves of what BF16 can hold.
template <typename Logit>
[[nodiscard]] std::vector<Logit> as_logits(const std::vector<float>& values);

template <>
[[nodiscard]] std::vector<float> as_logits<float>(const std::vector<float>& values);
template <>
[[nodiscard]] std::vector<std::uint16_t> as_logits<std::uint16_t>(const std::vector<float>& values);

}  // namespace eplb::gpu::test
