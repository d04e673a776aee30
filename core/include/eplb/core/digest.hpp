#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace eplb {

/// A running 64-bit digest (XXH3) over integers and text, the same on every machine.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void add(std::int64_t value);
  void add(std::span<const std::int64_t> values);
  /// With its length, so that ("ab", "c") differs from ("a", "bc").
  void add(std::string_view text);

  [[nodiscard]] std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Digest of one text with a seed.
[[nodiscard]] std::uint64_t digest_of(std::string_view text, std::uint64_t seed = 0);

}  // namespace eplb
