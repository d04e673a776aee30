#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "eplb/core/env/completion.hpp"

namespace eplb::gpu {

/// Tickets for work on streams. Each stream writes a word in pinned memory when it gets to a mark;
/// a poll compares words and calls nothing of CUDA, so it disturbs neither a capture nor the
/// driver's locks. A ticket is done when all streams have got to its mark.
///
/// NOTE [timeline words] The words are for the host alone: no stream waits for one, since CUDA does
/// not know of an order that is made this way and could deadlock by it. The driver writes a word
/// after a fence for the whole system, so that what the stream did before is visible to whoever
/// then enqueues work anywhere.
class Timeline {
 public:
  /// On the current device, whose streams outlive this.
  explicit Timeline(std::vector<cudaStream_t> streams);
  ~Timeline();
  Timeline(Timeline&&) noexcept;
  Timeline& operator=(Timeline&&) noexcept;
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// Gives out the next ticket. Tickets are marked in the order they were given out.
  [[nodiscard]] env::Ticket next();

  /// Appends the ticket's mark to all streams. If one refuses, all that is under way ends as
  /// failed.
  void mark(env::Ticket ticket);

  /// The newest ticket given out.
  [[nodiscard]] env::Ticket newest() const;

  /// Whether the ticket has been given out and has ended or will end as failed.
  [[nodiscard]] bool will_fail(env::Ticket ticket) const;

  /// Ends the ticket as failed instead of done, once its marks are passed.
  void fail(env::Ticket ticket);

  /// Does so with this ticket and all later ones.
  void fail_from(env::Ticket ticket);

  /// Does so with all tickets whose marks are not passed by now.
  void fail_pending();

  /// Ends as failed, now, all tickets that are pending: the device has given up.
  void break_off();

  [[nodiscard]] env::Completion poll(env::Ticket ticket) const;

  /// Asks the driver how the streams are, and breaks off if one has failed. What waits for long
  /// calls it now and then; a broken device writes no words. Needs the device's DeviceEntry.
  void check();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace eplb::gpu
