#!/usr/bin/env bash
# Installs what is missing, builds everything in Debug, and runs all tests. What is given to this
# script is given on to ctest, as in `tools/test.sh -R includes`.
#   tools/test.sh --mutants [NAME...]   plants bugs in copies of core instead, all or those named
#                                       (tests/mutants), and hunts them in Release
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/install-packages.sh build

if [[ ${1:-} == --mutants ]]; then
  shift
  names=("$@")
  if [[ $# == 0 ]]; then
    names=(tests/mutants/*.patch)
    names=("${names[@]##*/}")
    names=("${names[@]%.patch}")
  fi
  cmake --preset release --log-level=NOTICE -DEPLB_MUTANTS="$(IFS=';' && echo "${names[*]}")"
  cmake --build --preset release -j "$(nproc)" --target "${names[@]/#/eplb_mutant_}"
  # Its output says after how many seeds each was caught.
  exec ctest --preset release -L mutants --verbose -j "$(nproc)"
fi

cmake --preset dev --log-level=NOTICE
cmake --build --preset dev -j "$(nproc)"
exec ctest --preset dev -j "$(nproc)" "$@"
