#!/usr/bin/env bash
# Installs what the build and the tests need, from a bare Debian 12 or Ubuntu 24.04: the packages of
# scripts/packages.txt that are missing, and .venv with requirements.txt. Does nothing, in well under
# a second, when all is there.
#
#   KM_TORCH_DIR, Torch_DIR   the folder that holds TorchConfig.cmake: build against that libtorch;
#                             no torch wheel is installed
#   PYTHON                    the Python of .venv (default: python3)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$@"; exit 1; }

install_packages() {
  local wanted missing=() package
  mapfile -t wanted < <(grep -v '^#' scripts/packages.txt)
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "this is neither Debian nor Ubuntu: install the likes of ${wanted[*]} yourself"
    return
  fi
  local installed
  installed=" $(dpkg-query -W -f='${db:Status-Status}=${Package} ' "${wanted[@]}" 2>/dev/null || true)"
  for package in "${wanted[@]}"; do
    [[ $installed == *" installed=$package "* ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0

  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      fail "missing packages, and neither root nor sudo to install them; as root:" \
        "apt-get update && apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

make_venv() {
  local requirements all
  all=$(grep -v '^#' requirements.txt)
  requirements=$all
  if [[ -n ${KM_TORCH_DIR:-}${Torch_DIR:-} ]]; then
    requirements=$(grep -v '^torch' <<<"$all")
  fi
  # The stamp is written last, so a .venv that was left half made is made anew.
  local stamp=.venv/requirements.installed installed=""
  if [[ -f $stamp ]] && .venv/bin/python3 -c '' 2>/dev/null; then installed=$(<"$stamp"); fi
  if [[ $installed == "$requirements" || $installed == "$all" ]]; then return; fi
  say "installing the Python packages of requirements.txt into .venv"
  if [[ $requirements != *torch* ]]; then
    say "without the torch wheel, as a libtorch is given; Python tests that need torch are skipped"
  fi
  "${PYTHON:-python3}" -m venv --clear .venv
  .venv/bin/python3 -m pip install --quiet --disable-pip-version-check \
    --requirement /dev/stdin <<<"$requirements"
  printf '%s\n' "$requirements" >"$stamp"
}

install_packages
make_venv
