#include "eplb/core/digest.hpp"

#include <xxhash.h>

namespace eplb {

// The bytes are hashed as they lie in memory: little-endian, as on all machines we run on.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

struct Digest::State {
  XXH3_state_t hash;
};

Digest::Digest() : state_(std::make_unique<State>()) {
  XXH3_64bits_reset(&state_->hash);
}

Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::add(std::int64_t value) {
  XXH3_64bits_update(&state_->hash, &value, sizeof(value));
}

void Digest::add(std::span<const std::int64_t> values) {
  XXH3_64bits_update(&state_->hash, values.data(), values.size_bytes());
}

void Digest::add(std::string_view text) {
  add(static_cast<std::int64_t>(text.size()));
  XXH3_64bits_update(&state_->hash, text.data(), text.size());
}

std::uint64_t Digest::value() const {
  return XXH3_64bits_digest(&state_->hash);
}

std::uint64_t digest_of(std::string_view text, std::uint64_t seed) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

}  // namespace eplb
