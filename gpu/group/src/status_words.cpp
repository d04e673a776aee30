#include "status_words.hpp"

namespace eplb::group {
namespace {

constexpr std::uint64_t kIdMask = (1U << 24U) - 1;
constexpr unsigned kIdBits = 24;

/// An identity or -1, from 0 on.
std::uint64_t from_zero(std::int32_t id) {
  return static_cast<std::uint64_t>(id + 1) & kIdMask;
}

std::int32_t from_minus_one(std::uint64_t value) {
  return static_cast<std::int32_t>(value & kIdMask) - 1;
}

std::uint64_t two_halves(std::int32_t high, std::int32_t low) {
  return (std::uint64_t{static_cast<std::uint32_t>(high)} << 32U) | static_cast<std::uint32_t>(low);
}

}  // namespace

std::uint64_t pack(const Failure& failure) {
  return (static_cast<std::uint64_t>(failure.cause) << 56U) |
         (static_cast<std::uint64_t>(failure.state) << 48U) |
         (from_zero(failure.rank.value) << kIdBits) | from_zero(failure.layer.value);
}

Failure unpack_failure(std::uint64_t word) {
  return {.cause = static_cast<FailureCause>(word >> 56U),
          .rank = RankId{from_minus_one(word >> kIdBits)},
          .state = static_cast<MigrationState>((word >> 48U) & 0xFFU),
          .layer = LayerId{from_minus_one(word)}};
}

StatusWords pack(const Status& status) {
  const auto drained = static_cast<std::uint64_t>(status.drained);
  return {static_cast<std::uint64_t>(status.key.rearrangement),
          static_cast<std::uint64_t>(status.key.round),
          (static_cast<std::uint64_t>(status.key.channel) << 16U) |
              (static_cast<std::uint64_t>(status.state) << 8U) | drained,
          status.digest,
          two_halves(status.landed_layers, status.retired_layers),
          pack(status.failure)};
}

Status unpack(RankId rank, const StatusWords& words) {
  Status status;
  status.rank = rank;
  status.key = {.channel = static_cast<RoundKey::Channel>((words[2] >> 16U) & 0xFFU),
                .rearrangement = static_cast<std::int64_t>(words[0]),
                .round = static_cast<std::int64_t>(words[1])};
  status.state = static_cast<MigrationState>((words[2] >> 8U) & 0xFFU);
  status.drained = (words[2] & 1U) != 0;
  status.digest = words[3];
  status.landed_layers = static_cast<std::int32_t>(words[4] >> 32U);
  status.retired_layers = static_cast<std::int32_t>(words[4] & 0xFFFFFFFFU);
  status.failure = unpack_failure(words[5]);
  return status;
}

std::uint64_t pack_retired(std::int64_t rearrangement, std::int32_t layers) {
  return (static_cast<std::uint64_t>(rearrangement) << kIdBits) |
         (static_cast<std::uint64_t>(layers) & kIdMask);
}

std::int64_t retired_rearrangement(std::uint64_t word) {
  return static_cast<std::int64_t>(word >> kIdBits);
}

std::int32_t retired_layers(std::uint64_t word) {
  return static_cast<std::int32_t>(word & kIdMask);
}

}  // namespace eplb::group
