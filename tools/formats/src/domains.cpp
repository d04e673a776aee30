#include "eplb/formats/domains.hpp"

#include <utility>

#include "array_reader.hpp"
#include "json_text.hpp"
#include "text.hpp"
#include "text_file.hpp"

namespace eplb::formats {
namespace {

constexpr ArrayFormat kDomainsFormat{
    .key = "domains",
    .named = true,
    .element_rule = "a finite number that is not negative",
    .example = R"({"domains": {"c4": [[12, 3, 5], [1, 9, 2]]}})",
};

std::string shape_in_words(const NumberArray& array) {
  return concat(
      {"[", std::to_string(array.extents[0]), ", ", std::to_string(array.extents[1]), "]"});
}

}  // namespace

Result<std::vector<DomainLoads>> parse_domain_loads(std::string_view text,
                                                    std::string_view source_name) {
  auto arrays = read_arrays(text, source_name, kDomainsFormat);
  if (!arrays) {
    return tl::unexpected(std::move(arrays).error());
  }
  const NumberArray& first = arrays->front();
  std::vector<DomainLoads> domains;
  domains.reserve(arrays->size());
  for (const NumberArray& array : *arrays) {
    if (array.extents != first.extents) {
      return fail_in_file(
          source_name, concat({"domains.", printable(array.name)}),
          concat({"has shape ", shape_in_words(array), " where domains.", printable(first.name),
                  " has ", shape_in_words(first), "; all must have one shape, [layers, experts]"}));
    }
    domains.push_back({.name = array.name,
                       .counts = Eigen::Map<const RealLoadMatrix>(
                           array.values.data(), static_cast<Eigen::Index>(array.extents[0]),
                           static_cast<Eigen::Index>(array.extents[1]))});
  }
  return domains;
}

Result<std::vector<DomainLoads>> read_domain_loads(const std::filesystem::path& path) {
  const auto text = read_text(path);
  return text ? parse_domain_loads(*text, path.string()) : tl::unexpected(text.error());
}

}  // namespace eplb::formats
