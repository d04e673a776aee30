#include <sys/stat.h>

#include <fstream>
#include <string>

#include "eplb/group/rendezvous.hpp"

namespace eplb::group {

std::string host_identity() {
  std::string boot_id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;

  struct stat space {};

  if (::stat("/proc/self/ns/pid", &space) != 0) {
    space.st_ino = 0;
  }
  return boot_id + "/" + std::to_string(space.st_ino);
}

}  // namespace eplb::group
