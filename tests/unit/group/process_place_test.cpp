// Goal: a process finds its place in what each launcher tells it, and half a place is an error that
// says what is missing. Method: environments as launchers set them, as tables of names and values.
#include "eplb/group/process_place.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

namespace eplb::group {
namespace {

using Variables = std::map<std::string, std::string>;

Result<std::optional<ProcessPlace>> find_in(const Variables& variables) {
  return find_process_place([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string refusal_of(const Variables& variables) {
  const auto place = find_in(variables);
  return place ? "none" : place.error().message;
}

Variables torchrun() {
  return {{"RANK", "5"},
          {"WORLD_SIZE", "16"},
          {"LOCAL_RANK", "1"},
          {"LOCAL_WORLD_SIZE", "4"},
          {"MASTER_ADDR", "node0"},
          {"MASTER_PORT", "29500"},
          {"TORCHELASTIC_RUN_ID", "job7"}};
}

TEST_CASE("place: without any launcher's variables there is none") {
  CHECK(!find_in({}).value().has_value());
  CHECK(!find_in({{"PATH", "/bin"}, {"MASTER_ADDR", "node0"}}).value().has_value());
}

TEST_CASE("place: torchrun tells all of it") {
  const ProcessPlace place = find_in(torchrun()).value().value();
  CHECK(place.launcher == Launcher::kTorchrun);
  CHECK(place.process == 5);
  CHECK(place.process_count == 16);
  CHECK(place.local_process == 1);
  CHECK(place.local_process_count == 4);
  CHECK(place.rendezvous_host == "node0");
  CHECK(place.rendezvous_port == 29500);
  CHECK(place.run_id == "job7");
}

TEST_CASE("place: where torchrun's own store has the port, ours is the next") {
  Variables variables = torchrun();
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  CHECK(find_in(variables).value()->rendezvous_port == 29501);
  variables["EPLB_RENDEZVOUS"] = "node9:4000";
  CHECK(find_in(variables).value()->rendezvous_host == "node9");
  CHECK(find_in(variables).value()->rendezvous_port == 4000);
}

TEST_CASE("place: Open MPI on one host meets at the loopback interface") {
  const Variables variables{{"OMPI_COMM_WORLD_RANK", "3"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                            {"PMIX_NAMESPACE", "4242"}};
  const ProcessPlace place = find_in(variables).value().value();
  CHECK(place.launcher == Launcher::kOpenMpi);
  CHECK(place.process == 3);
  CHECK(place.rendezvous_host == "127.0.0.1");
  CHECK(place.rendezvous_port >= 20'000);
  CHECK(place.rendezvous_port < 30'000);
  CHECK(place.run_id == "4242");
}

TEST_CASE("place: mpirun over several hosts must be told where to meet") {
  Variables variables{{"OMPI_COMM_WORLD_RANK", "3"},
                      {"OMPI_COMM_WORLD_SIZE", "8"},
                      {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
  CHECK(refusal_of(variables) ==
        "nothing says where the processes of several hosts meet: set EPLB_RENDEZVOUS=host:port, "
        "the host that of process 0, in every process");
  variables["MASTER_ADDR"] = "node0";
  CHECK(refusal_of(variables) == "MASTER_ADDR is set but MASTER_PORT is not");
  variables["MASTER_PORT"] = "1234";
  CHECK(find_in(variables).value()->rendezvous_port == 1234);
  variables["EPLB_RENDEZVOUS"] = "[fe80::1]:77";
  CHECK(find_in(variables).value()->rendezvous_host == "fe80::1");
  CHECK(find_in(variables).value()->rendezvous_port == 77);
}

TEST_CASE("place: Hydra's names are read") {
  const ProcessPlace place = find_in({{"PMI_RANK", "1"},
                                      {"PMI_SIZE", "2"},
                                      {"MPI_LOCALRANKID", "1"},
                                      {"MPI_LOCALNRANKS", "2"}})
                                 .value()
                                 .value();
  CHECK(place.launcher == Launcher::kHydra);
  CHECK(place.process == 1);
  CHECK(place.local_process_count == 2);
}

TEST_CASE("place: Slurm's processes meet at the first node of the step") {
  Variables variables{{"SLURM_PROCID", "6"},
                      {"SLURM_NTASKS", "8"},
                      {"SLURM_LOCALID", "2"},
                      {"SLURM_NTASKS_PER_NODE", "4"},
                      {"SLURM_JOB_ID", "99"},
                      {"SLURM_STEP_ID", "1"},
                      {"SLURM_STEP_NODELIST", "gpu[003-006,010]"},
                      {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.9"}};
  const ProcessPlace place = find_in(variables).value().value();
  CHECK(place.launcher == Launcher::kSlurm);
  CHECK(place.process == 6);
  CHECK(place.local_process == 2);
  CHECK(place.run_id == "99.1");
  CHECK(place.rendezvous_host == "gpu003");
  variables["SLURM_STEP_NODELIST"] = "a1,a2";
  CHECK(find_in(variables).value()->rendezvous_host == "a1");
  variables.erase("SLURM_STEP_NODELIST");
  CHECK(find_in(variables).value()->rendezvous_host == "10.0.0.9");
}

TEST_CASE("place: a Slurm batch script without srun is a single process") {
  const Variables script{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "99"}};
  CHECK(!find_in(script).value().has_value());
}

TEST_CASE("place: our own launcher goes before those that it runs below") {
  Variables variables = torchrun();
  variables.insert({{"EPLB_PROCESS", "1"},
                    {"EPLB_PROCESS_COUNT", "2"},
                    {"EPLB_LOCAL_PROCESS", "1"},
                    {"EPLB_LOCAL_PROCESS_COUNT", "2"},
                    {"EPLB_RENDEZVOUS", "127.0.0.1:555"},
                    {"EPLB_RUN_ID", "a"}});
  const ProcessPlace place = find_in(variables).value().value();
  CHECK(place.launcher == Launcher::kEplb);
  CHECK(place.process == 1);
  CHECK(place.rendezvous_port == 555);
}

TEST_CASE("place: half a place names what is missing") {
  Variables variables = torchrun();
  variables.erase("WORLD_SIZE");
  CHECK(refusal_of(variables) ==
        "RANK is set but WORLD_SIZE is not: a launcher sets both, a single process neither");
  variables = torchrun();
  variables.erase("LOCAL_RANK");
  CHECK(refusal_of(variables) ==
        "LOCAL_WORLD_SIZE is set but LOCAL_RANK is not: a launcher sets "
        "both, a single process neither");
  variables.erase("LOCAL_WORLD_SIZE");
  CHECK(refusal_of(variables) == "RANK is set but LOCAL_RANK is not: torchrun sets both");
}

TEST_CASE("place: numbers that cannot be are refused with what is allowed") {
  Variables variables = torchrun();
  variables["RANK"] = "16";
  CHECK(refusal_of(variables) == "RANK=16: must be a whole number from 0 to 15");
  variables["RANK"] = "1x";
  CHECK(refusal_of(variables) == "RANK=1x: must be a whole number from 0 to 15");
  variables["RANK"] = "0";
  CHECK(refusal_of(variables) ==
        "contradiction: process 0 of 16 cannot be process 1 of 4 on its host (RANK, LOCAL_RANK)");
  variables = torchrun();
  variables["MASTER_PORT"] = "70000";
  CHECK(refusal_of(variables) == "MASTER_PORT=70000: must be a whole number from 1 to 65535");
  variables["EPLB_RENDEZVOUS"] = "node9";
  CHECK(refusal_of(variables) == "EPLB_RENDEZVOUS=node9: must be host:port");
}

}  // namespace
}  // namespace eplb::group
