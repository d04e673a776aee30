#pragma once

namespace eplb::sim {

/// The host side of one rank, as its devices see it.
class Host {
 public:
  Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  Host(Host&&) = delete;
  Host& operator=(Host&&) = delete;
  virtual ~Host() = default;

  /// Something has ended that progress may notice.
  virtual void wake() = 0;

  /// The rank's forward queue has come to its next forward.
  virtual void forward_reached() = 0;
};

}  // namespace eplb::sim
