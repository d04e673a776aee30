#!/usr/bin/env bash
# Installs what is missing, builds everything in Debug, and runs all tests. What is given to this
# script is given on to ctest, as in `tools/test.sh -R includes`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/install-packages.sh build
cmake --preset dev --log-level=NOTICE
cmake --build --preset dev -j "$(nproc)"
exec ctest --preset dev -j "$(nproc)" "$@"
