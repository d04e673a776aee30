// Goal: a folder includes only what the table of docs/architecture.md grants it. Method: the
// checker is first shown lines that break each rule, then every file of the tree.
#include "include_rules.hpp"

#include <doctest/doctest.h>

#include <string>

#include "source_tree.hpp"

namespace eplb::test {
namespace {

std::string said(const std::string& path, const std::string& line) {
  const std::vector<Finding> findings = include_findings(parse_source(path, line + "\n"));
  return findings.empty() ? "" : findings.front().message;
}

TEST_CASE("includes: the core is kept from threads, clocks, chance, I/O, YAML and CUDA") {
  CHECK(said("core/src/a.cpp", "#include <thread>") == "no <thread> in core/");
  CHECK(said("core/src/a.cpp", "#include <chrono>") == "no <chrono> in core/");
  CHECK(said("core/src/a.cpp", "#include <random>") == "no <random> in core/");
  CHECK(said("core/src/a.cpp", "  #  include <iostream>") == "no <iostream> in core/");
  CHECK(said("core/src/a.cpp", "#include <fstream>") == "no <fstream> in core/");
  CHECK(said("core/src/a.cpp", "#include <cstdio>") == "no <cstdio> in core/");
  CHECK(said("core/src/a.cpp", "#include <stdio.h>") == "no stdio.h in core/");
  CHECK(said("core/src/a.cpp", "#include <yaml-cpp/yaml.h>") == "no yaml-cpp/yaml.h in core/");
  CHECK(said("core/src/a.cpp", "#include <cuda_runtime.h>") == "no cuda_runtime.h in core/");
  CHECK(said("core/src/a.cpp", "#include <boost/graph/graph_traits.hpp>") ==
        "no boost/graph/graph_traits.hpp in core/");
}

TEST_CASE("includes: the core has the standard library and its few others") {
  CHECK(said("core/src/a.cpp", "#include <vector>").empty());
  CHECK(said("core/include/eplb/core/a.hpp", "#include <Eigen/Core>").empty());
  CHECK(said("core/src/a.cpp", "#include <tl/expected.hpp>").empty());
  CHECK(said("core/src/a.cpp", "#include <boost/random/mersenne_twister.hpp>").empty());
  CHECK(said("core/src/a.cpp", "#include <xxhash.h>").empty());
  CHECK(said("core/src/a.cpp", "#include \"eplb/core/ids.hpp\"").empty());
}

TEST_CASE("includes: only the file that an exception names has it") {
  CHECK(said("core/src/assert.cpp", "#include <cstdio>").empty());
  CHECK(said("core/src/assert.cpp", "#include <iostream>") == "no <iostream> in core/");
}

TEST_CASE("includes: no library sees one that stands above or beside it") {
  CHECK(said("core/src/a.cpp", "#include \"eplb/sim/options.hpp\"") ==
        "no eplb/sim/options.hpp in core/");
  CHECK(said("placement/src/a.cpp", "#include \"eplb/sim/options.hpp\"") ==
        "no eplb/sim/options.hpp in placement/");
  CHECK(said("sim/src/a.cpp", "#include \"eplb/placement/policies.hpp\"") ==
        "no eplb/placement/policies.hpp in sim/");
  CHECK(said("sim/src/a.cpp", "#include \"eplb/gpu/kernels.cuh\"") ==
        "no eplb/gpu/kernels.cuh in sim/");
  CHECK(said("gpu/src/a.cpp", "#include \"eplb/sim/options.hpp\"") ==
        "no eplb/sim/options.hpp in gpu/");
  CHECK(said("tools/config/src/a.cpp", "#include \"eplb/sim/runner.hpp\"") ==
        "no eplb/sim/runner.hpp in tools/config/");
  CHECK(said("tools/config/src/a.cpp", "#include \"eplb/sim/options.hpp\"").empty());
  CHECK(said("tools/formats/src/a.cpp", "#include \"eplb/config/schema.hpp\"") ==
        "no eplb/config/schema.hpp in tools/formats/");
}

TEST_CASE("includes: Boost.Graph is for the sources of placement and sim") {
  const std::string graph = "#include <boost/graph/adjacency_list.hpp>";
  CHECK(said("placement/src/a.cpp", graph).empty());
  CHECK(said("sim/src/a.cpp", graph).empty());
  CHECK(said("placement/src/a.hpp", graph).empty());
  CHECK(said("placement/include/eplb/placement/a.hpp", graph) ==
        "boost/graph/adjacency_list.hpp only in sources in placement/");
  CHECK(said("sim/include/eplb/sim/a.hpp", graph) ==
        "boost/graph/adjacency_list.hpp only in sources in sim/");
  CHECK(said("gpu/src/a.cpp", graph) == "no boost/graph/adjacency_list.hpp in gpu/");
}

TEST_CASE("includes: what joins processes has sockets and threads but no CUDA") {
  CHECK(said("gpu/group/src/a.cpp", "#include <netinet/tcp.h>").empty());
  CHECK(said("gpu/group/src/a.cpp", "#include <thread>").empty());
  CHECK(said("gpu/group/src/a.cpp", "#include <cuda_runtime.h>") ==
        "no cuda_runtime.h in gpu/group/");
  CHECK(said("gpu/group/src/a.cpp", "#include \"eplb/gpu/stream.hpp\"") ==
        "no eplb/gpu/stream.hpp in gpu/group/");
  CHECK(said("gpu/src/a.cpp", "#include \"eplb/group/board.hpp\"").empty());
}

TEST_CASE("includes: device code has no Eigen, host code beside it may") {
  CHECK(said("gpu/src/a.cu", "#include <Eigen/Core>") == "no Eigen in device code");
  CHECK(said("gpu/include/eplb/gpu/a.cuh", "#include <Eigen/Core>") == "no Eigen in device code");
  CHECK(said("gpu/src/a.cpp", "#include <Eigen/Core>").empty());
}

TEST_CASE("includes: ours are quoted, others' in angle brackets, and nothing climbs") {
  CHECK(said("tests/a.cpp", "#include <eplb/core/ids.hpp>") ==
        "eplb/core/ids.hpp: our headers stand in quotes");
  CHECK(said("core/src/a.cpp", "#include \"yaml-cpp/yaml.h\"") ==
        "yaml-cpp/yaml.h: others' headers stand in angle brackets");
  CHECK(said("core/src/a.cpp", "#include \"stdio.h\"") ==
        "stdio.h: others' headers stand in angle brackets");
  CHECK(said("core/src/a.cpp", "#include \"../../sim/src/a.hpp\"") ==
        "../../sim/src/a.hpp climbs out of its folder");
  CHECK(said("core/src/a.cpp", "#include \"detail.hpp\"").empty());
  CHECK(said("tests/a.cpp", "#include \"../fuzz/shared.hpp\"").empty());
}

TEST_CASE("includes: a comment includes nothing, and a finding says where") {
  CHECK(said("core/src/a.cpp", "// #include <thread>").empty());
  CHECK(said("core/src/a.cpp", "/* #include <thread> */").empty());
  CHECK(report(include_findings(
            parse_source("sim/src/a.cpp", "#include <map>\n#include <mutex>\n"))) ==
        "sim/src/a.cpp:2: no <mutex> in sim/\n");
}

TEST_CASE("includes: every file of the tree keeps to the table") {
  std::string findings;
  for (const SourceFile& file : read_tree(EPLB_SOURCE_DIR)) {
    findings += report(include_findings(file));
  }
  CHECK(findings == "");
}

}  // namespace
}  // namespace eplb::test
