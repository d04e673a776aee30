#include "workload.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <variant>

#include "domains.hpp"
#include "eplb/formats/domains.hpp"
#include "eplb/formats/loads.hpp"
#include "fields.hpp"

namespace eplb::config {
namespace {

constexpr std::string_view kFileKey = "workload.routing.file";

void reject_file(std::string_view message, Reading& reading) {
  reading.reject(reading.position(kFileKey), kFileKey, message);
}

/// What `read` makes of the file that the configuration names, if it can.
template <typename Read>
auto read_file(const std::string& file, Read read, Reading& reading)
    -> std::optional<typename decltype(read({}))::value_type> {
  if (!reading.sound({kFileKey})) {
    return std::nullopt;
  }
  auto content = read(reading.source(reading.position(kFileKey)).directory / file);
  if (!content.has_value()) {
    reject_file("cannot be used: " + content.error().message, reading);
    return std::nullopt;
  }
  return std::move(*content);
}

/// Reads what a routing's own table does not: the files and the schedule.
struct RoutingContent {
  const Section& section;
  Reading& reading;

  template <typename Routing>
  void operator()(Routing& /*routing*/) const {}

  void operator()(sim::CountsRouting& routing) const {
    if (auto loads = read_file(routing.file, formats::read_loads, reading); loads.has_value()) {
      routing.windows = std::move(loads->windows);
    }
  }

  void operator()(sim::DomainsRouting& routing) const {
    if (auto domains = read_file(routing.file, formats::read_domain_loads, reading);
        domains.has_value()) {
      for (formats::DomainLoads& domain : *domains) {
        routing.domains.push_back(
            {.name = std::move(domain.name), .counts = std::move(domain.counts)});
      }
    }
    read_schedule(section, routing, reading);
  }
};

/// Complains unless the counts, of what `owner` names, fit the model.
void check_matrix(const RealLoadMatrix& counts, const std::string& owner, const ModelOptions& model,
                  Reading& reading) {
  if (counts.rows() != model.moe_layers || counts.cols() != model.logical_experts) {
    reject_file("has counts of " + std::to_string(counts.rows()) + " layers and " +
                    std::to_string(counts.cols()) + " experts, the model has " +
                    std::to_string(model.moe_layers) + " and " +
                    std::to_string(model.logical_experts),
                reading);
    return;
  }
  for (Eigen::Index layer = 0; layer < counts.rows(); ++layer) {
    if (!(counts.row(layer).sum() > 0)) {
      reject_file("layer " + std::to_string(layer) + " of " + owner +
                      " has no tokens, so there is nothing to draw from",
                  reading);
      return;
    }
  }
}

/// Visits each matrix of counts with the words that name it, while `visit` returns true.
template <typename Visit>
void each_matrix(const sim::WorkloadOptions& workload, Visit visit) {
  if (const auto* counts = std::get_if<sim::CountsRouting>(&workload.routing)) {
    for (std::size_t window = 0; window < counts->windows.size(); ++window) {
      visit(counts->windows[window], "window " + std::to_string(window));
    }
  }
  if (const auto* domains = std::get_if<sim::DomainsRouting>(&workload.routing)) {
    for (const sim::DomainsRouting::Domain& domain : domains->domains) {
      visit(domain.counts, "domain " + domain.name);
    }
  }
}

}  // namespace

sim::WorkloadOptions read_workload(const Section& section, Reading& reading) {
  auto workload = read_fields<sim::WorkloadOptions>(section, workload_fields(), reading);
  const Section routing = subsection(section, "routing", reading);
  workload.routing = read_kind<sim::RoutingOptions>(routing, routing_kinds(), reading);
  workload.drift =
      read_kind<sim::DriftOptions>(subsection(section, "drift", reading), drift_kinds(), reading);
  std::visit(RoutingContent{routing, reading}, workload.routing);
  return workload;
}

void check_counts(const sim::WorkloadOptions& workload, const ModelOptions& model,
                  Reading& reading) {
  each_matrix(workload, [&](const RealLoadMatrix& counts, const std::string& owner) {
    if (reading.sound({kFileKey, "model.moe_layers", "model.logical_experts"})) {
      check_matrix(counts, owner, model, reading);
    }
  });
}

void add_counts(const sim::WorkloadOptions& workload, Digest& digest) {
  each_matrix(workload, [&](const RealLoadMatrix& counts, const std::string& owner) {
    digest.add(owner);
    digest.add(counts.rows());
    digest.add(counts.cols());
    for (Eigen::Index index = 0; index < counts.size(); ++index) {
      digest.add(std::bit_cast<std::int64_t>(counts.data()[index] + 0.0));
    }
  });
}

}  // namespace eplb::config
