#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "eplb/core/env/transport.hpp"
#include "eplb/sim/event_engine.hpp"
#include "eplb/sim/group/carrier.hpp"
#include "eplb/sim/group/group_timing.hpp"
#include "eplb/sim/group/group_trace.hpp"
#include "eplb/sim/group/host.hpp"
#include "eplb/sim/group/row_store.hpp"

namespace eplb::sim {

class SimTransport;

/// The wire between all ranks of a group: matches the two ends of a pair, and carries rows.
class SimWire final : private CarrierClient {
 public:
  /// `trace` may be null.
  SimWire(const EventEngine& engine, RowStore& rows, Carrier& carrier, GroupTrace* trace = nullptr)
      : engine_(engine), rows_(rows), carrier_(carrier), trace_(trace) {}

  /// One end's order for a copy; `needs_peer` if the other end has to give the same.
  void order(const RowCopy& copy, SimTransport& end, env::Ticket ticket, bool needs_peer);

  /// Orders of `end` whose other end has not come: they end as failed.
  void cancel(SimTransport& end);

  /// Rows to and from a rank that is gone never land, those that are on their way neither.
  void lose(RankId rank) { lost_.push_back(rank); }

  /// Time in which at least one row was on its way.
  [[nodiscard]] std::int64_t busy_ns() const { return busy_ns_; }

 private:
  struct End {
    SimTransport* transport;
    env::Ticket ticket;
  };

  struct Carriage {
    RowCopy copy;
    std::vector<End> ends;
    std::int64_t begin_ns = 0;
  };

  void row_carried(std::int64_t token, bool failed) override;
  void carry(Carriage carriage);
  [[nodiscard]] bool lost(const RowCopy& copy) const;

  const EventEngine& engine_;
  RowStore& rows_;
  Carrier& carrier_;
  GroupTrace* trace_;
  std::vector<Carriage> waiting_;  ///< Ends without their peer, oldest first.
  std::map<std::int64_t, Carriage> flying_;
  std::int64_t next_carriage_ = 0;
  std::int64_t busy_since_ns_ = 0;
  std::int64_t busy_ns_ = 0;
  std::vector<RankId> lost_;
};

/// One rank's end of the wire.
class SimTransport final : public env::Transport {
 public:
  SimTransport(SimWire& wire, GroupTiming& timing, Host& host, RankId rank,
               env::TransportTraits traits)
      : wire_(wire), timing_(timing), host_(host), rank_(rank), traits_(traits) {}

  [[nodiscard]] env::TransportTraits traits() const override { return traits_; }

  [[nodiscard]] Result<env::Ticket> start(std::span<const RowCopy> copies) override;
  [[nodiscard]] env::Completion poll(env::Ticket ticket) const override;

  void cancel() override { wire_.cancel(*this); }

  /// A copy of `ticket` has ended.
  void end_copy(env::Ticket ticket, bool failed);

 private:
  struct Batch {
    std::size_t copies_under_way;
    bool failed;
  };

  SimWire& wire_;
  GroupTiming& timing_;
  Host& host_;
  RankId rank_;
  env::TransportTraits traits_;
  std::vector<Batch> batches_;  ///< By ticket, from 1.
};

}  // namespace eplb::sim
