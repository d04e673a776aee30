#include "rule.hpp"

namespace eplb::config {

void rule(bool broken, const Keys& keys, const std::string& message, Reading& reading) {
  if (broken && reading.sound(keys)) {
    reading.reject(reading.latest(keys).at, keys.front(), message);
  }
}

void joint_rule(bool broken, const Keys& keys, const std::string& message, Reading& reading) {
  if (broken && reading.sound(keys)) {
    const WrittenKey last = reading.latest(keys);
    reading.reject(last.at, last.key, message);
  }
}

std::string at_most(std::string_view key, std::int64_t allowed, std::int64_t got) {
  return "must be at most " + std::string(key) + " (" + std::to_string(allowed) + "), got " +
         std::to_string(got);
}

}  // namespace eplb::config
