#!/usr/bin/env bash
# Says plainly which programs of the system are missing, and installs them where apt-get and root are at hand.
# Usage: scripts/system.sh java node chromium
set -euo pipefail

declare -A package=([java]=openjdk-17-jre-headless [node]=nodejs [npm]=npm [chromium]=chromium)
declare -A purpose=(
  [java]="Spark runs on it (Java 17 or newer)"
  [node]="it builds the dashboard's JavaScript (Node.js 18 or newer)"
  [npm]="it fetches what builds the dashboard's JavaScript"
  [chromium]="the browser tests and the headless demo use it"
)

missing=()
for program in "$@"; do
  command -v "$program" >/dev/null || missing+=("$program")
done
((${#missing[@]})) || exit 0

for program in "${missing[@]}"; do
  echo "Missing: $program - ${purpose[$program]}." >&2
done
packages=()
for program in "${missing[@]}"; do packages+=("${package[$program]}"); done
if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
  echo "Install it and run this again, for example: sudo apt-get install ${packages[*]}" >&2
  exit 1
fi
echo "Installing ${packages[*]} with apt-get." >&2
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
