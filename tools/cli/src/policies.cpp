#include "policies.hpp"

#include "eplb/core/assert.hpp"
#include "program_policy.hpp"

namespace eplb::cli {

placement::PolicyRegistry known_policies() {
  placement::PolicyRegistry registry;
  const auto added =
      registry.add(std::string(ProgramPolicy::kName),
                   [](std::string_view text) -> Result<std::unique_ptr<PlacementPolicy>> {
                     return parse_program(text).map([](ProgramPolicy::Options&& options) {
                       return std::unique_ptr<PlacementPolicy>(
                           std::make_unique<ProgramPolicy>(std::move(options)));
                     });
                   });
  EPLB_ASSERT(added.has_value());
  return registry;
}

}  // namespace eplb::cli
