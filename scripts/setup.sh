#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# setup.sh [build] [test] [ci] [models] [arm64]: installs what is missing on Debian or Ubuntu;
# elsewhere, or without root, says what to install. Asks no network when
# everything is there.
set -eu

missing=
need_command() { # command package
  command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need_header() { # header package
  if ! command -v cc >/dev/null 2>&1; then
    missing="$missing $2"
  elif ! printf '#include <stdarg.h>\n#include <stddef.h>
#include <setjmp.h>\n#include <stdint.h>\n#include <%s>\n' "$1" |
    cc -E -x c - >/dev/null 2>&1; then
    missing="$missing $2"
  fi
}
need_clang_runtime() {
  command -v clang >/dev/null 2>&1 || return 0 # comes with the packages below
  for name in fuzzer asan; do
    file=$(clang -print-file-name="libclang_rt.$name-$(uname -m).a")
    [ -e "$file" ] || missing="$missing libclang-rt-14-dev"
  done
}

for kind in "$@"; do
  case $kind in
    build)
      need_command cc "gcc libc6-dev"
      need_command cmake cmake
      need_command ninja ninja-build
      need_header zlib.h zlib1g-dev
      ;;
    test)
      need_header cmocka.h libcmocka-dev
      need_header pb_encode.h libnanopb-dev # bessemer export
      ;;
    models) # Debian's own, whichever python3 comes first on the path
      for module in numpy torch torchvision; do
        /usr/bin/python3 -c "import $module" 2>/dev/null ||
          missing="$missing python3-$module"
      done
      ;;
    ci)
      need_command c++ g++
      need_command clang "clang libclang-rt-14-dev"
      need_clang_runtime
      need_command clang-format clang-format
      need_command clang-tidy clang-tidy
      need_command ld.lld lld
      need_command doxygen doxygen
      need_command python3 python3
      python3 -m pip --version >/dev/null 2>&1 ||
        missing="$missing python3-pip" # for NVIDIA's compiler
      [ -e "$(/usr/bin/python3 -c \
        'import sysconfig; print(sysconfig.get_paths()["include"])' \
        2>/dev/null)/Python.h" ] || missing="$missing python3-dev"
      /usr/bin/python3 -c 'import ensurepip' 2>/dev/null ||
        missing="$missing python3-venv"
      need_command pkg-config pkgconf
      need_command nm binutils
      ;;
    arm64) # to build for 64-bit ARM, and to run that here
      need_command aarch64-linux-gnu-gcc \
        "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
      need_command qemu-aarch64-static qemu-user-static
      ;;
    *)
      echo "setup.sh: unknown kind $kind" >&2
      exit 2
      ;;
  esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "Missing:$missing" >&2
  echo "Install these (as root: apt-get install$missing) and try again." >&2
  exit 1
fi
echo "Installing:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
# shellcheck disable=SC2086
{ apt-get update && apt-get install -y --no-install-recommends $missing; } \
  >"$log" 2>&1 || {
  cat "$log" >&2
  exit 1
}
rm -f "$log"
