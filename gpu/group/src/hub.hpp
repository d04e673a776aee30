#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "connection.hpp"
#include "eplb/group/rendezvous.hpp"
#include "hello.hpp"

namespace eplb::group {

/// The side of the process that holds rank 0: it listens, judges who comes, and tells all.
class Hub final : public Rendezvous {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Rendezvous>> gather(const RendezvousOptions& options);

  [[nodiscard]] Result<std::vector<Bytes>> exchange(std::span<const std::byte> mine,
                                                    std::int64_t deadline_ms) override;

 private:
  struct Guest {
    Connection connection;
    std::optional<Hello> hello;
    std::optional<Bytes> part;  ///< Of the exchange under way.
    bool gone = false;
  };

  Hub(const RendezvousOptions& options, Listener listener);

  [[nodiscard]] Result<void> gather_all();
  [[nodiscard]] Result<void> greet(Guest& guest);
  [[nodiscard]] Result<void> admit(Guest& guest, Hello hello);
  [[nodiscard]] Result<void> judge() const;
  [[nodiscard]] Result<void> welcome();
  [[nodiscard]] std::vector<RankId> missing_ranks() const;
  [[nodiscard]] Result<void> collect(std::int64_t deadline_ms);

  /// Waits until a guest has something to read, or somebody new comes while it listens.
  void wait(const Deadline& deadline);
  void accept_all();
  void refuse_all(const Error& error);
  void refuse_latecomers(const Error& error);

  Hello own_hello_;
  std::int64_t deadline_ms_;
  Listener listener_;
  std::vector<Guest> guests_;
};

}  // namespace eplb::group
