#include "process.hpp"

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace eplb::group {

Descriptor open_process(std::int64_t pid) {
  // The C library of Debian 12 has the call, but not for C++ of all standards.
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
}

Descriptor make_wake_up() {
  return Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

void wake_up(const Descriptor& wake_up) {
  ::eventfd_write(wake_up.get(), 1);
}

}  // namespace eplb::group
