#pragma once

#include <span>

#include "eplb/core/env/completion.hpp"
#include "eplb/core/row_address.hpp"

namespace eplb::env {

/// Operations of one rank that run in order, beside the host and beside other queues.
class Queue {
 public:
  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  Queue(Queue&&) = delete;
  Queue& operator=(Queue&&) = delete;
  virtual ~Queue() = default;

  /// Appends copies within the rank. They run in no order among themselves, so none may depend on
  /// another.
  virtual void copy(std::span<const RowCopy> copies) = 0;

  /// Appends a mark. Its ticket is done when all that was appended before has run, and has failed
  /// if any of it did.
  [[nodiscard]] virtual Ticket signal() = 0;

  /// What is appended from now on runs after `ticket` of `other`, and fails if that did. A ticket
  /// that `other` has not given out yet is no wait at all: a device cannot wait for a mark that was
  /// not recorded.
  virtual void wait(const Queue& other, Ticket ticket) = 0;

  [[nodiscard]] virtual Completion poll(Ticket ticket) const = 0;
};

/// A rank's queues.
struct Queues {
  Queue& forward;  ///< Runs the forwards: what is appended between two of them, they are split by.
  Queue& migration;  ///< Runs beside them.
};

}  // namespace eplb::env
