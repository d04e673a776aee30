#!/usr/bin/env bash
# Installs what is missing, builds the command eplb, and simulates a first scenario with it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/install-packages.sh build
cmake --preset release --log-level=NOTICE
cmake --build --preset release --target eplb -j "$(nproc)"
echo
set -x
build/release/eplb sim configs/quickstart.yaml
