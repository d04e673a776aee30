#!/usr/bin/env bash
# install-packages.sh GROUP...: installs what is missing of the groups of tools/packages.txt
# (build, ci). Does nothing, and needs no rights, where all of it is there.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

wanted=()
while read -r group package; do
  for chosen in "$@"; do
    if [[ $group == "$chosen" ]]; then
      wanted+=("$package")
    fi
  done
done < <(grep -v '^#' "$here/packages.txt")

if ! command -v dpkg-query >/dev/null; then
  echo "error: this is no Debian; install what corresponds to: ${wanted[*]}" >&2
  echo "and build as docs/building.md says." >&2
  exit 1
fi

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  if [[ $state != installed ]]; then
    missing+=("$package")
  fi
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "error: packages are missing, and you are neither root nor have sudo. As root, run:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "Installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
