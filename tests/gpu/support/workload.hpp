#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "draw.hpp"
#include "eplb/core/layer_map.hpp"
#include "eplb/core/shape.hpp"

namespace eplb::gpu::test {

/// Which experts the rows pick.
enum class Skew : std::uint8_t {
  kUniform,
  kZipf,    ///< The expert of rank i is picked in proportion to 1 / i.
  kHot,     ///< Every row picks the same top_k experts: the worst that a router can do.
  kSingle,  ///< Every pick names one expert: what no router does, and no kernel should mind.
};

inline constexpr std::array kSkews{Skew::kUniform, Skew::kZipf, Skew::kHot, Skew::kSingle};

[[nodiscard]] const char* name_of(Skew skew);

struct PickOptions {
  std::int32_t row_count = 0;
  std::int32_t top_k = 0;
  std::int32_t expert_count = 0;
  Skew skew = Skew::kUniform;
};

/// Ids [rows, top_k], distinct within a row but for kSingle.
[[nodiscard]] std::vector<std::int64_t> draw_picks(const PickOptions& options, Draw& draw);

/// Replaces a share of the ids by such as name no expert, among them 64-bit ids whose lower half
/// would name one. Ids stay within 32 bits if `is_narrow`.
void spoil_picks(std::vector<std::int64_t>& picks, std::int32_t expert_count, bool is_narrow,
                 Draw& draw);

/// The shape of one layer of `slots` over eight ranks.
[[nodiscard]] Shape shape_of(std::int32_t expert_count, std::int32_t slot_count);

/// A valid map whose redundant slots go to few experts, so that some have many replicas; every
/// other one with shares, some of them zero.
[[nodiscard]] LayerMap draw_map(const Shape& shape, Draw& draw);

/// One that a kernel knows.
[[nodiscard]] ReplicaChoice draw_choice(Draw& draw);

}  // namespace eplb::gpu::test
