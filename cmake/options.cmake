# What a person may choose when configuring; everything else follows from it.
option(EPLB_BUILD_SIM "Build placement and sim (need Boost, fmt and nlohmann-json)" ON)
option(EPLB_BUILD_TOOLS "Build the command eplb and its libraries (need EPLB_BUILD_SIM)"
       ${PROJECT_IS_TOP_LEVEL})
option(EPLB_BUILD_TESTS "Build the tests (the host's need EPLB_BUILD_TOOLS)"
       ${PROJECT_IS_TOP_LEVEL})
option(EPLB_BUILD_CHECKS "Test too that headers stand alone and that other projects can use us" OFF)
option(EPLB_BUILD_BENCHMARKS "Build the benchmarks (need Google Benchmark)" OFF)
option(EPLB_BUILD_FUZZERS "Build the libFuzzer targets (need clang)" OFF)
set(EPLB_MUTANTS "" CACHE STRING
    "Mutants of core to build and hunt, by name, or `all` (tests/mutants)")
option(EPLB_INSTALL "Generate the install rules" ${PROJECT_IS_TOP_LEVEL})
option(EPLB_WERROR "Treat warnings as errors" OFF)
set(EPLB_GPU OFF CACHE STRING
    "Build what needs CUDA, `eplb run` with it: ON, OFF, or AUTO, where nvcc is found")
set_property(CACHE EPLB_GPU PROPERTY STRINGS OFF ON AUTO)
set(EPLB_MPI AUTO CACHE STRING
    "Let `mpirun eplb search` share the work: ON, OFF, or AUTO, where MPI is found and no sanitizer is on")
set_property(CACHE EPLB_MPI PROPERTY STRINGS OFF ON AUTO)
set(EPLB_SANITIZE "" CACHE STRING
    "Sanitizers, as -fsanitize= takes them (address,undefined or thread)")

list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
